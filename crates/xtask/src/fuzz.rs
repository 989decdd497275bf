//! `fuzz`: random streams, for a while, and bad requests to a server. The test kit does it.

use anyhow::bail;
use clap::{Args, Subcommand};

use crate::{
    load::{Build, cases, schema},
    process::{fast_testkit, run as run_program},
    steps::Outcome,
};

/// Spoil recordings in random ways and check that everything still holds
///
/// A stream that breaks a rule is made short and kept in target/fuzz.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Fuzz {
    #[command(subcommand)]
    part: Option<Part>,
    #[command(flatten)]
    streams: Streams,
}

#[derive(Subcommand)]
enum Part {
    Serve(Serve),
}

#[derive(Args)]
struct Streams {
    /// For how long
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Where to begin; the same seed tries the same streams
    #[arg(long)]
    seed: Option<u64>,
    /// Only this source
    #[arg(long)]
    source: Option<String>,
    /// Only this stream, as it is
    #[arg(long, requires = "source")]
    input: Option<String>,
}

/// Send a server bad requests, bad frames, too much and too slowly
///
/// Requests are also made from the server's own description, by schemathesis.
#[derive(Args)]
struct Serve {
    /// How many bad requests, and as many bad conversations over WebSocket
    #[arg(long, default_value_t = 1_000)]
    requests: u32,
    /// How many slow and idle connections
    #[arg(long, default_value_t = 2_000)]
    slow: u32,
    /// How many requests schemathesis makes for each operation
    #[arg(long, default_value_t = 60)]
    examples: u32,
    /// Chance; the same seed does the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the command.
pub fn run(args: &Fuzz) -> anyhow::Result<()> {
    match &args.part {
        Some(Part::Serve(args)) => serve(args),
        None => streams(&args.streams),
    }
}

fn streams(args: &Streams) -> anyhow::Result<()> {
    let (seconds, seed) = (args.seconds.to_string(), args.seed.map(|seed| seed.to_string()));
    let options = [("--seconds", Some(&seconds)), ("--seed", seed.as_ref())];
    let options = options.into_iter().chain([("--source", args.source.as_ref()), ("--input", args.input.as_ref())]);
    let options = options.filter_map(|(name, value)| Some([name, value?.as_str()])).flatten();
    run_program(&mut fast_testkit(&std::iter::once("fuzz").chain(options).collect::<Vec<_>>())?)
}

fn serve(args: &Serve) -> anyhow::Result<()> {
    let [requests, slow, examples] = [args.requests, args.slow, args.examples].map(|number| number.to_string());
    let seed = args.seed.to_string();
    let abuse = ["abuse", "--requests", &requests, "--frames", &requests, "--slow", &slow, "--seed", &seed];
    cases(Build::Release, &[&abuse])?;
    match schema(Build::Release, &["--examples", &examples, "--seed", &seed])? {
        Outcome::Passed => Ok(()),
        Outcome::NotRun(why) => bail!("NOT RUN: {why}"),
    }
}
