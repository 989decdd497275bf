//! Generated logs of any size with known totals, as several agents would leave them in a home directory after weeks of
//! work. Everything is planned first; the plan is the truth, and the files are written from it in the agents' formats,
//! with everything that makes counting hard: replies in several records, retries, forks, copies, subagents, totals that
//! restart. The same seed writes the same corpus.
//!
//! ```text
//! Planner ─ Plan (turns, replies, tokens) ─► Truth
//!                  └─ agents/NAME ─► files in a home directory
//! ```

pub mod agents;
pub mod calendar;
pub mod files;
pub mod plan;
pub mod truth;
pub mod words;

use std::{fs, path::Path};

use anyhow::Context as _;

pub use truth::{CorpusTokens, CorpusTruth, NextLogLine, RareWord};

use self::{files::CorpusWriter, words::ZipfVocabulary};

#[derive(Clone, Copy, Debug)]
pub struct CorpusOptions {
    /// The same seed writes the same corpus.
    pub seed: u64,
    /// Approximate.
    pub bytes: u64,
    /// Approximate.
    pub files: usize,
    pub words: usize,
}

impl CorpusOptions {
    /// A small corpus that still covers every case.
    #[must_use]
    pub fn small(seed: u64) -> Self {
        Self { seed, bytes: 500_000, files: 50, words: 20_000 }
    }
}

/// Writes a corpus: `home` and `truth.json` in a directory.
pub fn write_corpus(folder: &Path, wanted: &CorpusOptions) -> anyhow::Result<CorpusTruth> {
    let mut corpus = CorpusWriter::new(&folder.join("home"), ZipfVocabulary::new(wanted.words), wanted.seed)?;
    for agent in agents::CORPUS_AGENTS {
        let share = |of: u64| of * agent.percent / 100;
        let files = usize::try_from(share(wanted.files as u64))?.max(agent.cases);
        (agent.write)(&mut corpus, wanted.seed, share(wanted.bytes), files).with_context(|| agent.name)?;
    }
    let truth = corpus.truth;
    fs::write(folder.join("truth.json"), serde_json::to_vec_pretty(&truth)?)?;
    Ok(truth)
}
