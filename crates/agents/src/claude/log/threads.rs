//! Whose records these are: the main conversation's, or a subagent's. Newer versions write a file for each subagent and
//! an `agentId` in every record; older ones put its records among the others, with no more than `isSidechain` and the
//! record that each follows.

use std::collections::VecDeque;

use switchboard_event::{Details, Id};

use crate::{Object, Scribe};

/// How many records and subagents are remembered: more than one that is at work has.
const REMEMBERED: usize = 4096;

/// A subagent's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct Thread {
    /// The subagent's id, or that of its first record.
    pub id: Id,
    /// The call that it works for, if it is known.
    pub call: Option<Id>,
}

/// The subagents of a log.
#[derive(Default)]
pub struct Threads {
    known: VecDeque<Thread>,
    /// Records of subagents without an id: each belongs to the subagent of the one it follows.
    records: VecDeque<(Id, Id)>,
}

impl Threads {
    /// The subagent that a record belongs to.
    pub fn of(&mut self, fields: &Object<'_>, scribe: &Scribe) -> Option<Thread> {
        if !fields.is_true("isSidechain") {
            return None;
        }
        let id = match fields.filled("agentId") {
            Some(id) => Id::from(id),
            None => self.follow(fields)?,
        };
        if let Some(known) = self.known.iter().find(|thread| thread.id == id) {
            return Some(known.clone());
        }
        let call = asked(fields, scribe);
        Some(self.learn(id, call))
    }

    /// A call told which subagent works for it.
    pub fn works_for(&mut self, agent: &str, call: &Id) -> Thread {
        match self.known.iter_mut().find(|thread| *thread.id == *agent) {
            Some(known) => {
                known.call.get_or_insert_with(|| call.clone());
                known.clone()
            }
            None => self.learn(Id::from(agent), Some(call.clone())),
        }
    }

    fn learn(&mut self, id: Id, call: Option<Id>) -> Thread {
        if self.known.len() == REMEMBERED {
            self.known.pop_front();
        }
        let thread = Thread { id, call };
        self.known.push_back(thread.clone());
        thread
    }

    /// The thread by the chain of records: the first one names it.
    fn follow(&mut self, fields: &Object<'_>) -> Option<Id> {
        let record = Id::from(fields.filled("uuid")?);
        let follows = fields.str("parentUuid");
        let of = |follows: &str| self.records.iter().rev().find(|(known, _)| **known == *follows);
        let root = follows.and_then(|follows| of(&follows)).map_or_else(|| record.clone(), |(_, root)| root.clone());
        if self.records.len() == REMEMBERED {
            self.records.pop_front();
        }
        self.records.push_back((record, root.clone()));
        Some(root)
    }
}

/// The call that asked for what a subagent is told first.
fn asked(fields: &Object<'_>, scribe: &Scribe) -> Option<Id> {
    let task = fields.object("message").string("content")?;
    let is_asked = |id: &Id| {
        let details = scribe.item(id).map(|item| &item.details);
        matches!(details, Some(Details::Subagent(subagent)) if subagent.prompt.as_deref() == Some(&task))
    };
    scribe.open_items(None).into_iter().find(is_asked)
}
