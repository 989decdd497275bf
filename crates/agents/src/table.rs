//! The agents and their sources: the only place that names them all. A new agent is one folder and one line here.

use crate::{Agent, Reader, acp, board, claude, codex, echo, gemini, opencode, script};

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

/// Every agent that can be run, in the order in which they are shown.
pub const AGENTS: &[Agent] =
    &[claude::AGENT, codex::AGENT, gemini::AGENT, opencode::AGENT, acp::AGENT, echo::AGENT, script::AGENT];

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
