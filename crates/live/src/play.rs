//! Runs the scenarios, several at a time and each on its own stage, and prints a summary.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, ensure};
use parking_lot::Mutex;
use switchboard_event::SandboxMode;
use switchboard_testkit::{
    clis::AgentCli,
    stage::{AgentStage, StagePrograms},
};

use crate::{
    print_line,
    table::{LiveScenario, SCENARIOS},
    trial::{LiveTrial, sandbox_flag},
};

/// Time for processes to exit after a scenario.
pub const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(5);

/// Number of lines of an agent's own log that are shown with a failure.
const DIAGNOSTIC_LINES: usize = 60;

/// The scenarios to run.
pub struct ScenarioPlan {
    pub switchboard: PathBuf,
    pub clis: Vec<&'static AgentCli>,
    pub only: String,
    /// The sandboxes to run sessions in; empty means without a sandbox.
    pub sandboxes: Vec<SandboxMode>,
}

/// A scenario with an agent, in a sandbox or not.
struct ScenarioCase {
    cli: &'static AgentCli,
    scenario: &'static LiveScenario,
    sandbox: Option<SandboxMode>,
}

impl ScenarioCase {
    fn display_name(&self) -> String {
        let sandbox = self.sandbox.map(|sandbox| format!(" ({})", sandbox_flag(sandbox))).unwrap_or_default();
        format!("{} {}{sandbox}", self.cli.name, self.scenario.name)
    }
}

impl ScenarioPlan {
    fn scenario_cases(&self) -> VecDeque<ScenarioCase> {
        let sandboxes: Vec<_> = match self.sandboxes.as_slice() {
            [] => vec![None],
            named => named.iter().copied().map(Some).collect(),
        };
        let all = sandboxes.into_iter().flat_map(|sandbox| {
            let with = move |cli| SCENARIOS.iter().map(move |scenario| ScenarioCase { cli, scenario, sandbox });
            self.clis.iter().copied().flat_map(with)
        });
        let is_meant = |part: &ScenarioCase| {
            (part.scenario.with)(part.cli)
                && part.scenario.confinement.includes(part.sandbox)
                && part.display_name().contains(&self.only)
        };
        all.filter(is_meant).collect()
    }
}

/// Runs all planned scenarios. Returns whether none failed.
pub fn run_all(programs: &StagePrograms, plan: &ScenarioPlan, jobs: usize) -> bool {
    let parts = plan.scenario_cases();
    let count = parts.len();
    let (waiting, failed) = (Mutex::new(parts), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(part) = next_case(&waiting) {
            let (title, begin) = (part.display_name(), Instant::now());
            let result = run_case(programs, &plan.switchboard, &part);
            let seconds = begin.elapsed().as_secs_f32();
            match result {
                Ok(()) => print_line(&format!("ok      {title} ({seconds:.1} s)")),
                Err(error) => {
                    print_line(&format!("FAILED  {title} ({seconds:.1} s): {error:#}"));
                    failed.lock().push(title);
                }
            }
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let failed = failed.into_inner();
    print_line(&format!("{} passed, {} failed", count - failed.len(), failed.len()));
    failed.iter().for_each(|title| print_line(&format!("FAILED  {title}")));
    count > 0 && failed.is_empty()
}

fn next_case(waiting: &Mutex<VecDeque<ScenarioCase>>) -> Option<ScenarioCase> {
    waiting.lock().pop_front()
}

/// Runs one scenario with one agent. No process may be left, and a sandbox must have protected its files.
fn run_case(programs: &StagePrograms, switchboard: &Path, part: &ScenarioCase) -> anyhow::Result<()> {
    let stage = AgentStage::new(programs).context("no stage")?;
    let trial = LiveTrial { stage, cli: part.cli, switchboard, sandbox: part.sandbox };
    let before = protected_files(&trial, part.scenario);
    let tried = catch_unwind(AssertUnwindSafe(|| (part.scenario.run)(&trial)));
    let result = tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked")));
    let after = protected_files(&trial, part.scenario);
    let is_same = |path: &&PathBuf| before.get(*path) == after.get(*path);
    let changed: Vec<_> = before.keys().chain(after.keys()).filter(|path| !is_same(path)).collect();
    ensure!(changed.is_empty(), "the sandbox let these files be changed: {changed:?}; {result:?}");
    if let Err(error) = result {
        return Err(anyhow!("{error:#}{}", diagnostic_tail(&trial)));
    }
    let left = trial.stage.leftover_processes_after(PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}

/// Returns the end of the agent's own diagnostic logs, newest last.
fn diagnostic_tail(trial: &LiveTrial<'_>) -> String {
    let Some(directory) = trial.cli.diagnostics else { return String::new() };
    let text: String = files_below(&trial.stage.home_dir().join(directory))
        .into_values()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    let lines: Vec<_> = text.lines().collect();
    let last = lines.len().saturating_sub(DIAGNOSTIC_LINES);
    format!("\nthe agent's own log ends with:\n{}", lines.get(last..).unwrap_or_default().join("\n"))
}

/// Returns the files that the sandbox of a trial protects: temporary files of others and those in the home directory
/// that belong to no agent; with a read-only sandbox, the project too.
fn protected_files(trial: &LiveTrial<'_>, scenario: &LiveScenario) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    if !trial.can_write() {
        files.extend(files_below(&trial.stage.project_dir()));
    }
    if trial.sandbox.is_some() && !scenario.starts_agent_directly {
        files.extend(files_below(&trial.stage.root_dir().join("tmp")));
        let in_home = fs::read_dir(trial.stage.home_dir()).into_iter().flatten().flatten().map(|entry| entry.path());
        files.extend(in_home.filter(|path| path.is_file()).map(|path| (path.clone(), read_file(&path))));
    }
    files
}

fn files_below(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(files_below(&path));
        } else {
            files.insert(path.clone(), read_file(&path));
        }
    }
    files
}

fn read_file(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_default()
}
