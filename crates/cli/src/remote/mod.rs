//! Commands that work with a server on another machine: its address, token and certificate, and requests to it.

mod events;
mod session;
mod sessions;

use std::path::{Path, PathBuf};

use clap::Args;
pub use events::RemoteEvents;
use futures_util::Future;
pub use session::ServerSession;
pub use sessions::session_record;
use switchboard_client::{
    AgentError, AgentErrorKind, RemoteServer,
    http::{TrustedAuthorities, percent_encode},
};
use tokio::runtime::Runtime;

use crate::{
    failure::Failure,
    host,
    terminal::print_note,
    token::{TOKEN_VARIABLE, read_token_file},
};

/// The environment variable that names a server.
const SERVER_VARIABLE: &str = "SWITCHBOARD_SERVER";

const TOKEN_HINT: &str =
    "`switchboard token` on the server's machine prints it; set SWITCHBOARD_TOKEN or use --token-file";

/// Which server to use, if not this machine.
#[derive(Args, Default)]
pub struct ServerArgs {
    /// Work with this server instead of this machine: https://HOST:PORT, http://HOST:PORT, or the link that it prints
    /// [env: SWITCHBOARD_SERVER]
    #[arg(long, value_name = "URL", global = true, help_heading = SERVER_HEADING)]
    server: Option<String>,
    /// Read the server's token from this file; otherwise from SWITCHBOARD_TOKEN
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER_HEADING)]
    token_file: Option<PathBuf>,
    /// Trust the certificate authorities in this PEM file instead of this machine's
    #[arg(long, value_name = "FILE", global = true, help_heading = SERVER_HEADING)]
    ca_file: Option<PathBuf>,
}

const SERVER_HEADING: &str = "Server";

impl ServerArgs {
    /// Returns the client of the named server; `None` for this machine. A data directory means this machine.
    pub fn connect(&self, data: Option<&Path>) -> Result<Option<ServerClient>, Failure> {
        if self.server.is_some() && data.is_some() {
            return Err(Failure::bad_value(
                "--server",
                "cannot be used with a directory of this machine (--data, --home)",
            ));
        }
        match self.url(data) {
            Some(url) => self.create_client(&url).map(Some),
            None => self.check_unused().map(|()| None),
        }
    }

    /// Fails if a server is named: for commands that only work on this machine.
    pub fn check_local(&self, command: &str, data: Option<&Path>) -> Result<(), Failure> {
        match self.url(data) {
            Some(_) => Err(Failure::Refused(format!(
                "`{command}` only works on this machine, not with a server\nhint: run it on the server's machine, or \
                 without --server and {SERVER_VARIABLE}"
            ))),
            None => self.check_unused(),
        }
    }

    fn url(&self, data: Option<&Path>) -> Option<String> {
        let from_environment = || host::env_variable(SERVER_VARIABLE).filter(|_| data.is_none());
        self.server.clone().or_else(from_environment)
    }

    /// Fails if an option has no effect because no server is named.
    fn check_unused(&self) -> Result<(), Failure> {
        let unused = [("--token-file", &self.token_file), ("--ca-file", &self.ca_file)];
        match unused.into_iter().find(|(_, file)| file.is_some()) {
            Some((option, _)) => Err(Failure::bad_value(option, "requires --server")),
            None => Ok(()),
        }
    }

    fn create_client(&self, url: &str) -> Result<ServerClient, Failure> {
        let token = self.token(url)?;
        let server = match &self.ca_file {
            Some(file) => {
                let authorities = TrustedAuthorities::load_file(file);
                let authorities = authorities.map_err(|cause| Failure::bad_value("--ca-file", cause))?;
                RemoteServer::with_authorities(url, token.as_deref(), authorities)
            }
            None => RemoteServer::new(url, token.as_deref()),
        };
        let server = server.map_err(|error| match error.kind {
            AgentErrorKind::AuthenticationFailed | AgentErrorKind::Unknown => Failure::Server(error),
            _ => Failure::bad_value("--server", error),
        })?;
        self.check_encryption(&server)?;
        Ok(ServerClient { server, runtime: host::build_runtime()? })
    }

    fn check_encryption(&self, server: &RemoteServer) -> Result<(), Failure> {
        let address = server.address();
        match address.requires_tls() {
            false if self.ca_file.is_some() => {
                Err(Failure::bad_value("--ca-file", "the address of the server does not begin with https://"))
            }
            false if !address.is_loopback() => {
                print_note("warning: no TLS: others on the network can read the token and all sessions");
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// Returns the token, unless the link has it.
    fn token(&self, url: &str) -> Result<Option<String>, Failure> {
        match &self.token_file {
            Some(file) => Ok(Some(read_token_file(file)?.expose().to_owned())),
            None if url.contains("?token=") => Ok(None),
            None => Ok(host::env_variable(TOKEN_VARIABLE)),
        }
    }
}

/// A server on another machine, with the runtime for requests to it.
pub struct ServerClient {
    pub server: RemoteServer,
    pub runtime: Runtime,
}

impl ServerClient {
    /// Sends a request and waits for its response.
    pub fn wait<T>(&self, response: impl Future<Output = Result<T, AgentError>>) -> Result<T, Failure> {
        self.runtime.block_on(response).map_err(server_failure)
    }
}

/// Converts an error of a server that the command line names.
pub fn server_failure(error: AgentError) -> Failure {
    let is_token = error.kind == AgentErrorKind::AuthenticationFailed && error.code.is_some();
    Failure::Server(if is_token { error.with_hint(TOKEN_HINT) } else { error })
}

/// Returns a query string with its question mark.
pub fn encode_query(pairs: &[(&'static str, impl AsRef<str>)]) -> String {
    let pairs = pairs.iter().map(|(name, value)| format!("{name}={}", percent_encode(value.as_ref())));
    let query = pairs.collect::<Vec<_>>().join("&");
    if query.is_empty() { query } else { format!("?{query}") }
}
