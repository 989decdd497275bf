//! The truth about a corpus: every reply once, as planned. Nothing here is read from the written files.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::calendar::{TIME_ZONES, format_day};

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
pub struct TrueReply<'a> {
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

    pub fn record_reply(&mut self, told: &TrueReply<'_>) {
        self.all += told.tokens;
        let add = |into: &mut BTreeMap<String, CorpusTokens>, key: &str| {
            *into.entry(key.to_owned()).or_default() += told.tokens
        };
        add(&mut self.agents, told.agent);
        add(&mut self.models, told.model);
        add(&mut self.projects, told.project);
        add(&mut self.sessions, told.session);
        for zone in TIME_ZONES {
            add(self.days.entry((*zone).to_owned()).or_default(), &format_day(zone, told.at));
        }
        add(self.agent_days.entry(told.agent.to_owned()).or_default(), &format_day("UTC", told.at));
    }
}
