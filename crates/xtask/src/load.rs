//! The server under load as steps of `test`, and `fuzz`. The test kit measures and generates, in its own network namespace
//! where possible.

use std::process::Command;

use anyhow::{Context as _, bail};
use clap::{Args, Subcommand};

use crate::process::{
    TestStepOutcome, build_directory, build_workspace, cargo_command, fast_testkit_command, new_command, run_program,
};
use crate::tools::{NetworkIsolation, SCHEMATHESIS};

#[derive(Clone, Copy)]
pub enum BuildProfile {
    Debug,
    Release,
}

impl BuildProfile {
    fn build_programs(self) -> anyhow::Result<()> {
        let packages = ["build", "--quiet", "--package", "switchboard-cli", "--package", "switchboard-testkit"];
        match self {
            Self::Debug => build_workspace(),
            Self::Release => run_program(&mut cargo_command(&[&packages[..], &["--release"]].concat())),
        }
    }

    fn program_path(self, name: &str) -> std::path::PathBuf {
        build_directory().join(if matches!(self, Self::Release) { "release" } else { "debug" }).join(name)
    }

    /// Returns a `load` command of the test kit. It talks only to the server, so isolation is optional.
    fn load_command(self, case: &[&str]) -> Command {
        let (testkit, words) = (self.program_path("switchboard-testkit"), [&["load"], case].concat());
        let mut command = match NetworkIsolation::find() {
            Ok(isolation) => isolation.isolated_command(&testkit, &words),
            Err(_) => new_command(&testkit, &words),
        };
        command.arg("--switchboard").arg(self.program_path("switchboard"));
        command
    }
}

/// Runs cases in sequence.
pub fn run_cases(build: BuildProfile, cases: &[&[&str]]) -> anyhow::Result<()> {
    build.build_programs()?;
    cases.iter().try_for_each(|case| {
        run_program(&mut build.load_command(case)).with_context(|| format!("load {}", case.join(" ")))
    })
}

/// Runs requests generated from the server's OpenAPI description.
pub fn run_schema_checks(build: BuildProfile, options: &[&str]) -> anyhow::Result<TestStepOutcome> {
    let st = match SCHEMATHESIS.find() {
        Ok(st) => st,
        Err(why) => return Ok(TestStepOutcome::NotRun(why)),
    };
    build.build_programs()?;
    let mut command = build.load_command(&[&["schema"], options].concat());
    run_program(command.arg("--schemathesis").arg(st))?;
    Ok(TestStepOutcome::Passed)
}

/// Spoil recordings in random ways and check that everything still holds
///
/// A stream that breaks a rule is made short and kept in target/fuzz.
#[derive(Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct FuzzTask {
    #[command(subcommand)]
    part: Option<FuzzPart>,
    #[command(flatten)]
    streams: StreamFuzzArgs,
}

#[derive(Subcommand)]
enum FuzzPart {
    Serve(ServerFuzzArgs),
}

#[derive(Args)]
struct StreamFuzzArgs {
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
struct ServerFuzzArgs {
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

pub fn run_fuzz(args: &FuzzTask) -> anyhow::Result<()> {
    match &args.part {
        Some(FuzzPart::Serve(args)) => fuzz_server(args),
        None => fuzz_streams(&args.streams),
    }
}

fn fuzz_streams(args: &StreamFuzzArgs) -> anyhow::Result<()> {
    let (seconds, seed) = (args.seconds.to_string(), args.seed.map(|seed| seed.to_string()));
    let options = [("--seconds", Some(&seconds)), ("--seed", seed.as_ref())];
    let options = options.into_iter().chain([("--source", args.source.as_ref()), ("--input", args.input.as_ref())]);
    let options = options.filter_map(|(name, value)| Some([name, value?.as_str()])).flatten();
    run_program(&mut fast_testkit_command(&std::iter::once("fuzz").chain(options).collect::<Vec<_>>())?)
}

fn fuzz_server(args: &ServerFuzzArgs) -> anyhow::Result<()> {
    let [requests, slow, examples] = [args.requests, args.slow, args.examples].map(|number| number.to_string());
    let seed = args.seed.to_string();
    let abuse = ["abuse", "--requests", &requests, "--frames", &requests, "--slow", &slow, "--seed", &seed];
    run_cases(BuildProfile::Release, &[&abuse])?;
    match run_schema_checks(BuildProfile::Release, &["--examples", &examples, "--seed", &seed])? {
        TestStepOutcome::Passed => Ok(()),
        TestStepOutcome::NotRun(why) => bail!("NOT RUN: {why}"),
    }
}
