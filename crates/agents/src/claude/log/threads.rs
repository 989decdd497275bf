//! Attributes records to the main conversation or to a subagent. Newer versions write a file for each subagent and an
//! `agentId` in every record; older ones mix its records with the others, marked only by `isSidechain` and the parent
//! of each record.

use std::collections::VecDeque;

use switchboard_event::{Details, Id};

use crate::{JsonObject, RunRecorder, bounded::push_bounded};

/// The maximum number of remembered records and subagents: more than a running subagent has.
const MAX_REMEMBERED_THREADS: usize = 4096;

/// A subagent's conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct SubagentThread {
    /// The subagent's id, or that of its first record.
    pub id: Id,
    /// The tool call that started it, if known.
    pub call: Option<Id>,
}

#[derive(Default)]
pub struct SubagentThreads {
    known: VecDeque<SubagentThread>,
    /// Records of subagents without an id: each belongs to the subagent of its parent.
    records: VecDeque<(Id, Id)>,
}

impl SubagentThreads {
    /// Returns the subagent that a record belongs to.
    pub fn thread_of_record(&mut self, fields: &JsonObject<'_>, recorder: &RunRecorder) -> Option<SubagentThread> {
        if !fields.is_true("isSidechain") {
            return None;
        }
        let id = match fields.get_non_empty("agentId") {
            Some(id) => Id::from(id),
            None => self.follow_record_chain(fields)?,
        };
        if let Some(known) = self.known.iter().find(|thread| thread.id == id) {
            return Some(known.clone());
        }
        let call = find_requesting_call(fields, recorder);
        Some(self.remember_thread(id, call))
    }

    /// Links a subagent to the tool call that started it.
    pub fn assign_call(&mut self, agent: &str, call: &Id) -> SubagentThread {
        match self.known.iter_mut().find(|thread| *thread.id == *agent) {
            Some(known) => {
                known.call.get_or_insert_with(|| call.clone());
                known.clone()
            }
            None => self.remember_thread(Id::from(agent), Some(call.clone())),
        }
    }

    fn remember_thread(&mut self, id: Id, call: Option<Id>) -> SubagentThread {
        if self.known.len() == MAX_REMEMBERED_THREADS {
            self.known.pop_front();
        }
        let thread = SubagentThread { id, call };
        self.known.push_back(thread.clone());
        thread
    }

    /// Finds the thread by the chain of records, whose first one names it.
    fn follow_record_chain(&mut self, fields: &JsonObject<'_>) -> Option<Id> {
        let record = Id::from(fields.get_non_empty("uuid")?);
        let follows = fields.get_str("parentUuid");
        let of = |follows: &str| self.records.iter().rev().find(|(known, _)| **known == *follows);
        let root = follows.and_then(|follows| of(&follows)).map_or_else(|| record.clone(), |(_, root)| root.clone());
        push_bounded(&mut self.records, (record, root.clone()), MAX_REMEMBERED_THREADS);
        Some(root)
    }
}

/// Finds the tool call with the prompt that a subagent starts with.
fn find_requesting_call(fields: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Id> {
    let task = fields.get_object("message").get_string("content")?;
    let is_asked = |id: &Id| {
        let details = recorder.open_item(id).map(|item| &item.details);
        matches!(details, Some(Details::Subagent(subagent)) if subagent.prompt.as_deref() == Some(&task))
    };
    recorder.open_items(None).into_iter().find(is_asked)
}
