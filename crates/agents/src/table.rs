//! The agents and their sources: the only place that names them all. A new agent is one directory and one line here.

use crate::{
    Agent, AgentEndpoint, AgentLogs, HostAccess, RecordReader, Versions, acp, board, claude, codex, echo, gemini,
    opencode, script,
};

/// One kind of stream that can be read.
pub struct RecordSource {
    /// The name that users type.
    pub name: &'static str,
    /// The agent that writes it.
    pub agent: &'static str,
    /// A one-line description.
    pub title: &'static str,
    /// The JSON Schema that older descriptions give for its records.
    pub schema: Option<&'static str>,
    /// Creates a reader.
    pub reader: fn() -> Box<dyn RecordReader>,
}

/// The sources of all agents, in display order.
pub const SOURCES: &[&[RecordSource]] = &[
    claude::SOURCES,
    codex::SOURCES,
    gemini::SOURCES,
    opencode::SOURCES,
    acp::SOURCES,
    board::SOURCES,
    echo::SOURCES,
    script::SOURCES,
];

/// All runnable agents, in display order. Those that only speak ACP are rows: the handshake of each is recorded in its
/// testdata.
pub const AGENTS: &[Agent] = &[
    claude::AGENT,
    codex::AGENT,
    gemini::AGENT,
    opencode::AGENT,
    acp::with_endpoints(
        &acp::forking(&acp::agent_entry(
            "claude-acp",
            "Claude Agent (ACP adapter)",
            "anthropic",
            Some("claude-agent-acp"),
            Some("npm install -g @agentclientprotocol/claude-agent-acp"),
            None,
            |order| {
                let known_state = Some(claude::state_directory as fn(&dyn HostAccess) -> crate::StateDirectory);
                acp::start(
                    order,
                    acp::AcpAgentEntry { program: "claude-agent-acp", known_state, ..acp::AcpAgentEntry::default() },
                )
            },
        )),
        claude::endpoints,
    ),
    acp::with_endpoints(
        &acp::forking(&acp::agent_entry(
            "codex-acp",
            "Codex (ACP adapter)",
            "openai",
            Some("codex-acp"),
            Some("npm install -g @agentclientprotocol/codex-acp"),
            version_range("0.16.0", "2.6.0"),
            |order| {
                let known_state = Some(codex::state_directory as fn(&dyn HostAccess) -> crate::StateDirectory);
                acp::start(
                    order,
                    acp::AcpAgentEntry {
                        program: "codex-acp",
                        known_state,
                        lingers: true,
                        ..acp::AcpAgentEntry::default()
                    },
                )
            },
        )),
        codex::endpoints,
    ),
    acp::with_endpoints(
        &acp::with_protected_paths(
            &acp::agent_entry(
                "qwen",
                "Qwen Code",
                "qwen",
                Some("qwen"),
                Some("npm install -g @qwen-code/qwen-code"),
                version_range("0.15.0", "0.15.10"),
                |order| {
                    let known_state = Some(qwen_state as fn(&dyn HostAccess) -> crate::StateDirectory);
                    let row = acp::AcpAgentEntry {
                        program: "qwen",
                        args: &["--acp"],
                        known_state,
                        lingers: true,
                        ..acp::AcpAgentEntry::default()
                    };
                    acp::start(order, row)
                },
            ),
            &[
                ".qwen/settings.json",
                ".qwen/.env",
                ".qwen/extensions/**",
                ".qwen/commands/**",
                ".qwen/hooks/**",
                ".qwen/agents/**",
                ".qwen/skills/**",
                "~/.qwen/trustedFolders.json",
            ],
        ),
        qwen_endpoints,
    ),
    acp::with_endpoints(
        &acp::with_protected_paths(
            &acp::agent_entry(
                "copilot",
                "GitHub Copilot CLI",
                "github",
                Some("copilot"),
                Some("npm install -g @github/copilot"),
                version_range("1.0.0", "1.0.102"),
                |order| {
                    acp::start(
                        order,
                        acp::AcpAgentEntry { program: "copilot", args: &["--acp"], ..acp::AcpAgentEntry::default() },
                    )
                },
            ),
            &[
                ".copilot/config.json",
                ".copilot/*mcp*.json",
                ".copilot/hooks/**",
                ".copilot/agents/**",
                ".copilot/skills/**",
                ".github/hooks/**",
                ".github/copilot/**",
            ],
        ),
        copilot_endpoints,
    ),
    acp::with_endpoints(
        &acp::with_protected_paths(
            &acp::agent_entry(
                "auggie",
                "Auggie",
                "augment",
                Some("auggie"),
                Some("npm install -g @augmentcode/auggie"),
                version_range("0.36.0", "0.36.0"),
                |order| {
                    acp::start(
                        order,
                        acp::AcpAgentEntry {
                            program: "auggie",
                            args: &["--acp"],
                            state: &["augment"],
                            ..acp::AcpAgentEntry::default()
                        },
                    )
                },
            ),
            &[
                ".augment/settings*.json",
                ".augment/commands/**",
                ".augment/agents/**",
                ".augment/hooks/**",
                ".augment/skills/**",
                ".augment/plugins/**",
            ],
        ),
        augment_endpoints,
    ),
    acp::with_protected_paths(
        &acp::agent_entry(
            "pi",
            "pi (ACP adapter)",
            "pi",
            Some("pi-acp"),
            Some("npm install -g pi-acp @mariozechner/pi-coding-agent"),
            None,
            |order| {
                acp::start(
                    order,
                    acp::AcpAgentEntry { program: "pi-acp", state: &["pi"], ..acp::AcpAgentEntry::default() },
                )
            },
        ),
        &[
            ".pi/settings.json",
            ".pi/extensions/**",
            ".pi/prompts/**",
            ".pi/skills/**",
            ".pi/agent/settings.json",
            ".pi/agent/extensions/**",
            ".pi/agent/skills/**",
        ],
    ),
    acp::AGENT,
    board::AGENT,
    echo::AGENT,
    script::AGENT,
];

/// The logs that agents leave on disk, in display order.
pub const LOGS: &[AgentLogs] = &[claude::LOGS, codex::LOGS, gemini::LOGS, opencode::LOGS];

/// The versions of a program that supports `--version`.
const fn version_range(oldest: &'static str, tested: &'static str) -> Option<Versions> {
    Some(Versions { args: &["--version"], oldest, tested })
}

/// Finds a runnable agent by its name.
#[must_use]
pub fn find_agent(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// Returns the names of all agents, each once.
#[must_use]
pub fn agent_names() -> Vec<&'static str> {
    let mut names: Vec<_> = SOURCES.iter().copied().flatten().map(|source| source.agent).collect();
    names.dedup();
    names
}

/// Finds a source by its name.
#[must_use]
pub fn find_source(name: &str) -> Option<&'static RecordSource> {
    SOURCES.iter().copied().flatten().find(|source| source.name == name)
}

/// Qwen Code stores its sessions in `projects`.
fn qwen_state(host: &dyn HostAccess) -> crate::StateDirectory {
    let path = host.home_dir().join(".qwen");
    crate::StateDirectory { path, kept_directories: &["projects"], kept_files: &["oauth_creds.json"] }
}

fn qwen_endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let hosts = ["dashscope.aliyuncs.com", "dashscope-intl.aliyuncs.com", "portal.qwen.ai", "chat.qwen.ai"];
    let configured = AgentEndpoint::from_env(host, &["OPENAI_BASE_URL", "DASHSCOPE_BASE_URL"]);
    hosts.iter().map(|name| AgentEndpoint::public_https(name)).chain(configured).collect()
}

fn copilot_endpoints(_: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let accounts = ["individual", "business", "enterprise"].map(|plan| format!("api.{plan}.githubcopilot.com"));
    let hosts = ["api.githubcopilot.com", "api.github.com", "github.com"].map(str::to_owned);
    hosts.iter().chain(&accounts).map(|name| AgentEndpoint::public_https(name)).collect()
}

/// Each tenant of Augment has its own host.
fn augment_endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let hosts = ["*.api.augmentcode.com", "auth.augmentcode.com"].map(AgentEndpoint::public_https);
    hosts.into_iter().chain(AgentEndpoint::from_env(host, &["AUGMENT_API_URL"])).collect()
}
