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
pub mod files;
pub mod plan;

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::Context as _;
use files::{CorpusWriter, ZipfVocabulary};
use plan::{TIME_ZONES, format_day};
use serde::{Deserialize, Serialize};

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

/// Tokens, and the number of replies they belong to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct CorpusTokens {
    /// Without cached tokens.
    pub input: u64,
    /// Includes reasoning.
    pub output: u64,
    pub cache_read: u64,
    /// Written to the cache, for any duration.
    pub cache_write: u64,
    /// The part written for an hour.
    pub cache_write_1h: u64,
    /// The part of the output that is reasoning.
    pub reasoning: u64,
    pub replies: u64,
}

impl CorpusTokens {
    #[must_use]
    pub fn total_tokens(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl std::ops::AddAssign for CorpusTokens {
    fn add_assign(&mut self, more: Self) {
        self.input += more.input;
        self.output += more.output;
        self.cache_read += more.cache_read;
        self.cache_write += more.cache_write;
        self.cache_write_1h += more.cache_write_1h;
        self.reasoning += more.reasoning;
        self.replies += more.replies;
    }
}

/// A planned reply.
#[derive(Clone, Copy, Debug)]
struct TrueReply<'a> {
    /// In milliseconds since 1970.
    pub at: i64,
    pub agent: &'a str,
    /// The session; for a subagent, its parent's.
    pub session: &'a str,
    /// The working directory.
    pub project: &'a str,
    pub model: &'a str,
    pub tokens: CorpusTokens,
}

/// A word that occurs in few places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RareWord {
    pub word: String,
    pub agent: String,
    /// The session it occurs in.
    pub session: String,
}

/// The line that an agent would write next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NextLogLine {
    /// The log's path relative to the home directory.
    pub path: String,
    pub session: String,
    /// The line, including its end.
    pub line: String,
    pub tokens: CorpusTokens,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusTruth {
    pub seed: u64,
    pub bytes: u64,
    pub files: u64,
    pub all: CorpusTokens,
    pub agents: BTreeMap<String, CorpusTokens>,
    /// By time zone, then by day.
    pub days: BTreeMap<String, BTreeMap<String, CorpusTokens>>,
    pub models: BTreeMap<String, CorpusTokens>,
    /// By directory.
    pub projects: BTreeMap<String, CorpusTokens>,
    pub sessions: BTreeMap<String, CorpusTokens>,
    /// By agent, then by day in UTC.
    pub agent_days: BTreeMap<String, BTreeMap<String, CorpusTokens>>,
    /// Words that occur once each.
    pub rare: Vec<RareWord>,
    pub common: String,
    /// Forks and their originals. Both have the same replies at the same times, and nothing tells which had them first,
    /// so only their sum is certain.
    pub forks: BTreeMap<String, String>,
    /// The next line; not part of the other figures.
    pub growth: Option<NextLogLine>,
}

impl CorpusTruth {
    /// Adds up each session with its forks. Unknown sessions are returned unchanged.
    #[must_use]
    pub fn sum_fork_families(&self, sessions: &BTreeMap<String, CorpusTokens>) -> BTreeMap<String, CorpusTokens> {
        let mut families: BTreeMap<String, CorpusTokens> = BTreeMap::new();
        for (session, tokens) in sessions {
            *families.entry(self.forks.get(session).unwrap_or(session).clone()).or_default() += *tokens;
        }
        families
    }

    fn record_reply(&mut self, reply: &TrueReply<'_>) {
        self.all += reply.tokens;
        let add = |into: &mut BTreeMap<String, CorpusTokens>, key: &str| {
            *into.entry(key.to_owned()).or_default() += reply.tokens
        };
        add(&mut self.agents, reply.agent);
        add(&mut self.models, reply.model);
        add(&mut self.projects, reply.project);
        add(&mut self.sessions, reply.session);
        for zone in TIME_ZONES {
            add(self.days.entry((*zone).to_owned()).or_default(), &format_day(zone, reply.at));
        }
        add(self.agent_days.entry(reply.agent.to_owned()).or_default(), &format_day("UTC", reply.at));
    }
}
