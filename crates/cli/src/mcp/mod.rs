//! `switchboard mcp`: tools with which an agent looks at past work, over MCP on standard input and output.

mod archive;
mod server;
mod story;
mod tools;

use std::process::ExitCode;

use clap::Args;
use rmcp::{ServiceExt as _, service::ServerInitializeError, transport::stdio};

use crate::{failure::Failure, host, logs::Place};

/// Serve past sessions to agents, as an MCP server on standard input and output
///
/// An agent that has this server can list, search and read what was done on this machine before, by any agent, and what
/// it used. It only reads. Secrets are taken out of what it gives.
///
/// In an agent's settings: {"mcpServers":{"switchboard":{"command":"switchboard","args":["mcp"]}}}
#[derive(Args)]
pub struct Mcp {
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: Mcp) -> Result<ExitCode, Failure> {
    let server = server::Server::new(archive::Archive::new(args.place));
    let runtime = host::runtime()?;
    let served = runtime.block_on(async {
        let failed = |cause: String| Failure::Machine(format!("the client does not speak MCP: {cause}"));
        let running = match server.serve(stdio()).await {
            // A client that goes before it has said anything is no failure.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(ExitCode::SUCCESS),
            running => running.map_err(|error| failed(error.to_string()))?,
        };
        running.waiting().await.map_err(|error| failed(error.to_string()))?;
        Ok(ExitCode::SUCCESS)
    });
    // A read of standard input cannot be cancelled, and running queries have no reader any more.
    runtime.shutdown_background();
    served
}
