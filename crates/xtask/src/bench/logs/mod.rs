//! `bench logs`: how soon the questions that people ask of their logs are answered, beside the budgets and beside other
//! programs of the kind, on the same logs in the same run. A figure over its budget is shown as such and is no failure;
//! a wrong count is.

pub mod corpus;
pub mod ours;
mod peers;
mod report;
pub mod timed;

use anyhow::ensure;
use clap::Args;

use self::{corpus::Corpus, ours::Ours, peers::Peers};
use super::programs::build;
use crate::{
    process::{cargo, run as run_program},
    say,
};

/// Measure reading, counting, searching and watching logs
#[derive(Args)]
pub struct Logs {
    /// How many megabytes of logs
    #[arg(long, default_value_t = 500)]
    size: u64,
    /// In about how many files
    #[arg(long, default_value_t = 300)]
    files: u64,
    /// Chance; the same seed writes the same logs
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How often each is measured; what is quick more often
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Without other programs
    #[arg(long)]
    alone: bool,
    /// Measure the programs that are there, and build none
    #[arg(long)]
    no_build: bool,
    /// Remove the logs afterwards
    #[arg(long)]
    remove: bool,
}

/// Runs the command.
pub fn run(args: &Logs) -> anyhow::Result<()> {
    if !args.no_build {
        build()?;
        run_program(&mut cargo(&["build", "--release", "--package", "switchboard-testkit"]))?;
    }
    let corpus = Corpus::find(args.size, args.files, args.seed)?;
    if !corpus::forget() {
        say("NOT MEASURED  with a cold cache: only root can empty it");
    }
    let program = Ours::new(&corpus, args.runs)?;
    let peers = match args.alone {
        true => Err("they were not asked for".to_owned()),
        false => Peers::new(&corpus, &program, args.runs),
    };
    let mut ours = program.measure();
    let theirs = match peers {
        Ok(peers) => peers.measure(),
        Err(why) => {
            say(&format!("NOT MEASURED  other programs: {why}"));
            peers::Figures::default()
        }
    };
    // What was measured in turn with the other is compared with it.
    ours.first = theirs.first.map(|(ours, _)| ours).or(ours.first);
    ours.first_cold = theirs.first_cold.map(|(ours, _)| ours).or(ours.first_cold);
    report::show(&ours, &theirs, &corpus.truth);
    let exact = ours.tokens.is_none_or(|tokens| tokens == corpus.truth.all.total());
    if args.remove {
        corpus.remove()?;
    }
    ensure!(exact, "the tokens are not those of the corpus");
    Ok(())
}
