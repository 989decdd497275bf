//! The log formats of each agent; with `clis`, the only places of the test kit that name agents.

pub mod claude;
pub mod codex;
pub mod gemini;
pub mod opencode;

use super::files::CorpusWriter;

/// Writes an agent's part of a corpus.
pub struct CorpusAgent {
    pub name: &'static str,
    /// Share of the bytes and files, in percent.
    pub percent: u64,
    /// Minimum number of sessions that covers every case.
    pub cases: usize,
    pub write: fn(&mut CorpusWriter, seed: u64, bytes: u64, sessions: usize) -> anyhow::Result<()>,
}

pub const CORPUS_AGENTS: &[CorpusAgent] = &[claude::AGENT, codex::AGENT, gemini::AGENT, opencode::AGENT];
