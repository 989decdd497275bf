//! Turns of a rollout. Newer ones say when one begins and ends; in older ones a prompt begins it.

use switchboard_event::{Details, ErrorCode, Fault, Id, Status, Stop, TurnCompleted, TurnStarted, TurnStatus};

use super::super::errors;
use crate::{Object, Scribe};

/// Where in the conversation the file is.
#[derive(Default)]
pub struct Turns {
    active: Option<Id>,
    /// The active turn was copied from another thread.
    copied: bool,
    /// The file says itself where turns begin.
    told: bool,
    /// The agent has done something since the last prompt.
    worked: bool,
    /// Replies of the turn whose tokens were counted.
    replies: u64,
}

impl Turns {
    /// `task_started`. A review has a turn of its own within the one that was asked for; a subagent's first turn names
    /// the one of its parent, whose beginning it may have as a copy (0.166).
    pub fn began(&mut self, fields: &Object<'_>, copied: bool, scribe: &mut Scribe) {
        let id = fields.filled("turn_id").map(Id::from);
        let within = fields.str("root_turn_id").is_some_and(|root| self.active.as_ref().is_some_and(|it| *it == *root));
        if within && copied == self.copied && scribe.in_turn() {
            return;
        }
        (self.told, self.copied) = (true, copied);
        self.begin(id, scribe);
    }

    fn begin(&mut self, id: Option<Id>, scribe: &mut Scribe) {
        (self.active, self.replies, self.worked) = (id.clone(), 0, false);
        scribe.turn_started(TurnStarted { agent_turn: id, ..TurnStarted::default() });
    }

    /// A person said something.
    pub fn prompted(&mut self, scribe: &mut Scribe) {
        if !scribe.in_turn() || (!self.told && self.worked) {
            self.begin(None, scribe);
        }
    }

    /// The agent did something: the reply that it belongs to. It has no name of its own, and ends when its tokens are
    /// counted.
    pub fn work(&mut self, scribe: &mut Scribe) -> Id {
        if !scribe.in_turn() {
            self.begin(None, scribe);
        }
        self.worked = true;
        self.reply(scribe)
    }

    fn reply(&self, scribe: &Scribe) -> Id {
        let number = self.replies + 1;
        match &self.active {
            Some(turn) => Id::from(format!("{turn}.{number}")),
            None => scribe.local_id(&format!("turn_{}.{number}", scribe.turns())),
        }
    }

    /// The reply's tokens were counted: it is over.
    pub fn counted(&mut self, scribe: &Scribe) -> Id {
        let name = self.reply(scribe);
        self.replies += 1;
        name
    }

    /// `task_complete`, or `turn_aborted`.
    pub fn ended(&mut self, aborted: bool, fields: &Object<'_>, scribe: &mut Scribe) {
        if let (Some(id), Some(active)) = (fields.str("turn_id"), &self.active)
            && *active != *id
            && fields.str("root_turn_id").is_some_and(|root| *active == *root)
        {
            return;
        }
        let duration_ms = fields.u64("duration_ms");
        let ended = match fields.get("error") {
            _ if aborted => TurnCompleted {
                status: TurnStatus::Interrupted,
                stop: Stop::Cancelled,
                error: Some(Fault::new(ErrorCode::Aborted, "interrupted")),
                duration_ms,
                ..TurnCompleted::default()
            },
            Some(error) => errors::failed_turn(errors::from_turn(&error.object()), duration_ms),
            None => TurnCompleted { duration_ms, ..TurnCompleted::default() },
        };
        let steps = Some(self.replies).filter(|steps| *steps > 0);
        close_told(scribe);
        if !aborted {
            leave_running(scribe);
        }
        scribe.turn_completed(TurnCompleted { steps, ..ended });
        self.active = None;
    }

    /// The file is over. A turn of which no end is ever told has ended if nothing is open.
    pub fn over(&mut self, scribe: &mut Scribe) {
        if !self.told && scribe.in_turn() && scribe.open_items(None).is_empty() {
            scribe.turn_completed(TurnCompleted::default());
        }
    }
}

/// Ends what an event has told the end of, although the model never heard of it.
fn close_told(scribe: &mut Scribe) {
    for id in scribe.open_items(None) {
        if let Some(status) = scribe.item(&id).map(|item| item.status).filter(|status| *status != Status::Running) {
            scribe.item_closed(&id, status);
        }
    }
}

/// A command that outlives a turn that ended well goes on in the background.
fn leave_running(scribe: &mut Scribe) {
    for id in scribe.open_items(None) {
        if let Some(Details::Command(command)) = scribe.item_mut(&id).map(|item| &mut item.details) {
            command.background = true;
            scribe.item_closed(&id, Status::Completed);
        }
    }
}
