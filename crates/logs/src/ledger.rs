//! Token usage per reply, each reply counted once. Names are interned, since there are many replies and few names.

use switchboard_event::Timestamp;

/// Index of a name in a [`UsageLedger`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct LedgerName(pub u32);

/// The selected replies, in no particular order.
#[derive(Clone, Debug, Default)]
pub struct UsageLedger {
    /// The first name is empty and stands for unknown values.
    pub names: Vec<String>,
    pub entries: Vec<LedgerEntry>,
    /// Lists of tools, with one name per call; the first is empty.
    pub tools: Vec<Vec<LedgerName>>,
}

/// A model reply.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LedgerEntry {
    pub at: Timestamp,
    pub agent: LedgerName,
    /// Empty for this machine.
    pub machine: LedgerName,
    /// For a subagent, its parent session.
    pub session: LedgerName,
    pub subagent: LedgerName,
    /// The working directory.
    pub project: LedgerName,
    pub model: LedgerName,
    /// Index into the lists of tools.
    pub tools: u32,
    /// Excludes cached tokens.
    pub input: u64,
    /// Includes reasoning tokens.
    pub output: u64,
    /// Tokens read from the cache.
    pub cache_read: u64,
    /// Tokens written to the cache with the short lifetime.
    pub cache_write: u64,
    /// Tokens written to the cache for an hour.
    pub cache_write_1h: u64,
    /// Part of `output`.
    pub reasoning: u64,
    /// The cost as reported by the agent.
    pub cost_usd: Option<f64>,
}

impl UsageLedger {
    /// Returns the text of a name.
    #[must_use]
    pub fn resolve_name(&self, name: LedgerName) -> &str {
        self.names.get(name.0 as usize).map_or("", String::as_str)
    }
}

/// A map with names as keys.
pub(crate) struct LedgerNameMap<T>(Vec<Option<T>>);

impl<T> Default for LedgerNameMap<T> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<T> LedgerNameMap<T> {
    /// Returns the value of a name, inserting it if necessary.
    pub(crate) fn or_insert_with(&mut self, name: LedgerName, make: impl FnOnce() -> T) -> &mut T {
        let place = name.0 as usize;
        if place >= self.0.len() {
            self.0.resize_with(place + 1, || None);
        }
        self.0[place].get_or_insert_with(make)
    }
}
