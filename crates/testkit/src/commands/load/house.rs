//! Shared arguments of the load commands.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use switchboard_dialects::{DIALECTS, Dialect};
use switchboard_testkit::load::{FeedTransport, ServerStage};

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
