//! The arguments of `switchboard serve`.

use std::{
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use clap::Args;
use switchboard_cluster::NodeDescription;
use switchboard_serve::{
    guard::{RateLimit, UnidentifiedCallers},
    listen::ListenAddress,
};

use crate::{
    args::{TimeoutArgs, parse_allowed_domain},
    cluster::{ClusterArgs, ClusterSetup},
    failure::Failure,
    host,
};

/// Serve sessions over HTTP: REST, WebSocket and server-sent events
///
/// Clients start agents, follow their sessions, answer their requests and stop them. /openapi.json describes the
/// operations. All commands share the sessions of a data directory.
///
/// Access needs a token: open the printed link, or send what `switchboard token` prints as `Authorization: Bearer
/// TOKEN`. Ctrl-C stops the server and its sessions within ten seconds; twice, immediately.
#[derive(Args)]
#[command(after_long_help = AFTER_HELP)]
pub struct ServeArgs {
    /// ListenAddress to listen on: ADDRESS:PORT, a port of this machine, or unix:PATH; repeatable
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8080")]
    pub listen: Vec<ListenAddress>,
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Working directory of sessions that name none [default: the current directory]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Restrict sessions to this directory tree; repeatable
    #[arg(long, value_name = "DIR")]
    pub root: Vec<PathBuf>,
    /// Disable authentication (loopback only)
    #[arg(long, conflicts_with = "token_file")]
    pub no_auth: bool,
    /// Read the token from this file instead of the data directory
    #[arg(long, value_name = "FILE")]
    pub token_file: Option<PathBuf>,
    /// Encrypt TCP connections with the certificate in this PEM file, with its chain; SIGHUP reads it again
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// Private key of the certificate, in PEM format
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Additional Host header to accept, as NAME or NAME:PORT, such as that of a proxy; repeatable
    #[arg(long, value_name = "NAME")]
    pub allow_host: Vec<String>,
    /// Origin whose pages may send requests, such as https://board.example; repeatable
    #[arg(long, value_name = "ORIGIN", value_parser = parse_origin)]
    pub allow_origin: Vec<String>,
    /// Accept callers on this machine whose process is not visible, such as in another container
    #[arg(long)]
    allow_unseen: bool,
    /// Maximum requests per second from one client, with bursts of four times as many; 0 for no limit
    #[arg(long, value_name = "N", default_value = "500")]
    rate_limit: u32,
    /// Maximum simultaneous connections: those without the token are closed first, then further clients get 503
    #[arg(long, value_name = "N", default_value = "4096", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub max_connections: u32,
    /// Maximum number of running sessions
    #[arg(long, value_name = "N")]
    pub max_sessions: Option<usize>,
    /// Start confined sessions even if the kernel cannot enforce all of the sandbox; each reports what is missing
    #[arg(long)]
    pub sandbox_best_effort: bool,
    /// Host that confined sessions may reach, such as example.com, *.example.com, localhost:8080 or @packages; repeatable
    #[arg(long, value_name = "HOST", value_delimiter = ',', value_parser = parse_allowed_domain)]
    pub allow_domain: Vec<String>,
    #[command(flatten)]
    pub timeouts: TimeoutArgs,
    /// Delete sessions that ended longer ago than this, such as 30d [default: keep all]
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    pub keep: Option<Duration>,
    /// Make the log survive a power loss, at the expense of speed
    #[arg(long)]
    pub durable: bool,
    #[command(flatten)]
    pub cluster: ClusterArgs,
    /// Name of this node in the cluster [default: its last name, or that of the machine]
    #[arg(long, value_name = "NAME")]
    pub node: Option<String>,
    /// Label of this node, by which clients can choose it; repeatable
    #[arg(long, value_name = "LABEL", value_delimiter = ',')]
    pub label: Vec<String>,
    /// Stop the agents of this node if NATS cannot be reached for this long [default: 60s]
    #[arg(long, value_name = "TIME", value_parser = host::parse_duration)]
    pub isolation_timeout: Option<Duration>,
    /// Open the page in a browser
    #[arg(long)]
    pub open: bool,
}

const AFTER_HELP: &str = "\
Examples:
  switchboard serve
  switchboard serve --listen 127.0.0.1:0 --root ~/work
  switchboard serve --listen 0.0.0.0:8443 --allow-host build.example \\
    --tls-cert cert.pem --tls-key key.pem
  switchboard serve --listen unix:/run/user/1000/switchboard.sock
  switchboard serve --cluster nats://n1,nats://n2 --node build-1 --label gpu

Exit codes: 0 stopped · 2 bad usage · 4 could not listen or reach NATS · 5 internal · 130 stopped at once";

impl ServeArgs {
    pub fn rate(&self) -> RateLimit {
        NonZeroU32::new(self.rate_limit).map_or(RateLimit::Unlimited, RateLimit::PerSecond)
    }

    /// Returns the cluster to join, if one is given.
    pub fn cluster_setup(&self, data_directory: &Path) -> Result<Option<ClusterSetup>, Failure> {
        let (name, labels) = (self.node.clone().unwrap_or_default(), self.label.clone());
        let setup =
            self.cluster.setup(data_directory, NodeDescription { name, labels, ..NodeDescription::default() })?;
        if setup.is_none() && (self.node.is_some() || !self.label.is_empty()) {
            return Err(Failure::bad_value("--node", "it has no meaning without --cluster"));
        }
        Ok(setup)
    }

    pub fn unseen(&self) -> UnidentifiedCallers {
        if self.allow_unseen { UnidentifiedCallers::Allowed } else { UnidentifiedCallers::Refused }
    }
}

/// Checks an origin as browsers send it. A wildcard is not allowed.
fn parse_origin(text: &str) -> Result<String, String> {
    let place = text.strip_prefix("http://").or_else(|| text.strip_prefix("https://"));
    let is_plain = |place: &str| !place.is_empty() && !place.contains(['/', '*', ' ', '?', '#', '@']);
    if place.is_some_and(is_plain) {
        Ok(text.to_owned())
    } else {
        Err("expected an origin such as https://board.example".to_owned())
    }
}

#[cfg(test)]
mod tests {

    use super::parse_origin;

    #[test]
    fn an_origin_is_a_scheme_and_a_place() {
        assert!(parse_origin("https://a.example").is_ok() && parse_origin("http://localhost:3000").is_ok());
        for wrong in ["*", "a.example", "https://", "https://a/", "https://*.example", "ftp://a", "null"] {
            assert!(parse_origin(wrong).is_err(), "{wrong}");
        }
    }
}
