//! `bench logs`: how soon the questions that people ask of their logs are answered, beside the budgets and beside other
//! programs of the kind, on the same logs in the same run. A figure over its budget is shown as such and is no failure;
//! a wrong count is.

mod corpus;
mod ours;
mod peers;
mod report;
mod timed;

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
    /// Remove the logs afterwards
    #[arg(long)]
    remove: bool,
}

/// Runs the command.
pub fn run(args: &Logs) -> anyhow::Result<()> {
    build()?;
    run_program(&mut cargo(&["build", "--release", "--package", "switchboard-testkit"]))?;
    let corpus = Corpus::find(args.size, args.files, args.seed)?;
    if !corpus::forget() {
        say("NOT MEASURED  with a cold cache: only root can empty it");
    }
    let peers = if args.alone { Err("they were not asked for".to_owned()) } else { Peers::new(&corpus, args.runs) };
    let ours = Ours::new(&corpus, args.runs)?.measure();
    let theirs = match peers {
        Ok(peers) => peers.measure(),
        Err(why) => {
            say(&format!("NOT MEASURED  other programs: {why}"));
            peers::Figures::default()
        }
    };
    report::show(&ours, &theirs, &corpus.truth);
    let exact = ours.tokens.is_none_or(|tokens| tokens == corpus.truth.all.total());
    if args.remove {
        corpus.remove()?;
    }
    ensure!(exact, "the tokens are not those of the corpus");
    Ok(())
}
