//! Item ids that are unique in a session: some agents reuse an id for the next item, some have none.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt as _};
use switchboard_event::Id;

/// The maximum number of remembered ids. An agent that repeats one does so soon.
const MAX_REMEMBERED_IDS: usize = 4096;

/// The ids of items so far.
pub struct ItemIds {
    used: HashMap<Id, u32>,
    order: VecDeque<Id>,
    nameless: Id,
}

impl ItemIds {
    pub fn new(run: u32) -> Self {
        Self { used: HashMap::new(), order: VecDeque::new(), nameless: Id::from(format!("r{run}.nameless")) }
    }

    /// Returns the id for a new item, given the agent's.
    pub fn next_id(&mut self, agents: &Id) -> Id {
        match self.used.get_mut(&**agents) {
            Some(times) => *times = times.saturating_add(1),
            None => self.remember_id(agents),
        }
        self.current_id(agents)
    }

    fn remember_id(&mut self, agents: &Id) {
        if self.order.len() == MAX_REMEMBERED_IDS
            && let Some(oldest) = self.order.pop_front()
        {
            self.used.remove(&*oldest);
        }
        self.used.insert(agents.clone(), 1);
        self.order.push_back(agents.clone());
    }

    /// Returns the id of the latest item with this agent id.
    pub fn current_id(&self, agents: &Id) -> Id {
        let name = if agents.is_empty() { &self.nameless } else { agents };
        match self.used.get(&**agents) {
            Some(times) if *times > 1 => Id::from(format!("{name}~{times}")),
            _ => name.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use switchboard_event::Id;

    use super::ItemIds;

    #[test]
    fn an_id_is_given_once() {
        let mut names = ItemIds::new(2);
        let mut fresh = |id: &str| names.next_id(&Id::from(id)).to_string();
        assert_eq!(fresh("a"), "a");
        assert_eq!(fresh("a"), "a~2");
        assert_eq!(fresh("b"), "b");
        assert_eq!(fresh(""), "r2.nameless");
        assert_eq!(fresh(""), "r2.nameless~2");
        assert_eq!(names.current_id(&Id::from("a")), "a~2");
        assert_eq!(names.current_id(&Id::from("never seen")), "never seen");
    }
}
