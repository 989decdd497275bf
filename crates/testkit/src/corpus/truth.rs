//! What a corpus truly holds: every reply of a model once, as it was planned. Nothing here is read from what was
//! written.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::calendar::{ZONES, day};

/// Tokens, and how many replies they are of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Tokens {
    /// In, without those of the cache.
    pub input: u64,
    /// Out, with those of reasoning.
    pub output: u64,
    /// Read from the cache.
    pub cache_read: u64,
    /// Written to the cache, for however long.
    pub cache_write: u64,
    /// Of these, written for an hour.
    pub cache_write_1h: u64,
    /// Of reasoning, part of those out.
    pub reasoning: u64,
    /// Replies.
    pub replies: u64,
}

impl Tokens {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.input + self.output + self.cache_read + self.cache_write
    }
}

impl std::ops::AddAssign for Tokens {
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

/// A reply of a model, as it was planned.
#[derive(Clone, Copy, Debug)]
pub struct Told<'a> {
    /// When, in milliseconds since 1970.
    pub at: i64,
    /// The agent.
    pub agent: &'a str,
    /// The session; of a subagent, the one that it worked for.
    pub session: &'a str,
    /// The folder that was worked in.
    pub project: &'a str,
    /// The model.
    pub model: &'a str,
    /// What was used.
    pub tokens: Tokens,
}

/// A word that is in few places.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Needle {
    /// The word.
    pub word: String,
    /// The agent.
    pub agent: String,
    /// The session that it was said in.
    pub session: String,
}

/// A line that an agent would write next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Growth {
    /// The log, by its path from the home on.
    pub path: String,
    /// The session.
    pub session: String,
    /// The line, with its end.
    pub line: String,
    /// What the reply in it used.
    pub tokens: Tokens,
}

/// Everything that is known about a corpus.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Truth {
    /// Chance.
    pub seed: u64,
    /// How many bytes were written.
    pub bytes: u64,
    /// How many files.
    pub files: u64,
    /// All of it.
    pub all: Tokens,
    /// By agent.
    pub agents: BTreeMap<String, Tokens>,
    /// By time zone, and there by day.
    pub days: BTreeMap<String, BTreeMap<String, Tokens>>,
    /// By model.
    pub models: BTreeMap<String, Tokens>,
    /// By folder.
    pub projects: BTreeMap<String, Tokens>,
    /// By session.
    pub sessions: BTreeMap<String, Tokens>,
    /// By agent, and there by day at Greenwich.
    pub agent_days: BTreeMap<String, BTreeMap<String, Tokens>>,
    /// Words that each were said once.
    pub rare: Vec<Needle>,
    /// The most frequent word.
    pub common: String,
    /// What comes next; no part of the rest.
    pub growth: Option<Growth>,
}

impl Truth {
    /// One more reply.
    pub fn tell(&mut self, told: &Told<'_>) {
        self.all += told.tokens;
        let add =
            |into: &mut BTreeMap<String, Tokens>, key: &str| *into.entry(key.to_owned()).or_default() += told.tokens;
        add(&mut self.agents, told.agent);
        add(&mut self.models, told.model);
        add(&mut self.projects, told.project);
        add(&mut self.sessions, told.session);
        for zone in ZONES {
            add(self.days.entry((*zone).to_owned()).or_default(), &day(zone, told.at));
        }
        add(self.agent_days.entry(told.agent.to_owned()).or_default(), &day("UTC", told.at));
    }
}
