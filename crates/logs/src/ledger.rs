//! What was used, reply by reply, each counted once wherever it lies. Names are numbers, since there are many replies
//! and few names.

use switchboard_event::Timestamp;

/// A name in a [`Ledger`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(pub u32);

/// All replies that were asked for, in no order.
#[derive(Clone, Debug, Default)]
pub struct Ledger {
    /// The names; the first is the empty one, which stands for what is not known.
    pub names: Vec<String>,
    /// The replies.
    pub entries: Vec<Entry>,
    /// Lists of tools, each a list of names with one for each call; the first is empty.
    pub tools: Vec<Vec<Name>>,
}

/// One reply of a model.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Entry {
    /// When.
    pub at: Timestamp,
    /// The agent.
    pub agent: Name,
    /// The machine; empty for this one.
    pub machine: Name,
    /// The session; of a subagent, the session that it worked for.
    pub session: Name,
    /// The subagent, if it was one.
    pub subagent: Name,
    /// The folder that was worked in.
    pub project: Name,
    /// The model.
    pub model: Name,
    /// Which list of tools it called.
    pub tools: u32,
    /// Tokens in, without those of the cache.
    pub input: u64,
    /// Tokens out, with those of reasoning.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache for a short time.
    pub cache_write: u64,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Tokens of reasoning, part of those out.
    pub reasoning: u64,
    /// What it cost, if the agent says so.
    pub cost_usd: Option<f64>,
}

impl Ledger {
    /// What a name stands for.
    #[must_use]
    pub fn name(&self, name: Name) -> &str {
        self.names.get(name.0 as usize).map_or("", String::as_str)
    }
}

/// Something for each name.
pub(crate) struct ByName<T>(Vec<Option<T>>);

impl<T> Default for ByName<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> ByName<T> {
    /// What there is for a name, made if there is nothing yet.
    pub(crate) fn or_insert_with(&mut self, name: Name, make: impl FnOnce() -> T) -> &mut T {
        let place = name.0 as usize;
        if place >= self.0.len() {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_with(make)
    }
}
