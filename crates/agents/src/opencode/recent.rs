//! A bounded map of recently seen ids. It evicts its oldest entry, so that memory does not grow with the stream.

use std::collections::{HashMap, VecDeque};

use switchboard_event::Id;

/// Maximum number of entries. OpenCode never refers to anything older than a few hundred parts.
const LIMIT: usize = 512;

/// A map by id that evicts its oldest entries.
pub struct Recent<V> {
    order: VecDeque<Id>,
    entries: HashMap<Id, V>,
}

impl<V> Default for Recent<V> {
    fn default() -> Self {
        Self { order: VecDeque::new(), entries: HashMap::new() }
    }
}

impl<V> Recent<V> {
    /// Inserts a value, replacing an earlier value of the same id.
    pub fn insert(&mut self, id: Id, value: V) {
        if self.entries.insert(id.clone(), value).is_some() {
            return;
        }
        self.order.push_back(id);
        if self.order.len() > LIMIT
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
    }

    pub fn get(&self, id: &str) -> Option<&V> {
        self.entries.get(id)
    }

    pub fn get_mut(&mut self, id: &str) -> Option<&mut V> {
        self.entries.get_mut(id)
    }

    pub fn has(&self, id: &str) -> bool {
        self.entries.contains_key(id)
    }

    pub fn first(&self) -> Option<&Id> {
        self.order.front()
    }
}

#[cfg(test)]
mod tests {
    use super::{LIMIT, Recent};

    #[test]
    fn the_oldest_is_forgotten() {
        let mut recent = Recent::default();
        for number in 0..=LIMIT {
            recent.insert(number.to_string().into(), number);
            recent.insert(number.to_string().into(), number + 1);
        }
        assert!(!recent.has("0") && recent.has("1"));
        assert_eq!(recent.get(&LIMIT.to_string()), Some(&(LIMIT + 1)));
        assert_eq!(recent.first().map(|id| id.as_str()), Some("1"));
    }
}
