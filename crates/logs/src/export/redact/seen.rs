//! Hashes of texts that were found to contain no secrets: most exported texts occur twice.

use std::collections::HashSet;

use parking_lot::Mutex;

/// The cache is cleared when it reaches this size.
const MAX_CACHED_TEXTS: usize = 1 << 16;

#[derive(Default)]
pub struct CleanTextCache(Mutex<HashSet<u128, foldhash::fast::FixedState>>);

impl CleanTextCache {
    /// Returns whether the text is known to be clean.
    pub fn contains(&self, text: u128) -> bool {
        self.0.lock().contains(&text)
    }

    pub fn insert(&self, text: u128) {
        let mut seen = self.0.lock();
        if seen.len() >= MAX_CACHED_TEXTS {
            seen.clear();
        }
        seen.insert(text);
    }
}
