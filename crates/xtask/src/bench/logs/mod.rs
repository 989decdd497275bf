//! `bench logs`: latency of common questions about logs, compared with the budgets and with similar programs on the
//! same logs in the same run. A figure over its budget is reported but is not a failure; a wrong count is.

pub mod corpus;
pub mod ours;
mod peers;
mod report;
pub mod timed;

use anyhow::ensure;
use clap::Args;

use self::{corpus::BenchCorpus, ours::OwnLogBench, peers::PeerLogBench};
use super::programs::build_release;
use crate::{
    print_line,
    process::{cargo_command, run_program},
};

/// Measure reading, counting, searching and watching logs
#[derive(Args)]
pub struct LogsBench {
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

pub fn run(args: &LogsBench) -> anyhow::Result<()> {
    if !args.no_build {
        build_release()?;
        run_program(&mut cargo_command(&["build", "--release", "--package", "switchboard-testkit"]))?;
    }
    let corpus = BenchCorpus::find_or_write(args.size, args.files, args.seed)?;
    if !corpus::drop_page_cache() {
        print_line("NOT MEASURED  with a cold cache: only root can empty it");
    }
    let program = OwnLogBench::new(&corpus, args.runs)?;
    let peers = match args.alone {
        true => Err("they were not asked for".to_owned()),
        false => PeerLogBench::new(&corpus, &program, args.runs),
    };
    let mut ours = program.measure_all();
    let theirs = match peers {
        Ok(peers) => peers.measure_all(),
        Err(why) => {
            print_line(&format!("NOT MEASURED  other programs: {why}"));
            peers::PeerLogFigures::default()
        }
    };
    // Figures measured in alternation with the peer are the ones to compare.
    ours.first = theirs.first.map(|(ours, _)| ours).or(ours.first);
    ours.first_cold = theirs.first_cold.map(|(ours, _)| ours).or(ours.first_cold);
    report::print_report(&ours, &theirs, &corpus.truth);
    let exact = ours.tokens.is_none_or(|tokens| tokens == corpus.truth.all.total_tokens());
    if args.remove {
        corpus.remove()?;
    }
    ensure!(exact, "the tokens are not those of the corpus");
    Ok(())
}
