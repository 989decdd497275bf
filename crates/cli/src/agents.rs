//! `switchboard agents`: installed agents, their abilities, and how to install the others.

use std::{
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use switchboard_agents::{AGENTS, Abilities, Login, WhileRunning};
use switchboard_engine::{AgentInstallation, InstallState, inspect_agents};

use crate::{args::AGENT_NAMES, failure::Failure, host};

/// List agents with their versions, logins and abilities
///
/// Works without network access: logins are detected from files and environment variables, as far as those show them.
#[derive(Args)]
pub struct AgentsArgs {
    /// Only this agent
    #[arg(value_parser = AGENT_NAMES, hide_possible_values = true)]
    pub agent: Option<String>,
    /// Print one JSON object per line
    #[arg(long)]
    pub json: bool,
    /// Show the agents' own configuration files, translated to session settings
    #[arg(long)]
    pub config: bool,
    /// Directory whose project settings are read, with --config
    #[arg(long, value_name = "DIR", default_value = ".")]
    pub cwd: PathBuf,
}

pub fn run(args: &AgentsArgs) -> Result<(), Failure> {
    let wanted = |name: &str| args.agent.as_deref().is_none_or(|agent| agent == name);
    if !AGENTS.iter().any(|agent| wanted(agent.name)) {
        let known = crate::failure::format_name_list(AGENTS.iter().map(|agent| (agent.name, agent.title)));
        let given = args.agent.clone().unwrap_or_default();
        return Err(Failure::UnknownName { what: "agent", given, known });
    }
    let text = if args.config { agent_configs(args, wanted)? } else { list_agents(args, wanted)? };
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}

fn list_agents(args: &AgentsArgs, wanted: impl Fn(&str) -> bool) -> Result<String, Failure> {
    let machine = host::host_environment()?;
    let all = host::build_runtime()?.block_on(inspect_agents(&machine));
    let mut text = String::new();
    for agent in all.iter().filter(|agent| wanted(agent.name)) {
        if args.json {
            text.push_str(&serde_json::to_string(agent).unwrap_or_default());
            text.push('\n');
        } else {
            describe_agent(agent, &mut text);
        }
    }
    Ok(text)
}

fn describe_agent(agent: &AgentInstallation, text: &mut String) {
    let version = agent.version.as_deref().unwrap_or("unknown version");
    let tested = agent.versions.map_or(String::new(), |versions| format!(" (tested with {})", versions.tested));
    let state = match agent.state {
        InstallState::BuiltIn => "built in".to_owned(),
        InstallState::ByCommand => "named by --command".to_owned(),
        InstallState::Ready => version.to_owned(),
        InstallState::Newer => format!("{version}, newer than what was tested{tested}"),
        InstallState::UnknownVersion => format!("{version}{tested}"),
        InstallState::TooOld => format!("{version} is too old{tested}"),
        InstallState::Missing => "not installed".to_owned(),
    };
    text.push_str(&format!("{:<10} {}: {state}\n", agent.name, agent.title));
    let mut line = |name: &str, value: &str| text.push_str(&format!("{:<10}   {name}: {value}\n", ""));
    if let Some(path) = &agent.path {
        line("program", &path.to_string_lossy());
    }
    match &agent.login {
        Login::Yes(how) => line("login", how),
        Login::No(how) => line("login", &format!("not logged in; {how}")),
        Login::Unknown | Login::NotNeeded => {}
    }
    if let (InstallState::Missing | InstallState::TooOld, Some(install)) = (agent.state, agent.install) {
        line("install", install);
    }
    line("can", &describe_abilities(&agent.abilities));
}

fn describe_abilities(abilities: &Abilities) -> String {
    let while_running = match abilities.while_running {
        WhileRunning::Steer => "takes prompts while it runs",
        WhileRunning::Queue => "queues prompts while it runs",
        WhileRunning::Wait => "",
    };
    let all = [
        (abilities.streaming, "stream"),
        (abilities.reasoning, "show reasoning"),
        (abilities.approvals, "ask for approval"),
        (abilities.changed_input, "run changed input"),
        (abilities.questions, "ask questions"),
        (abilities.interrupt, "be interrupted"),
        (abilities.resume, "resume"),
        (abilities.fork, "fork"),
        (abilities.set_model, "change model"),
        (abilities.set_mode, "change mode"),
        (abilities.images, "see images"),
        (abilities.mcp, "use MCP servers"),
        (abilities.output_schema, "answer by a schema"),
        (abilities.one_shot, "one-shot"),
        (!while_running.is_empty(), while_running),
    ];
    let named: Vec<_> = all.iter().filter(|(can, _)| *can).map(|(_, name)| *name).collect();
    if named.is_empty() { "whatever it offers".to_owned() } else { named.join(", ") }
}

fn agent_configs(args: &AgentsArgs, wanted: impl Fn(&str) -> bool) -> Result<String, Failure> {
    let (machine, cwd) = (host::host_environment()?, host::absolute_path(&args.cwd));
    let mut text = String::new();
    for agent in AGENTS.iter().filter(|agent| wanted(agent.name)) {
        for found in (agent.config)(&machine, &cwd) {
            let mut found = found;
            found.config = found.config.with_masked_secrets();
            if args.json {
                let line = serde_json::json!({ "agent": agent.name, "file": found.file, "config": found.config, "remarks": found.remarks });
                text.push_str(&format!("{line}\n"));
                continue;
            }
            let config = serde_json::to_string_pretty(&found.config).unwrap_or_default();
            text.push_str(&format!("{} {}\n{config}\n", agent.name, found.file.display()));
            found.remarks.iter().for_each(|remark| text.push_str(&format!("  ({remark})\n")));
        }
    }
    if text.is_empty() && !args.json {
        text.push_str("no configuration files of agents here\n");
    }
    Ok(text)
}
