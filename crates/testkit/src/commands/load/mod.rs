//! `load`: a server under load, one measurement per command. Each prints one line of JSON; `cargo xtask` starts them
//! and makes tables from it.

mod abuse;
mod crash;
mod crowd;
mod long_session;
mod peer;
mod readers;
mod schema;
mod threads;
mod timing;

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, Subcommand, ValueEnum};
use switchboard_dialects::{DIALECTS, Dialect};
use switchboard_testkit::load::{FeedTransport, ServerStage};

/// Put a server under load and say how it fared, as JSON
#[derive(Subcommand)]
pub enum LoadCommand {
    Readers(readers::LoadReadersArgs),
    Delays(timing::LoadDelaysArgs),
    Starts(timing::LoadStartsArgs),
    Returns(long_session::LoadReturnsArgs),
    Stalled(long_session::LoadStalledArgs),
    Crowd(crowd::LoadCrowdArgs),
    Threads(threads::LoadThreadsArgs),
    Crash(crash::LoadCrashArgs),
    Abuse(abuse::LoadAbuseArgs),
    Schema(schema::LoadSchemaArgs),
    Peer(peer::LoadPeerArgs),
}

pub fn run(args: &LoadCommand) -> anyhow::Result<()> {
    match args {
        LoadCommand::Readers(args) => readers::run(args),
        LoadCommand::Delays(args) => timing::run_delays(args),
        LoadCommand::Starts(args) => timing::run_starts(args),
        LoadCommand::Returns(args) => long_session::run_returns(args),
        LoadCommand::Stalled(args) => long_session::run(args),
        LoadCommand::Crowd(args) => crowd::run(args),
        LoadCommand::Threads(args) => threads::run(args),
        LoadCommand::Crash(args) => crash::run(args),
        LoadCommand::Abuse(args) => abuse::run(args),
        LoadCommand::Schema(args) => schema::run(args),
        LoadCommand::Peer(args) => peer::run(args),
    }
}

/// Which program is put under load.
#[derive(Args)]
pub struct ServerProgramArgs {
    /// Switchboard's program
    #[arg(long)]
    switchboard: PathBuf,
}

impl ServerProgramArgs {
    pub fn create_stage(&self) -> anyhow::Result<ServerStage> {
        ServerStage::new(&self.switchboard)
    }
}

/// How messages come.
#[derive(Clone, Copy, ValueEnum)]
pub enum TransportArg {
    /// In a WebSocket.
    Ws,
    /// As server-sent events.
    Sse,
}

/// Which messages, and how they come.
#[derive(Args)]
pub struct FeedArgs {
    /// How messages come
    #[arg(long, value_enum, default_value = "ws")]
    wire: TransportArg,
    /// The dialect; by default the one that is the events themselves
    #[arg(long)]
    dialect: Option<String>,
}

impl FeedArgs {
    pub fn transport(&self) -> FeedTransport {
        match self.wire {
            TransportArg::Ws => FeedTransport::WebSocket,
            TransportArg::Sse => FeedTransport::Sse,
        }
    }

    pub fn find_dialect(&self) -> anyhow::Result<&'static Dialect> {
        let asked = |dialect: &&Dialect| match &self.dialect {
            Some(name) => dialect.name == name,
            None => dialect.verbatim,
        };
        DIALECTS.iter().find(asked).context("no such dialect")
    }
}

/// Returns the dialect of the events themselves.
pub fn verbatim_dialect() -> anyhow::Result<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.verbatim).context("no dialect is the events themselves")
}

#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
pub fn nanos_to_seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
pub fn messages_per_second(messages: u64, seconds: f64) -> u64 {
    (messages as f64 / seconds.max(1e-9)) as u64
}
