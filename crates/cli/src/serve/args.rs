//! What can be typed after `serve`.

use std::{num::NonZeroU32, path::PathBuf, time::Duration};

use clap::Args;
use switchboard_serve::{
    guard::{Rate, Unseen},
    listen::Address,
};

use crate::{host, run::domain, timeouts::Timeouts};

/// Serve sessions over HTTP: REST, WebSocket and server-sent events
///
/// Programs and pages start agents, follow them, answer what they ask and stop them. What they can ask for is described
/// at /openapi.json. Sessions of this server and of all other commands are kept in the same folder, and each sees them
/// all.
///
/// A token is needed to get in: open the link that is printed, or send what `switchboard token` prints as
/// `Authorization: Bearer TOKEN`. Ctrl-C stops the server and its sessions, within ten seconds; twice, at once.
#[derive(Args)]
#[command(after_long_help = AFTER)]
pub struct Serve {
    /// Where to listen: ADDRESS:PORT, a port of this machine, or unix:PATH; can be given several times
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: Vec<Address>,
    /// Where sessions are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// The folder in which sessions work that name none [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Let sessions work below this folder only; can be given several times
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// Let in whoever reaches us, without a token; only on this machine
    #[arg(long, conflicts_with = "token_file")]
    pub no_auth: bool,
    /// Read the token from this file, in place of the one in the data folder
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Answer to this name too, as NAME or NAME:PORT: that of a proxy, say; can be given several times
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Let pages of this origin ask, such as https://board.example; can be given several times
    #[arg(long, value_name = "ORIGIN", value_parser = origin)]
    pub allow_origin: Vec<String>,
    /// Take orders also from callers on this machine whose process cannot be seen: in another container, say
    #[arg(long)]
    pub allow_unseen: bool,
    /// So many requests a second from one client, and four times as many at once; 0 for no limit
    #[arg(long, value_name = "N", default_value = "500")]
    pub rate_limit: u32,
    /// Maximum simultaneous connections: those without the token are closed first, then further clients get 503
    #[arg(long, value_name = "N", default_value = "4096", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// So many sessions run at once
    #[arg(long, value_name = "N")]
    pub max_sessions: Option<usize>,
    /// Start confined sessions even if the kernel cannot enforce all of the sandbox; each reports what is missing
    #[arg(long)]
    pub sandbox_best_effort: bool,
    /// Host that confined sessions may reach, such as example.com, *.example.com, localhost:8080 or @packages; repeatable
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = domain)]
    pub allow_domain: Vec<String>,
    /// How long sessions wait for people
    #[command(flatten)]
    pub timeouts: Timeouts,
    /// Delete sessions that ended longer ago than this, such as 30d [default: keep all]
    #[arg(long, value_name = "TIME", value_parser = host::duration)]
    pub keep: Option<Duration>,
    /// What is kept survives a loss of power too, at the price of speed
    #[arg(long)]
    pub durable: bool,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
}

const AFTER: &str = "\
Examples:
  switchboard serve
  switchboard serve --listen 127.0.0.1:0 --root ~/work
  switchboard serve --listen 0.0.0.0:8080 --allow-host build.example
  switchboard serve --listen unix:/run/user/1000/switchboard.sock

Exit codes: 0 stopped · 2 bad usage · 4 could not listen · 5 internal · 130 stopped at once";

impl Serve {
    /// How often a client may ask.
    pub fn rate(&self) -> Rate {
        NonZeroU32::new(self.rate_limit).map_or(Rate::Unlimited, Rate::PerSecond)
    }

    /// What becomes of callers that cannot be seen.
    pub fn unseen(&self) -> Unseen {
        if self.allow_unseen { Unseen::Allowed } else { Unseen::Refused }
    }
}

/// An origin as browsers say it. All of them at once would be none of our business to allow.
fn origin(text: &str) -> Result<String, String> {
    let place = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_plain = |place: &str| !place.is_empty() && !place.contains(['/', '*', ' ', '?', '#', '@']);
    if place.is_some_and(is_plain) { Ok(text.to_owned()) } else { Err("not like https://board.example".to_owned()) }
}

#[cfg(test)]
mod tests {
    use super::origin;

    #[test]
    fn an_origin_is_a_scheme_and_a_place() {
        assert!(origin("https://a.example").is_ok() && origin("http://localhost:3000").is_ok());
        for wrong in ["*", "a.example", "https://", "https://a/", "https://*.example", "ftp://a", "null"] {
            assert!(origin(wrong).is_err(), "{wrong}");
        }
    }
}
