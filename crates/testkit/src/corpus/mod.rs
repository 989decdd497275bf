//! Logs of any size with a known truth: what several agents would have left in a user's home after some weeks of work.
//! Everything is planned first; the plan is the truth, and the files are written from it in the shapes that the agents
//! use, with all that makes counting hard: replies in several records, retries, forks, copies, subagents, totals that
//! start anew. The same seed writes the same corpus.
//!
//! ```text
//! Planner ─ Plan (turns, replies, tokens) ─► Truth
//!                  └─ agents/NAME ─► files below a home
//! ```

pub mod agents;
pub mod calendar;
pub mod files;
pub mod hostile;
pub mod plan;
pub mod truth;
pub mod words;

use std::{fs, path::Path};

use anyhow::Context as _;

pub use truth::{Growth, Needle, Tokens, Truth};

use self::{files::Corpus, words::Words};

/// What corpus is wanted.
#[derive(Clone, Copy, Debug)]
pub struct Wanted {
    /// Chance; the same seed writes the same corpus.
    pub seed: u64,
    /// About how many bytes.
    pub bytes: u64,
    /// About how many files.
    pub files: usize,
    /// How many different words.
    pub words: usize,
}

impl Wanted {
    /// A small one that still has every case in it.
    #[must_use]
    pub fn small(seed: u64) -> Self {
        Self { seed, bytes: 3_000_000, files: 100, words: 20_000 }
    }
}

/// Writes a corpus: the home below `folder`, and its truth beside it.
pub fn write(folder: &Path, wanted: &Wanted) -> anyhow::Result<Truth> {
    let mut corpus = Corpus::new(&folder.join("home"), Words::new(wanted.words), wanted.seed)?;
    for agent in agents::AGENTS {
        let share = |of: u64| of * agent.percent / 100;
        let files = usize::try_from(share(wanted.files as u64))?.max(agent.cases);
        (agent.write)(&mut corpus, wanted.seed, share(wanted.bytes), files).with_context(|| agent.name)?;
    }
    let truth = corpus.truth;
    fs::write(folder.join("truth.json"), serde_json::to_vec_pretty(&truth)?)?;
    Ok(truth)
}
