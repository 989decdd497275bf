//! Texts that were looked through and have no secrets in them, by their hashes: most of what is exported is there twice.

use std::{
    collections::HashSet,
    sync::{Mutex, PoisonError},
};

/// So many are remembered at most; then all are forgotten.
const MOST: usize = 1 << 16;

/// Texts without secrets.
#[derive(Default)]
pub struct Seen(Mutex<HashSet<u128, foldhash::fast::FixedState>>);

impl Seen {
    /// The text was looked through.
    pub fn has(&self, text: u128) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).contains(&text)
    }

    /// Remembers one.
    pub fn add(&self, text: u128) {
        let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.len() >= MOST {
            seen.clear();
        }
        seen.insert(text);
    }
}
