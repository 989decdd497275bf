//! Collections that evict their oldest entries, so that memory does not grow with the stream.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt as _};
use switchboard_event::Id;

/// Appends an entry, evicting the oldest one if the list is full.
pub fn push_bounded<T>(list: &mut VecDeque<T>, entry: T, max_len: usize) {
    if list.len() >= max_len {
        list.pop_front();
    }
    list.push_back(entry);
}

/// A map by id that evicts its oldest entries.
pub struct BoundedMap<V, const MAX: usize = 512> {
    order: VecDeque<Id>,
    entries: HashMap<Id, V>,
}

impl<V, const MAX: usize> Default for BoundedMap<V, MAX> {
    fn default() -> Self {
        Self { order: VecDeque::new(), entries: HashMap::new() }
    }
}

impl<V, const MAX: usize> BoundedMap<V, MAX> {
    /// Inserts or replaces a value. Returns whether the id is new.
    pub fn insert(&mut self, id: Id, value: V) -> bool {
        if self.entries.insert(id.clone(), value).is_some() {
            return false;
        }
        self.order.push_back(id);
        if self.order.len() > MAX
            && let Some(oldest) = self.order.pop_front()
        {
            self.entries.remove(&oldest);
        }
        true
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

    use super::BoundedMap;

    #[test]
    fn the_oldest_is_forgotten() {
        let mut recent = BoundedMap::<_, 3>::default();
        for number in 0..=3 {
            recent.insert(number.to_string().into(), number);
            recent.insert(number.to_string().into(), number + 1);
        }
        assert!(!recent.has("0") && recent.has("1"));
        assert_eq!(recent.get("3"), Some(&4));
        assert_eq!(recent.first().map(|id| id.as_str()), Some("1"));
    }
}
