//! Which message carried which tool call: of all calls under way, and of the latest that ended, since a subagent may
//! go on in the background. Not of all, so that memory stays flat.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use switchboard_event::Id;

/// How many calls that ended are remembered.
const ENDED: usize = 256;

/// The messages of tool calls, by item.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct Parents {
    open: BTreeMap<Id, String>,
    /// The latest last.
    ended: VecDeque<(Id, String)>,
}

impl Parents {
    /// Takes note of the message that carries a call.
    pub fn note(&mut self, item: &Id, message: String) {
        self.ended.retain(|(ended, _)| ended != item);
        self.open.insert(item.clone(), message);
    }

    /// The call ended.
    pub fn end(&mut self, item: &str) {
        self.ended.extend(self.open.remove_entry(item));
        if self.ended.len() > ENDED {
            self.ended.pop_front();
        }
    }

    /// The message that carried the call of an item.
    pub fn of(&self, item: &str) -> Option<&str> {
        let ended = || self.ended.iter().rev().find(|(ended, _)| *ended == *item).map(|(_, message)| message);
        self.open.get(item).or_else(ended).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{ENDED, Id, Parents};

    #[test]
    fn open_calls_and_the_latest_are_remembered() {
        let mut parents = Parents::default();
        parents.note(&Id::from("open"), "m".to_owned());
        for number in 0..2 * ENDED {
            parents.note(&Id::from(number.to_string()), format!("m{number}"));
            parents.end(&number.to_string());
        }
        assert_eq!((parents.open.len(), parents.ended.len()), (1, ENDED));
        assert_eq!(parents.of("open"), Some("m"));
        assert_eq!(parents.of("0"), None);
        assert_eq!(parents.of(&(2 * ENDED - 1).to_string()), Some(&*format!("m{}", 2 * ENDED - 1)));
    }

    #[test]
    fn an_id_that_comes_again_is_the_new_call() {
        let (mut parents, id) = (Parents::default(), Id::from("call"));
        for message in ["first", "second"] {
            parents.note(&id, message.to_owned());
            parents.end(&id);
            assert_eq!(parents.of(&id), Some(message));
        }
        assert_eq!(parents.ended.len(), 1);
    }
}
