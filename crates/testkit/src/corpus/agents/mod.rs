//! The shapes of each agent's logs, one folder or file each; with `clis`, the only places of the test kit that name
//! agents.

pub mod claude;
pub mod codex;
pub mod gemini;
pub mod opencode;

use super::files::Corpus;

/// How an agent's part of a corpus is written.
pub struct Agent {
    /// The agent.
    pub name: &'static str,
    /// Its share of the bytes and of the files, in percent.
    pub percent: u64,
    /// How many sessions there must be so that every case is among them.
    pub cases: usize,
    /// Writes so many bytes in so many sessions.
    pub write: fn(&mut Corpus, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()>,
}

/// All of them.
pub const AGENTS: &[Agent] = &[claude::AGENT, codex::AGENT, gemini::AGENT, opencode::AGENT];
