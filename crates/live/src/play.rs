//! Playing the scenarios: some at a time, each on a stage of its own, and the end says how all of them fared.

use std::{
    collections::{BTreeMap, VecDeque},
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, ensure};
use switchboard_testkit::{
    clis::Cli,
    stage::{Programs, Stage},
};

use crate::{
    say,
    table::{SCENARIOS, Scenario},
    trial::Trial,
};

/// How long processes may take to go after a scenario.
pub const GOING: Duration = Duration::from_secs(5);

/// How many lines of an agent's own log are shown with a failure.
const DIAGNOSTIC_LINES: usize = 60;

/// What is to be played.
pub struct Plan {
    /// Switchboard's program.
    pub switchboard: PathBuf,
    /// The agents.
    pub clis: Vec<&'static Cli>,
    /// Only scenarios with this in their name.
    pub only: String,
    /// The sandboxes to run sessions in; none means without.
    pub sandboxes: Vec<String>,
}

/// A scenario with an agent, in a sandbox or not.
struct Part<'a> {
    cli: &'static Cli,
    scenario: &'static Scenario,
    sandbox: Option<&'a str>,
}

impl Part<'_> {
    fn name(&self) -> String {
        let sandbox = self.sandbox.map(|sandbox| format!(" ({sandbox})")).unwrap_or_default();
        format!("{} {}{sandbox}", self.cli.name, self.scenario.name)
    }
}

impl Plan {
    fn parts(&self) -> VecDeque<Part<'_>> {
        let sandboxes: Vec<_> = match self.sandboxes.as_slice() {
            [] => vec![None],
            named => named.iter().map(|sandbox| Some(sandbox.as_str())).collect(),
        };
        let all = sandboxes.into_iter().flat_map(|sandbox| {
            let with = move |cli| SCENARIOS.iter().map(move |scenario| Part { cli, scenario, sandbox });
            self.clis.iter().copied().flat_map(with)
        });
        all.filter(|part| (part.scenario.with)(part.cli) && part.name().contains(&self.only)).collect()
    }
}

/// Plays all that is planned; true if nothing failed.
pub fn all(programs: &Programs, plan: &Plan, jobs: usize) -> bool {
    let parts = plan.parts();
    let count = parts.len();
    let (waiting, failed) = (Mutex::new(parts), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(part) = take(&waiting) {
            let (title, begin) = (part.name(), Instant::now());
            let result = play(programs, &plan.switchboard, &part);
            let seconds = begin.elapsed().as_secs_f32();
            match result {
                Ok(()) => say(&format!("ok      {title} ({seconds:.1} s)")),
                Err(error) => {
                    say(&format!("FAILED  {title} ({seconds:.1} s): {error:#}"));
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push(title);
                }
            }
        }
    };
    thread::scope(|scope| (0..jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!("{} passed, {} failed", count - failed.len(), failed.len()));
    failed.iter().for_each(|title| say(&format!("FAILED  {title}")));
    count > 0 && failed.is_empty()
}

fn take<'a>(waiting: &Mutex<VecDeque<Part<'a>>>) -> Option<Part<'a>> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// One scenario with one agent. Whatever it is about, nothing may be left of it.
fn play(programs: &Programs, switchboard: &Path, part: &Part<'_>) -> anyhow::Result<()> {
    let stage = Stage::new(programs).context("no stage")?;
    let trial = Trial { stage, cli: part.cli, switchboard, sandbox: part.sandbox };
    let before = content(&trial.stage.project());
    let tried = catch_unwind(AssertUnwindSafe(|| (part.scenario.run)(&trial)));
    let result = tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked")));
    if part.sandbox == Some("read-only") {
        ensure!(content(&trial.stage.project()) == before, "the project was changed");
        ensure!(result.is_err() == part.scenario.writes, "{result:?}");
    } else if let Err(error) = result {
        return Err(anyhow!("{error:#}{}", diagnostics(&trial)));
    }
    let left = trial.stage.left_behind_after(GOING);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}

/// The end of what the agent wrote to its own diagnostic logs, newest last.
fn diagnostics(trial: &Trial<'_>) -> String {
    let Some(directory) = trial.cli.diagnostics else { return String::new() };
    let text: String = content(&trial.stage.home().join(directory))
        .into_values()
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .collect();
    let lines: Vec<_> = text.lines().collect();
    let last = lines.len().saturating_sub(DIAGNOSTIC_LINES);
    format!("\nthe agent's own log ends with:\n{}", lines.get(last..).unwrap_or_default().join("\n"))
}

/// The files below a directory and their text.
fn content(directory: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut files = BTreeMap::new();
    for path in fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files.extend(content(&path));
        } else {
            files.insert(path.clone(), fs::read(&path).unwrap_or_default());
        }
    }
    files
}
