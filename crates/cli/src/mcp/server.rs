//! The server: says which tools there are, and calls them. Errors of a tool are returned to the model, which can do
//! something about it.

use std::sync::Arc;

use rmcp::{
    ErrorData, RoleServer, ServerHandler,
    model::{
        CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation, ListToolsResult,
        PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    },
    service::RequestContext,
};
use serde_json::Value;

use super::{
    archive::Archive,
    tools::{self, Looking, Reply},
};

const INSTRUCTIONS: &str = "Past sessions of coding agents on this machine: what was asked, said, done and used. Begin with \
                            search_sessions when you look for something that was said or done, or list_sessions for what \
                            happened lately; show_session reads one. Everything is read-only.";

/// The server.
pub struct Server(Arc<Archive>);

impl Server {
    /// A server of this library.
    pub fn new(archive: Archive) -> Self {
        Self(Arc::new(archive))
    }
}

impl ServerHandler for Server {
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
        Ok(ListToolsResult::with_all_items(tools::TOOLS.iter().map(described).collect()))
    }

    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools::TOOLS.iter().find(|tool| tool.name == name).map(described)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let Some(tool) = tools::TOOLS.iter().find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool {}", request.name), None));
        };
        let (archive, given) = (self.0.clone(), Value::Object(request.arguments.unwrap_or_default()));
        let done = tokio::task::spawn_blocking(move || (tool.call)(&archive, given)).await;
        let failed = |text: String| CallToolResult::error(vec![ContentBlock::text(text)]);
        Ok(match done {
            Ok(Ok(Reply::Text(text))) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Ok(Ok(Reply::Json(value))) => CallToolResult::structured(value),
            Ok(Err(failure)) => failed(failure.to_string()),
            Err(_) => failed("the tool broke off; this is a fault of Switchboard".to_owned()),
        }
        .into())
    }
}

/// A tool as clients are told of it.
fn described(tool: &Looking) -> Tool {
    let hints = ToolAnnotations::with_title(tool.title).read_only(true).destructive(false).idempotent(true);
    Tool::new(tool.name, tool.description, (tool.schema)())
        .with_title(tool.title)
        .with_annotations(hints.open_world(false))
}
