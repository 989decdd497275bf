//! Names the model's replies for agents that do not: what the model says and calls is one reply until a tool has
//! answered. Whoever counts replies counts these.

use switchboard_event::Id;

use crate::Scribe;

/// The replies of a conversation.
#[derive(Default)]
pub struct Replies {
    current: Option<Id>,
    /// A tool has answered since: what the model says next is another reply.
    acted: bool,
    count: u64,
}

impl Replies {
    /// The model says something or calls a tool: the reply that it belongs to.
    pub fn next(&mut self, scribe: &Scribe) -> Id {
        if self.acted {
            self.over();
        }
        self.same(scribe)
    }

    /// The model calls another tool in the same reply, whatever the others have answered.
    pub fn same(&mut self, scribe: &Scribe) -> Id {
        self.acted = false;
        let (current, count) = (&mut self.current, &mut self.count);
        let begin = || {
            *count += 1;
            scribe.local_id(&format!("reply_{count}"))
        };
        current.get_or_insert_with(begin).clone()
    }

    /// The agent has a name for the reply after all.
    pub fn named(&mut self, name: Id) {
        (self.current, self.acted) = (Some(name), false);
    }

    /// A tool has answered.
    pub fn acted(&mut self) {
        self.acted = true;
    }

    /// The turn is over, or begins.
    pub fn over(&mut self) {
        (self.current, self.acted) = (None, false);
    }
}
