//! Runs the scenarios, several at a time and each on its own stage, and prints a summary.

use std::{
    collections::VecDeque,
    fs,
    panic::{AssertUnwindSafe, catch_unwind},
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use anyhow::{anyhow, ensure};
use clap::Args;
use parking_lot::Mutex;

use crate::{
    BrowserPrograms, kept, print_line,
    table::{PageScenario, SCENARIOS},
    trial::PageTrial,
};

/// Time for processes to exit after a scenario.
const PROCESS_EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Play the scenarios
#[derive(Args)]
pub struct PageScenariosArgs {
    #[command(flatten)]
    place: BrowserPrograms,
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

/// Runs the selected scenarios.
pub fn run(args: &PageScenariosArgs) -> anyhow::Result<()> {
    let chosen: VecDeque<_> = SCENARIOS.iter().filter(|scenario| scenario.name.contains(&args.only)).collect();
    ensure!(!chosen.is_empty(), "there is no scenario with {:?} in its name", args.only);
    if args.kept.exists() {
        fs::remove_dir_all(&args.kept)?;
    }
    let count = chosen.len();
    let (waiting, failed) = (Mutex::new(chosen), Mutex::new(Vec::new()));
    let worker = || {
        while let Some(scenario) = next_scenario(&waiting) {
            let begin = Instant::now();
            let played = run_scenario(args, scenario);
            let seconds = begin.elapsed().as_secs_f32();
            match played {
                Ok(()) => print_line(&format!("ok      {} ({seconds:.1} s)", scenario.name)),
                Err(error) => {
                    print_line(&format!("FAILED  {} ({seconds:.1} s): {error:#}", scenario.name));
                    failed.lock().push(scenario.name);
                }
            }
        }
    };
    thread::scope(|scope| (0..args.jobs.max(1)).for_each(|_| drop(scope.spawn(worker))));
    let failed = failed.into_inner();
    print_line(&format!("{} passed, {} failed", count - failed.len(), failed.len()));
    ensure!(failed.is_empty(), "failed: {}; see {}", failed.join(", "), args.kept.display());
    Ok(())
}

fn next_scenario(waiting: &Mutex<VecDeque<&'static PageScenario>>) -> Option<&'static PageScenario> {
    waiting.lock().pop_front()
}

/// Runs one scenario. No page may report an error, and no process may be left.
fn run_scenario(args: &PageScenariosArgs, scenario: &PageScenario) -> anyhow::Result<()> {
    let trial = PageTrial::new(&args.place)?;
    let tried = catch_unwind(AssertUnwindSafe(|| (scenario.run)(&trial)));
    let tried = tried.unwrap_or_else(|_| Err(anyhow!("the scenario panicked"))).and_then(|()| trial.check_console());
    if tried.is_err() {
        kept::save_failure_artifacts(&trial, &args.kept.join(scenario.name.replace(' ', "-")));
    }
    let stage = trial.shut_down();
    tried?;
    let left = stage.leftover_processes_after(PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "processes are left behind: {left:?}");
    Ok(())
}
