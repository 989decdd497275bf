//! `switchboard doctor`: whether this machine can run sessions, and how to fix what is missing.

use std::{
    io::{self, Write as _},
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::Args;
use serde_json::json;
use switchboard_agents::Login;
use switchboard_engine::{
    AgentInstallation, InstallState, locate_agents,
    supervise::{LaunchError, SandboxReport, probe_sandbox, sandbox_refusal_hint},
};

use crate::{data::DirectoryCheck, failure::Failure, host, view::sanitize::sanitize_line};

/// Check the sandbox, the data directory and the agents
///
/// The sandbox is checked by starting a confined process. Nothing is sent anywhere. Exits with 1 if something that
/// sessions need is missing, or other users can change the data directory.
#[derive(Args)]
pub struct DoctorArgs {
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Print one JSON object
    #[arg(long)]
    pub json: bool,
}

pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let machine = host::host_environment()?;
    let data = host::absolute_path(&host::unchecked_data_directory(args.data.clone())?);
    let sandbox = host::build_runtime()?.block_on(probe_sandbox(&machine.program));
    let checkup = HostCheckup { sandbox, data_problem: data_problem(&data), data, agents: locate_agents(&machine) };
    let text = if args.json { format!("{}\n", checkup.json()) } else { checkup.text() };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)?;
    Ok(if checkup.is_healthy() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

struct HostCheckup {
    sandbox: Result<SandboxReport, LaunchError>,
    data: PathBuf,
    data_problem: Option<String>,
    agents: Vec<AgentInstallation>,
}

impl HostCheckup {
    fn is_healthy(&self) -> bool {
        self.data_problem.is_none() && self.sandbox.as_ref().is_ok_and(|report| report.shortfall().is_none())
    }

    fn text(&self) -> String {
        let mut lines = self.sandbox_lines();
        let state = self.data_problem.as_deref().unwrap_or("ok");
        lines.push(format!("data     {}: {state}", sanitize_line(&self.data.to_string_lossy())));
        lines.push("agents".to_owned());
        let agents = self.agents.iter().filter(|agent| agent.state != InstallState::ByCommand);
        lines.extend(agents.map(|agent| format!("  {:<17} {}", agent.name, agent_state(agent))));
        lines.join("\n") + "\n"
    }

    fn sandbox_lines(&self) -> Vec<String> {
        let report = match &self.sandbox {
            Ok(report) => report,
            Err(error) => return vec![format!("sandbox  cannot be checked: {error}")],
        };
        let mut lines = match report.shortfall() {
            None => vec!["sandbox  read-only and workspace-write can be enforced".to_owned()],
            Some(shortfall) => vec![
                format!("sandbox  read-only and workspace-write are refused: {shortfall}"),
                format!("         fix: {}", sandbox_refusal_hint(&shortfall.to_string())),
            ],
        };
        lines.extend(report.enforced.iter().map(|feature| format!("  {:<17} yes", feature.name())));
        lines.extend(report.missing.iter().map(|(feature, reason)| {
            let need = if feature.is_required() { "required" } else { "optional" };
            format!("  {:<17} no ({need}): {reason}", feature.name())
        }));
        lines
    }

    fn json(&self) -> serde_json::Value {
        let sandbox = match &self.sandbox {
            Ok(report) => json!({
                "available": report.shortfall().is_none(),
                "enforced": report.enforced.iter().map(|feature| feature.name()).collect::<Vec<_>>(),
                "missing": report.missing.iter().map(|(feature, reason)| json!({
                    "feature": feature.name(),
                    "required": feature.is_required(),
                    "reason": reason,
                })).collect::<Vec<_>>(),
                "fix": report.shortfall().map(|shortfall| sandbox_refusal_hint(&shortfall.to_string())),
            }),
            Err(error) => json!({ "available": false, "error": error.to_string() }),
        };
        json!({
            "healthy": self.is_healthy(),
            "sandbox": sandbox,
            "data": { "path": self.data, "problem": self.data_problem },
            "agents": self.agents,
        })
    }
}

fn agent_state(agent: &AgentInstallation) -> String {
    let login = match &agent.login {
        Login::Yes(_) => ", logged in",
        Login::No(_) => ", not logged in",
        Login::Unknown | Login::NotNeeded => "",
    };
    let version = agent.version.as_deref().unwrap_or("installed");
    match agent.state {
        InstallState::BuiltIn => "built in".to_owned(),
        InstallState::Missing => format!("not installed; {}", agent.install.unwrap_or("see its own documentation")),
        InstallState::TooOld => format!("{version}, too old; {}", agent.install.unwrap_or("update it")),
        _ => format!("{version}{login}"),
    }
}

/// Returns why a directory cannot, or should not, store sessions.
fn data_problem(directory: &Path) -> Option<String> {
    if let Some(problem) = DirectoryCheck::new(directory).summary() {
        return Some(problem);
    }
    let existing = directory.ancestors().find(|path| path.exists())?;
    let probe = tempfile::Builder::new().prefix(".switchboard-doctor").tempfile_in(existing);
    let path = sanitize_line(&existing.to_string_lossy());
    probe.err().map(|error| format!("cannot write to {path}: {}", sanitize_line(&error.to_string())))
}
