//! Diagnostics on standard error: what Switchboard does, for finding out why a session hangs or a server is slow. Off by
//! default. Only Switchboard's own code is logged, never the content of prompts, messages, headers or variables.

use std::io;

use clap::{Args, ValueEnum};
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt,
    layer::SubscriberExt as _,
};

use crate::{failure::Failure, host};

/// All crates of Switchboard. Other crates are not logged: they may log secrets.
const OWN_CRATES: &str = "switchboard";

const LEVEL_VARIABLE: &str = "SWITCHBOARD_LOG";

#[derive(Args)]
#[command(next_help_heading = "Diagnostics")]
pub struct DiagnosticsOptions {
    /// Log diagnostics to standard error [env: SWITCHBOARD_LOG] [default: off]
    #[arg(long, global = true, value_name = "LEVEL", hide_short_help = true)]
    log_level: Option<LogLevel>,
    /// Format of the diagnostics
    #[arg(long, global = true, value_name = "FORMAT", default_value = "text", hide_short_help = true)]
    log_format: LogFormat,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogLevel {
    Off,
    Error,
    Warn,
    Info,
    Debug,
    Trace,
}

#[derive(Clone, Copy, ValueEnum)]
enum LogFormat {
    Text,
    /// One JSON object per line
    Json,
}

impl DiagnosticsOptions {
    /// Starts logging, if it is enabled.
    pub fn install(&self) -> Result<(), Failure> {
        let filter = match self.level()? {
            LogLevel::Off => return Ok(()),
            LogLevel::Error => LevelFilter::ERROR,
            LogLevel::Warn => LevelFilter::WARN,
            LogLevel::Info => LevelFilter::INFO,
            LogLevel::Debug => LevelFilter::DEBUG,
            LogLevel::Trace => LevelFilter::TRACE,
        };
        let targets = Targets::new().with_target(OWN_CRATES, filter);
        let registry = tracing_subscriber::registry().with(targets);
        let layer = fmt::layer().with_writer(io::stderr);
        // It is set once, before anything else runs.
        match self.log_format {
            LogFormat::Text => tracing::subscriber::set_global_default(registry.with(layer.with_ansi(false))).ok(),
            LogFormat::Json => tracing::subscriber::set_global_default(registry.with(layer.json())).ok(),
        };
        Ok(())
    }

    fn level(&self) -> Result<LogLevel, Failure> {
        match (self.log_level, host::env_variable(LEVEL_VARIABLE)) {
            (Some(level), _) => Ok(level),
            (None, None) => Ok(LogLevel::Off),
            (None, Some(value)) => {
                LogLevel::from_str(&value, true).map_err(|cause| Failure::BadValue { option: LEVEL_VARIABLE, cause })
            }
        }
    }
}
