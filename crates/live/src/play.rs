//! Playing the scenarios: some at a time, each on a stage of its own, and the end says how all of them fared.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, anyhow, ensure};
use switchboard_testkit::{
    clis::{CLIS, Cli},
    stage::{Programs, Stage},
};

use crate::{
    say,
    table::{SCENARIOS, Scenario},
    trial::Trial,
};

/// How long processes may take to go after a scenario.
pub const GOING: Duration = Duration::from_secs(5);

type Part = (&'static Cli, &'static Scenario);

/// Plays all with `only` in their name; true if nothing failed.
pub fn all(programs: &Programs, switchboard: &Path, only: &str, jobs: usize) -> bool {
    let parts = CLIS.iter().flat_map(|cli| SCENARIOS.iter().map(move |scenario| (cli, scenario)));
    let parts: VecDeque<Part> =
        parts.filter(|(cli, scenario)| (scenario.with)(cli) && name(cli, scenario).contains(only)).collect();
    let count = parts.len();
    let (waiting, failed) = (Mutex::new(parts), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(part) = take(&waiting) {
            let (title, begin) = (name(part.0, part.1), Instant::now());
            let result = play(programs, switchboard, part);
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

fn take(waiting: &Mutex<VecDeque<Part>>) -> Option<Part> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

fn name(cli: &Cli, scenario: &Scenario) -> String {
    format!("{} {}", cli.name, scenario.name)
}

/// One scenario with one agent. Whatever it is about, nothing may be left of it.
fn play(programs: &Programs, switchboard: &Path, (cli, scenario): Part) -> anyhow::Result<()> {
    let stage = Stage::new(programs).context("no stage")?;
    let trial = Trial { stage, cli, switchboard };
    let tried = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&trial)));
    tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked")))?;
    let left = trial.stage.left_behind_after(GOING);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}
