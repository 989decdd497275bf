//! `load`: a server under load, one measurement per command. Each prints one line of JSON; `cargo xtask` starts them
//! and makes tables from it.

mod abuse;
mod crash;
mod crowd;
mod latency;
mod peer;
mod readers;
mod threads;

use std::path::{PathBuf, absolute};
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use clap::{Args, Subcommand, ValueEnum};
use serde_json::json;
use switchboard_dialects::{DIALECTS, Dialect};

use super::print_line;
use switchboard_testkit::load::{FeedTransport, ServerStage, free_port};

/// Put a server under load and say how it fared, as JSON
#[derive(Subcommand)]
pub enum LoadCommand {
    Readers(readers::LoadReadersArgs),
    Delays(latency::LoadDelaysArgs),
    Starts(latency::LoadStartsArgs),
    Returns(latency::LoadReturnsArgs),
    Stalled(latency::LoadStalledArgs),
    Crowd(crowd::LoadCrowdArgs),
    Threads(threads::LoadThreadsArgs),
    Crash(crash::LoadCrashArgs),
    Abuse(abuse::LoadAbuseArgs),
    Schema(LoadSchemaArgs),
    Peer(peer::LoadPeerArgs),
}

pub fn run(args: &LoadCommand) -> anyhow::Result<()> {
    match args {
        LoadCommand::Readers(args) => readers::run(args),
        LoadCommand::Delays(args) => latency::run_delays(args),
        LoadCommand::Starts(args) => latency::run_starts(args),
        LoadCommand::Returns(args) => latency::run_returns(args),
        LoadCommand::Stalled(args) => latency::run_stalled(args),
        LoadCommand::Crowd(args) => crowd::run(args),
        LoadCommand::Threads(args) => threads::run(args),
        LoadCommand::Crash(args) => crash::run(args),
        LoadCommand::Abuse(args) => abuse::run(args),
        LoadCommand::Schema(args) => run_schema(args),
        LoadCommand::Peer(args) => peer::run(args),
    }
}

/// Which program is put under load.
#[derive(Args)]
struct ServerProgramArgs {
    /// Switchboard's program
    #[arg(long)]
    switchboard: PathBuf,
}

impl ServerProgramArgs {
    fn create_stage(&self) -> anyhow::Result<ServerStage> {
        ServerStage::new(&self.switchboard)
    }
}

/// How messages come.
#[derive(Clone, Copy, ValueEnum)]
enum TransportArg {
    /// In a WebSocket.
    Ws,
    /// As server-sent events.
    Sse,
}

/// Which messages, and how they come.
#[derive(Args)]
struct FeedArgs {
    /// How messages come
    #[arg(long, value_enum, default_value = "ws")]
    wire: TransportArg,
    /// The dialect; by default the one that is the events themselves
    #[arg(long)]
    dialect: Option<String>,
}

impl FeedArgs {
    fn transport(&self) -> FeedTransport {
        match self.wire {
            TransportArg::Ws => FeedTransport::WebSocket,
            TransportArg::Sse => FeedTransport::Sse,
        }
    }

    fn find_dialect(&self) -> anyhow::Result<&'static Dialect> {
        let is_wanted = |dialect: &&Dialect| match &self.dialect {
            Some(name) => dialect.name == name,
            None => dialect.verbatim,
        };
        DIALECTS.iter().find(is_wanted).context("no such dialect")
    }
}

/// Returns the dialect of the events themselves.
fn verbatim_dialect() -> anyhow::Result<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.verbatim).context("no dialect is the events themselves")
}

#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
fn nanos_to_seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
fn messages_per_second(messages: u64, seconds: f64) -> u64 {
    (messages as f64 / seconds.max(1e-9)) as u64
}

/// Send requests that schemathesis makes from the server's own description
#[derive(Args)]
pub struct LoadSchemaArgs {
    #[command(flatten)]
    program: ServerProgramArgs,
    /// The program `st`
    #[arg(long)]
    schemathesis: PathBuf,
    /// How many requests it tries for each operation
    #[arg(long, default_value_t = 60)]
    examples: u32,
    /// Which parts of its work it does
    #[arg(long, default_value = "examples,coverage,fuzzing")]
    phases: String,
    /// For how many seconds at most
    #[arg(long)]
    seconds: Option<u64>,
    /// Chance; the same seed does the same
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// The description does not state all our limits, so acceptance and rejection are not checked.
const SCHEMATHESIS_CHECKS: &str = "not_a_server_error,status_code_conformance,content_type_conformance,response_headers_conformance,\
                      response_schema_conformance,unsupported_method,ignored_auth";

fn run_schema(args: &LoadSchemaArgs) -> anyhow::Result<()> {
    let house = args.program.create_stage()?;
    let served = house.start_server(free_port()?, &[])?;
    let ended = served.api.start_session("script", "text hello")?;
    served.api.wait_for_end(&ended, Duration::from_secs(20))?;
    let (before, began) = (served.memory_usage()?, Instant::now());
    let url = format!("http://127.0.0.1:{}/openapi.json", served.api.port);
    let header = format!("Authorization:Bearer {}", served.api.token);
    let (examples, seed) = (args.examples.to_string(), args.seed.to_string());
    let seconds = args.seconds.map(|seconds| seconds.to_string());
    let options =
        ["run", &url, "-H", &header, "--checks", SCHEMATHESIS_CHECKS, "--phases", &args.phases, "-n", &examples];
    let more = ["--seed", &seed, "--request-timeout", "20", "--suppress-health-check", "all", "--warnings", "off"];
    // Streams of a session do not end before the session does.
    let except = ["--exclude-path-regex", "/stream$|^/ws/", "--no-color", "--continue-on-failure"];
    let mut command = house.stage.new_command(&absolute(&args.schemathesis)?, &[&options[..], &more, &except].concat());
    command.args(seconds.iter().flat_map(|seconds| ["--max-time", seconds]));
    let status = command.env("PYTHONDONTWRITEBYTECODE", "1").status()?;
    let after = served.memory_usage()?;
    ensure!(served.api.get("/api/health")?["status"] == "ok", "the server is not well");
    print_line(
        &json!({ "passed": status.success(), "seconds": began.elapsed().as_secs_f64(), "seed": args.seed,
        "memory_before_kb": before.now, "memory_after_kb": after.now })
        .to_string(),
    );
    ensure!(status.success(), "schemathesis: {status}");
    served.stop()?;
    Ok(())
}
