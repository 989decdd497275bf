//! JSON-RPC requests without a response. Client and agent both count their ids from 0, so each side is tracked
//! separately.

use std::collections::VecDeque;

use crate::{JsonView, bounded::push_bounded};

/// Maximum number of pending requests. An agent that never answers must not consume memory without bound.
const REMEMBERED: usize = 256;

/// The id of a request as written: `1` and `"1"` are different ids.
pub type Key = String;

pub fn key(id: Option<JsonView<'_>>) -> Option<Key> {
    id.map(|id| id.raw_text().to_owned())
}

/// The pending requests of one side.
pub struct Ledger<T> {
    entries: VecDeque<(Key, T)>,
}

impl<T> Default for Ledger<T> {
    fn default() -> Self {
        Self { entries: VecDeque::new() }
    }
}

impl<T> Ledger<T> {
    pub fn asked(&mut self, key: Key, what: T) {
        push_bounded(&mut self.entries, (key, what), REMEMBERED);
    }

    pub fn answered(&mut self, key: &str) -> Option<T> {
        let index = self.entries.iter().position(|(known, _)| known == key)?;
        self.entries.remove(index).map(|(_, what)| what)
    }

    pub fn get(&self, key: &str) -> Option<&T> {
        self.entries.iter().find(|(known, _)| known == key).map(|(_, what)| what)
    }
}

#[cfg(test)]
mod tests {

    use super::{Ledger, REMEMBERED};

    #[test]
    fn an_answer_is_taken_once_and_the_oldest_is_forgotten() {
        let mut ledger = Ledger::default();
        for id in 0..=REMEMBERED {
            ledger.asked(id.to_string(), id);
        }
        assert_eq!(ledger.answered("0"), None);
        assert_eq!(ledger.answered("1"), Some(1));
        assert_eq!(ledger.answered("1"), None);
        assert_eq!(ledger.answered("\"2\""), None);
    }
}
