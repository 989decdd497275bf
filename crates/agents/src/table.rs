//! The agents and their sources: the only place that names them all. A new agent is one folder and one line here.

use crate::{Agent, Logs, Reader, Versions, acp, board, claude, codex, echo, gemini, opencode, script};

/// One kind of stream that can be read.
pub struct Source {
    /// Its name, as users type it.
    pub name: &'static str,
    /// The agent that speaks it.
    pub agent: &'static str,
    /// What it is, in a line.
    pub title: &'static str,
    /// The JSON Schema that older descriptions give for its records.
    pub schema: Option<&'static str>,
    /// Makes a reader for it.
    pub reader: fn() -> Box<dyn Reader>,
}

/// Every agent's sources, in the order in which they are shown.
pub const SOURCES: &[&[Source]] = &[
    claude::SOURCES,
    codex::SOURCES,
    gemini::SOURCES,
    opencode::SOURCES,
    acp::SOURCES,
    board::SOURCES,
    echo::SOURCES,
    script::SOURCES,
];

/// Every agent that can be run, in the order in which they are shown. Those that only speak ACP are rows: of each, the
/// handshake is recorded in its testdata.
pub const AGENTS: &[Agent] = &[
    claude::AGENT,
    codex::AGENT,
    gemini::AGENT,
    opencode::AGENT,
    acp::forking(&acp::row(
        "claude-acp",
        "Claude Agent (ACP adapter)",
        "anthropic",
        Some("claude-agent-acp"),
        Some("npm install -g @agentclientprotocol/claude-agent-acp"),
        None,
        |order| {
            let known_state = Some(claude::state as fn(&dyn crate::Host) -> crate::StateDirectory);
            acp::start(order, acp::Row { program: "claude-agent-acp", known_state, ..acp::Row::default() })
        },
    )),
    acp::forking(&acp::row(
        "codex-acp",
        "Codex (ACP adapter)",
        "openai",
        Some("codex-acp"),
        Some("npm install -g @agentclientprotocol/codex-acp"),
        versions("0.16.0", "2.6.0"),
        |order| {
            let known_state = Some(codex::state as fn(&dyn crate::Host) -> crate::StateDirectory);
            acp::start(order, acp::Row { program: "codex-acp", known_state, lingers: true, ..acp::Row::default() })
        },
    )),
    acp::with_protected_paths(
        &acp::row(
            "qwen",
            "Qwen Code",
            "qwen",
            Some("qwen"),
            Some("npm install -g @qwen-code/qwen-code"),
            versions("0.15.0", "0.15.10"),
            |order| {
                let known_state = Some(qwen_state as fn(&dyn crate::Host) -> crate::StateDirectory);
                let row =
                    acp::Row { program: "qwen", args: &["--acp"], known_state, lingers: true, ..acp::Row::default() };
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
    acp::with_protected_paths(
        &acp::row(
            "copilot",
            "GitHub Copilot CLI",
            "github",
            Some("copilot"),
            Some("npm install -g @github/copilot"),
            versions("1.0.0", "1.0.102"),
            |order| acp::start(order, acp::Row { program: "copilot", args: &["--acp"], ..acp::Row::default() }),
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
    acp::with_protected_paths(
        &acp::row(
            "auggie",
            "Auggie",
            "augment",
            Some("auggie"),
            Some("npm install -g @augmentcode/auggie"),
            versions("0.36.0", "0.36.0"),
            |order| {
                acp::start(
                    order,
                    acp::Row { program: "auggie", args: &["--acp"], state: &["augment"], ..acp::Row::default() },
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
    acp::with_protected_paths(
        &acp::row(
            "pi",
            "pi (ACP adapter)",
            "pi",
            Some("pi-acp"),
            Some("npm install -g pi-acp @mariozechner/pi-coding-agent"),
            None,
            |order| acp::start(order, acp::Row { program: "pi-acp", state: &["pi"], ..acp::Row::default() }),
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

/// What agents leave on disk, in the order in which they are shown.
pub const LOGS: &[Logs] = &[claude::LOGS, codex::LOGS, gemini::LOGS, opencode::LOGS];

/// Versions of a program that tells its own when asked in the usual way.
const fn versions(oldest: &'static str, tested: &'static str) -> Option<Versions> {
    Some(Versions { args: &["--version"], oldest, tested })
}

/// Finds an agent that can be run by its name.
#[must_use]
pub fn agent(name: &str) -> Option<&'static Agent> {
    AGENTS.iter().find(|agent| agent.name == name)
}

/// The names of all agents, each once.
#[must_use]
pub fn agents() -> Vec<&'static str> {
    let mut names: Vec<_> = SOURCES.iter().copied().flatten().map(|source| source.agent).collect();
    names.dedup();
    names
}

/// Finds a source by its name.
#[must_use]
pub fn source(name: &str) -> Option<&'static Source> {
    SOURCES.iter().copied().flatten().find(|source| source.name == name)
}

/// Qwen Code keeps its sessions in `projects`.
fn qwen_state(host: &dyn crate::Host) -> crate::StateDirectory {
    let path = host.home().join(".qwen");
    crate::StateDirectory { path, kept_directories: &["projects"], kept_files: &["oauth_creds.json"] }
}
