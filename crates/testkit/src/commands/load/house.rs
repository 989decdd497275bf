//! What all these commands are told: which program, and how its messages come.

use std::path::PathBuf;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use switchboard_dialects::{DIALECTS, Dialect};
use switchboard_testkit::load::{House, Wire};

/// Which program is put under load.
#[derive(Args)]
pub struct Program {
    /// Switchboard's program
    #[arg(long)]
    switchboard: PathBuf,
}

impl Program {
    /// A place for it.
    pub fn house(&self) -> anyhow::Result<House> {
        House::new(&self.switchboard)
    }
}

/// How messages come.
#[derive(Clone, Copy, ValueEnum)]
pub enum WireName {
    /// In a WebSocket.
    Ws,
    /// As server-sent events.
    Sse,
}

/// Which messages, and how they come.
#[derive(Args)]
pub struct Stream {
    /// How messages come
    #[arg(long, value_enum, default_value = "ws")]
    wire: WireName,
    /// The dialect; by default the one that is the events themselves
    #[arg(long)]
    dialect: Option<String>,
}

impl Stream {
    /// How they come.
    pub fn wire(&self) -> Wire {
        match self.wire {
            WireName::Ws => Wire::WebSocket,
            WireName::Sse => Wire::Sse,
        }
    }

    /// The dialect.
    pub fn dialect(&self) -> anyhow::Result<&'static Dialect> {
        let asked = |dialect: &&Dialect| match &self.dialect {
            Some(name) => dialect.name == name,
            None => dialect.verbatim,
        };
        DIALECTS.iter().find(asked).context("no such dialect")
    }
}

/// The events themselves.
pub fn verbatim() -> anyhow::Result<&'static Dialect> {
    DIALECTS.iter().find(|dialect| dialect.verbatim).context("no dialect is the events themselves")
}

/// Seconds with fractions.
#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
pub fn seconds(nanos: u64) -> f64 {
    nanos as f64 / 1e9
}

/// How many a second.
#[expect(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
pub fn rate(messages: u64, seconds: f64) -> u64 {
    (messages as f64 / seconds.max(1e-9)) as u64
}
