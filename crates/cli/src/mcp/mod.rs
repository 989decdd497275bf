//! `switchboard mcp`: tools with which an agent reads past sessions, over MCP on standard input and output.

mod tools;

use std::{
    process::ExitCode,
    sync::Arc,
    time::{Duration, Instant},
};

use clap::Args;
use parking_lot::Mutex;
use rmcp::{
    ErrorData, RoleServer, ServerHandler, ServiceExt as _,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::{RequestContext, ServerInitializeError},
    transport::stdio,
};
use serde_json::Value;
use switchboard_agents::ScanDepth;
use switchboard_logs::LogLibrary;
use tools::{LogTool, ToolReply};

use crate::{failure::Failure, host, logs::LogLocationArgs};

/// The minimum time between two updates of the index.
const REFRESH_INTERVAL: Duration = Duration::from_secs(2);

const INSTRUCTIONS: &str = "Past sessions of coding agents on this machine: prompts, answers, tool calls and usage. Begin with \
                            search_sessions to find something specific, or list_sessions for what \
                            happened lately; show_session reads one. Everything is read-only.";

/// Serve past sessions to agents, as an MCP server on standard input and output
///
/// An agent with this server can list, search and read what any agent did on this machine, and what it used. Access is
/// read-only, and secrets are redacted.
///
/// In an agent's settings: {"mcpServers":{"switchboard":{"command":"switchboard","args":["mcp"]}}}
#[derive(Args)]
pub struct McpArgs {
    #[command(flatten)]
    location: LogLocationArgs,
}

pub fn run(args: McpArgs) -> Result<ExitCode, Failure> {
    let server = LogToolServer::new(RefreshedLibrary::new(args.location));
    let runtime = host::build_runtime()?;
    let served = runtime.block_on(async {
        let failed = |cause: String| Failure::Machine(format!("the client does not speak MCP: {cause}"));
        let running = match server.serve(stdio()).await {
            // A client that disconnects before the handshake is not a failure.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(ExitCode::SUCCESS),
            running => running.map_err(|error| failed(error.to_string()))?,
        };
        running.waiting().await.map_err(|error| failed(error.to_string()))?;
        Ok(ExitCode::SUCCESS)
    });
    // A read of standard input cannot be cancelled, and running queries are abandoned.
    runtime.shutdown_background();
    served
}

/// The log library, opened on first use and updated before each query.
pub struct RefreshedLibrary {
    location: LogLocationArgs,
    open: Mutex<Option<(LogLibrary, Option<Instant>)>>,
}

impl RefreshedLibrary {
    pub fn new(location: LogLocationArgs) -> Self {
        Self { location, open: Mutex::default() }
    }

    /// Queries the updated library. Queries wait for each other: an agent asks one at a time.
    pub fn ask<T>(&self, question: impl FnOnce(&LogLibrary) -> Result<T, Failure>) -> Result<T, Failure> {
        let mut open = self.open.lock();
        if open.is_none() {
            *open = Some((self.location.open_library(false)?, None));
        }
        let Some((library, current)) = &mut *open else {
            return Err(Failure::Machine("the index of logs could not be opened".to_owned()));
        };
        if current.is_none_or(|at| at.elapsed() > REFRESH_INTERVAL) {
            library.refresh_index(ScanDepth::All, &|_| {})?;
            *current = Some(Instant::now());
        }
        question(library)
    }
}

struct LogToolServer(Arc<RefreshedLibrary>);

impl LogToolServer {
    pub fn new(library: RefreshedLibrary) -> Self {
        Self(Arc::new(library))
    }
}

impl ServerHandler for LogToolServer {
    fn get_info(&self) -> ServerConfig {
        let about = Implementation::new("switchboard", env!("CARGO_PKG_VERSION")).with_title("Switchboard");
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(about)
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools::TOOLS.iter().map(describe_tool).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::TOOLS.iter().find(|tool| tool.name == name).map(describe_tool)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::TOOLS.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        };
        let (library, given) = (self.0.clone(), Value::Object(request.arguments.unwrap_or_default()));
        let done = tokio::task::spawn_blocking(move || (tool.call)(&library, given)).await;
        let failed = |text: String| CallToolResult::error(vec![ContentBlock::text(text)]);
        Ok(match done {
            Ok(Ok(ToolReply::Text(text))) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Ok(Ok(ToolReply::Json(value))) => CallToolResult::structured(value),
            Ok(Err(failure)) => failed(failure.to_string()),
            Err(_) => failed("the tool broke off; this is a fault of Switchboard".to_owned()),
        }
        .into())
    }
}

fn describe_tool(tool: &LogTool) -> Tool {
    let hints = ToolAnnotations::with_title(tool.title).read_only(true).destructive(false).idempotent(true);
    Tool::new(tool.name, tool.description, (tool.schema)())
        .with_title(tool.title)
        .with_annotations(hints.open_world(false))
}
