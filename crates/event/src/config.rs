//! The settings of a session, the same for every agent. Each agent's module maps them to its own settings.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What the agent may do without asking.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ApprovalMode {
    /// Ask before every tool.
    #[default]
    Ask,
    /// Ask before dangerous tools only.
    AskDangerous,
    /// Change files without asking.
    AutoEdit,
    /// Do everything without asking.
    AutoAll,
}

/// What the agent's processes can reach.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum SandboxMode {
    /// No sandbox of ours.
    #[default]
    None,
    /// Nothing can be written.
    ReadOnly,
    /// Only the workspace can be written.
    WorkspaceWrite,
    /// Everything, also where an agent would confine itself.
    FullAccess,
}

/// The settings of a session, as clients give and see them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SessionConfig {
    /// The agent to run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<String>,
    /// A name for what the work belongs to; stored and shown.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The folder to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub working_directory: Option<String>,
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// What the agent may do without asking.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub approval_mode: Option<ApprovalMode>,
    /// What its processes can reach.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sandbox_mode: Option<SandboxMode>,
    /// Tools that need no approval.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_tools: Option<Vec<String>>,
    /// Tools that never run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub blocked_tools: Option<Vec<String>>,
    /// How many turns the agent may take.
    #[serde(
        default,
        deserialize_with = "crate::envelope::deserialize_whole_number",
        skip_serializing_if = "Option::is_none"
    )]
    pub max_turns: Option<u32>,
    /// MCP servers in addition to the agent's own, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub mcp_servers: BTreeMap<String, McpServerConfig>,
    /// The agent's own mode, as it advertises them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mode: Option<String>,
    /// The agent's own selectors, such as `reasoning_effort`, by their ids.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub options: BTreeMap<String, String>,
    /// Writable directories besides the workspace, if only the workspace is writable.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_roots: Option<Vec<String>>,
    /// Protected paths that a confined agent may write all the same: absolute, or relative to the working directory.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writable_paths: Option<Vec<String>>,
    /// Whether a confined agent and what it runs may use the whole network. Otherwise they reach their model, their
    /// login, the MCP servers of the session and `allowedDomains`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub network_access: Option<bool>,
    /// Hosts that a confined agent may also reach: `example.com`, `*.example.com`, `localhost:8080`, or `@packages` for
    /// the package registries.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_domains: Option<Vec<String>>,
    /// TCP ports inside a confined session that are forwarded from the same port of this machine's loopback address.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub published_ports: Option<Vec<u16>>,
    /// The node of the cluster that runs a new session. By default it is the one that gets the request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub node: Option<String>,
    /// Labels of which the node that runs a new session has all. Of several such nodes, the least loaded one runs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<Vec<String>>,
}

/// An MCP server to offer to the agent: a program, or an address.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct McpServerConfig {
    /// The program to start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Its arguments.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub args: Vec<String>,
    /// Environment variables in addition to the inherited ones.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// The address of a server that runs already.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub url: Option<String>,
    /// How to speak with that address.
    #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
    pub transport: Option<McpTransport>,
    /// Headers to send to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// Its tools need no approval.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trust: bool,
    /// The only tools of it that the agent may use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub include_tools: Option<Vec<String>>,
    /// The tools of it that the agent may not use.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude_tools: Vec<String>,
}

/// How an MCP server is spoken with.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum McpTransport {
    /// Its standard input and output.
    #[default]
    Stdio,
    /// Streamable HTTP.
    Http,
    /// Server-sent events, as older servers do.
    Sse,
}

/// The text shown in place of a secret.
const SECRET_MASK: &str = "***";

impl SessionConfig {
    /// Returns a copy without the values that are likely to be secrets; it is safe to show and to store.
    #[must_use]
    pub fn with_masked_secrets(&self) -> Self {
        let mut config = self.clone();
        for server in config.mcp_servers.values_mut() {
            server.env.values_mut().chain(server.headers.values_mut()).for_each(|value| SECRET_MASK.clone_into(value));
        }
        config
    }
}

#[cfg(test)]
mod tests {
    use super::SessionConfig;

    #[test]
    fn a_whole_number_may_have_a_fraction_of_zero() {
        let turns = |text: &str| {
            let config = serde_json::from_str::<SessionConfig>(&format!(r#"{{"maxTurns":{text}}}"#));
            config.ok().map(|config| config.max_turns)
        };
        for (text, read) in
            [("3", Some(Some(3))), ("3.0", Some(Some(3))), ("1e3", Some(Some(1000))), ("null", Some(None))]
        {
            assert_eq!(turns(text), read, "{text}");
        }
        for text in ["3.5", "-1", "1e300", "4294967296", "\"3\"", "[]"] {
            assert_eq!(turns(text), None, "{text}");
        }
    }
}
