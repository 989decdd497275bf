//! `fuzz`: random streams, for a while. The test kit does it.

use clap::Args;

use crate::process::{fast_testkit, run as run_program};

/// Spoil recordings in random ways and check that everything still holds
///
/// A stream that breaks a rule is made short and kept in target/fuzz.
#[derive(Args)]
pub struct Fuzz {
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

/// Runs the command.
pub fn run(args: &Fuzz) -> anyhow::Result<()> {
    let (seconds, seed) = (args.seconds.to_string(), args.seed.map(|seed| seed.to_string()));
    let options = [("--seconds", Some(&seconds)), ("--seed", seed.as_ref())];
    let options = options.into_iter().chain([("--source", args.source.as_ref()), ("--input", args.input.as_ref())]);
    let options = options.filter_map(|(name, value)| Some([name, value?.as_str()])).flatten();
    run_program(&mut fast_testkit(&std::iter::once("fuzz").chain(options).collect::<Vec<_>>())?)
}
