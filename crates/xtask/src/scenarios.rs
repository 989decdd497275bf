//! Selection of the scenarios to run, and their parallelism.

use anyhow::bail;
use clap::Args;

use crate::steps::TestStepOutcome;

/// Which, and how many at a time.
#[derive(Args)]
pub struct ScenarioSelection {
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

impl ScenarioSelection {
    pub fn all_with_jobs(jobs: usize) -> Self {
        Self { only: String::new(), jobs }
    }

    /// Scenarios whose name contains a text, `jobs` at a time.
    pub fn matching(name: &str, jobs: usize) -> Self {
        Self { only: name.to_owned(), jobs }
    }

    /// Returns the arguments for a scenario program.
    pub fn to_args(&self) -> [String; 4] {
        ["--only".to_owned(), self.only.clone(), "--jobs".to_owned(), self.jobs.to_string()]
    }

    /// Runs the scenarios; a skipped run is an error.
    pub fn run_or_fail(&self, run: impl FnOnce(&Self) -> anyhow::Result<TestStepOutcome>) -> anyhow::Result<()> {
        match run(self)? {
            TestStepOutcome::Passed => Ok(()),
            TestStepOutcome::NotRun(why) => bail!("NOT RUN: {why}"),
        }
    }
}
