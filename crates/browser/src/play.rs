//! Playing the scenarios: some at a time, each on a stage of its own, and the end says how all of them fared.

use std::{
    collections::VecDeque,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    sync::{Mutex, PoisonError},
    thread,
    time::{Duration, Instant},
};

use anyhow::{anyhow, ensure};
use clap::Args;

use crate::{
    Place, kept, say,
    table::{SCENARIOS, Scenario},
    trial::Trial,
};

/// How long processes may take to go after a scenario.
const GOING: Duration = Duration::from_secs(10);

/// Play the scenarios
#[derive(Args)]
pub struct Scenarios {
    #[command(flatten)]
    place: Place,
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
    /// Where what is left of failures is kept
    #[arg(long)]
    kept: PathBuf,
}

/// Plays all that are asked for.
pub fn run(args: &Scenarios) -> anyhow::Result<()> {
    let chosen: VecDeque<_> = SCENARIOS.iter().filter(|scenario| scenario.name.contains(&args.only)).collect();
    ensure!(!chosen.is_empty(), "there is no scenario with {:?} in its name", args.only);
    if args.kept.exists() {
        fs::remove_dir_all(&args.kept)?;
    }
    let count = chosen.len();
    let (waiting, failed) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(scenario) = take(&waiting) {
            let begin = Instant::now();
            let played = play(args, scenario);
            let seconds = begin.elapsed().as_secs_f32();
            match played {
                Ok(()) => say(&format!("ok      {} ({seconds:.1} s)", scenario.name)),
                Err(error) => {
                    say(&format!("FAILED  {} ({seconds:.1} s): {error:#}", scenario.name));
                    failed.lock().unwrap_or_else(PoisonError::into_inner).push(scenario.name);
                }
            }
        }
    };
    thread::scope(|scope| (0..args.jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let failed = failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    say(&format!("{} passed, {} failed", count - failed.len(), failed.len()));
    ensure!(failed.is_empty(), "failed: {}; see {}", failed.join(", "), args.kept.display());
    Ok(())
}

fn take(waiting: &Mutex<VecDeque<&'static Scenario>>) -> Option<&'static Scenario> {
    waiting.lock().unwrap_or_else(PoisonError::into_inner).pop_front()
}

/// One scenario. Whatever it is about, no page may be in error, and nothing may be left of it.
fn play(args: &Scenarios, scenario: &Scenario) -> anyhow::Result<()> {
    let trial = Trial::new(&args.place)?;
    let tried = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&trial)));
    let tried = tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked"))).and_then(|()| trial.is_quiet());
    if tried.is_err() {
        kept::keep(&trial, &args.kept.join(scenario.name.replace(' ', "-")));
    }
    let stage = trial.end();
    tried?;
    let left = stage.left_behind_after(GOING);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}
