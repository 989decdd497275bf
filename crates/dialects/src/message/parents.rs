//! Maps tool calls to the messages that announced them: all open calls and the latest ended ones, since a subagent may
//! continue in the background. Memory is bounded.

use std::collections::{BTreeMap, VecDeque};

use serde::{Deserialize, Serialize};
use switchboard_event::Id;

/// Maximum number of remembered ended calls.
const MAX_ENDED_CALLS: usize = 256;

/// The messages of tool calls by item.
#[derive(Clone, Default, Serialize, Deserialize)]
pub struct ParentMessages {
    open: BTreeMap<Id, String>,
    /// Oldest first.
    ended: VecDeque<(Id, String)>,
}

impl ParentMessages {
    /// Records the message that announced a call.
    pub fn insert(&mut self, item: &Id, message: String) {
        self.ended.retain(|(ended, _)| ended != item);
        self.open.insert(item.clone(), message);
    }

    /// Marks a call as ended.
    pub fn end_call(&mut self, item: &str) {
        self.ended.extend(self.open.remove_entry(item));
        if self.ended.len() > MAX_ENDED_CALLS {
            self.ended.pop_front();
        }
    }

    /// Returns the message that announced the call of an item.
    pub fn message_of(&self, item: &str) -> Option<&str> {
        let ended = || self.ended.iter().rev().find(|(ended, _)| *ended == *item).map(|(_, message)| message);
        self.open.get(item).or_else(ended).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, MAX_ENDED_CALLS, ParentMessages};

    #[test]
    fn open_calls_and_the_latest_are_remembered() {
        let mut parents = ParentMessages::default();
        parents.insert(&Id::from("open"), "m".to_owned());
        for number in 0..2 * MAX_ENDED_CALLS {
            parents.insert(&Id::from(number.to_string()), format!("m{number}"));
            parents.end_call(&number.to_string());
        }
        assert_eq!((parents.open.len(), parents.ended.len()), (1, MAX_ENDED_CALLS));
        assert_eq!(parents.message_of("open"), Some("m"));
        assert_eq!(parents.message_of("0"), None);
        assert_eq!(
            parents.message_of(&(2 * MAX_ENDED_CALLS - 1).to_string()),
            Some(&*format!("m{}", 2 * MAX_ENDED_CALLS - 1))
        );
    }

    #[test]
    fn an_id_that_comes_again_is_the_new_call() {
        let (mut parents, id) = (ParentMessages::default(), Id::from("call"));
        for message in ["first", "second"] {
            parents.insert(&id, message.to_owned());
            parents.end_call(&id);
            assert_eq!(parents.message_of(&id), Some(message));
        }
        assert_eq!(parents.ended.len(), 1);
    }
}
