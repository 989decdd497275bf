//! Limits of time, for commands that run sessions which stay open between turns.

use std::time::Duration;

use clap::Args;
use switchboard_engine::SessionTimeouts;

use crate::host;

/// How long sessions wait for people.
#[derive(Args, Default)]
pub struct Timeouts {
    /// Decline what nobody answers in this time [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::duration)]
    approval_timeout: Option<Duration>,
    /// End agents of sessions that stay open and had no turn for this time; the next prompt resumes them [default: 30m]
    #[arg(long, value_name = "TIME", value_parser = host::duration)]
    unused_timeout: Option<Duration>,
}

impl Timeouts {
    /// The limits, with the usual ones where nothing was typed.
    pub fn limits(&self) -> SessionTimeouts {
        let usual = SessionTimeouts::default();
        let (approval, unused) =
            (self.approval_timeout.unwrap_or(usual.approval), self.unused_timeout.or(usual.unused));
        SessionTimeouts { approval, unused, ..usual }
    }
}
