//! Which message carried which tool call. Of the latest calls only, so that memory stays flat.

use std::collections::{HashMap, VecDeque};

use switchboard_event::Id;

/// How many calls are remembered.
const ROOM: usize = 4096;

/// The messages of tool calls, by item.
#[derive(Clone, Default)]
pub struct Parents {
    messages: HashMap<Id, String>,
    order: VecDeque<Id>,
}

impl Parents {
    /// Takes note of the message that carries a call.
    pub fn note(&mut self, item: &Id, message: String) {
        if self.messages.insert(item.clone(), message).is_some() {
            return;
        }
        self.order.push_back(item.clone());
        if self.order.len() > ROOM
            && let Some(oldest) = self.order.pop_front()
        {
            self.messages.remove(&oldest);
        }
    }

    /// The message that carried the call of an item.
    pub fn of(&self, item: &str) -> Option<&str> {
        self.messages.get(item).map(String::as_str)
    }
}

#[cfg(test)]
mod tests {
    use super::{Id, Parents, ROOM};

    #[test]
    fn the_latest_calls_are_remembered() {
        let mut parents = Parents::default();
        for number in 0..2 * ROOM {
            parents.note(&Id::from(number.to_string()), format!("m{number}"));
        }
        assert_eq!((parents.messages.len(), parents.order.len()), (ROOM, ROOM));
        assert_eq!(parents.of("0"), None);
        assert_eq!(parents.of(&(2 * ROOM - 1).to_string()), Some(&*format!("m{}", 2 * ROOM - 1)));
    }
}
