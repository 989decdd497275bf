//! Ids of items, unique in a session whatever the agent does: some use an id again for the next item, some have none.

use std::collections::VecDeque;

use foldhash::{HashMap, HashMapExt as _};
use switchboard_event::Id;

/// How many ids are remembered. An agent that repeats one does so soon.
const REMEMBERED: usize = 4096;

/// The ids that items had.
pub struct Names {
    used: HashMap<Id, u32>,
    order: VecDeque<Id>,
    nameless: Id,
}

impl Names {
    pub fn new(run: u32) -> Self {
        Self { used: HashMap::new(), order: VecDeque::new(), nameless: Id::from(format!("r{run}.nameless")) }
    }

    /// The id for an item that begins, given the agent's.
    pub fn fresh(&mut self, agents: &Id) -> Id {
        match self.used.get_mut(&**agents) {
            Some(times) => *times = times.saturating_add(1),
            None => self.remember(agents),
        }
        self.current(agents)
    }

    fn remember(&mut self, agents: &Id) {
        if self.order.len() == REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.used.remove(&*oldest);
        }
        self.used.insert(agents.clone(), 1);
        self.order.push_back(agents.clone());
    }

    /// The id of the latest item that the agent gave this id.
    pub fn current(&self, agents: &Id) -> Id {
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

    use super::Names;

    #[test]
    fn an_id_is_given_once() {
        let mut names = Names::new(2);
        let mut fresh = |id: &str| names.fresh(&Id::from(id)).to_string();
        assert_eq!(fresh("a"), "a");
        assert_eq!(fresh("a"), "a~2");
        assert_eq!(fresh("b"), "b");
        assert_eq!(fresh(""), "r2.nameless");
        assert_eq!(fresh(""), "r2.nameless~2");
        assert_eq!(names.current(&Id::from("a")), "a~2");
        assert_eq!(names.current(&Id::from("never seen")), "never seen");
    }
}
