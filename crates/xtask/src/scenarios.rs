//! Which scenarios of a program are run, and how many at a time.

use anyhow::bail;
use clap::Args;

use crate::steps::Outcome;

/// Which, and how many at a time.
#[derive(Args)]
pub struct Scenarios {
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

impl Scenarios {
    /// All of them, so many at a time.
    pub fn all(jobs: usize) -> Self {
        Self { only: String::new(), jobs }
    }

    /// Those whose name contains a text, `jobs` at a time.
    pub fn only(name: &str, jobs: usize) -> Self {
        Self { only: name.to_owned(), jobs }
    }

    /// The words that tell a program.
    pub fn words(&self) -> [String; 4] {
        ["--only".to_owned(), self.only.clone(), "--jobs".to_owned(), self.jobs.to_string()]
    }

    /// Runs them as a command: what cannot be run is an error.
    pub fn command(&self, run: fn(&Self) -> anyhow::Result<Outcome>) -> anyhow::Result<()> {
        match run(self)? {
            Outcome::Passed => Ok(()),
            Outcome::NotRun(why) => bail!("NOT RUN: {why}"),
        }
    }
}
