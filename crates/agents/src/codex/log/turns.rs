//! Turns of a rollout. Newer files mark the start and the end of each; in older ones a prompt starts a turn.

use switchboard_event::{Details, ErrorCode, Fault, Id, Status, Stop, TurnCompleted, TurnStarted, TurnStatus};

use super::super::errors;
use crate::{JsonObject, RunRecorder};

/// Turn state at the current position of a file.
#[derive(Default)]
pub struct RolloutTurns {
    active: Option<Id>,
    /// The active turn was copied from another thread.
    copied: bool,
    /// The file marks the start of turns.
    told: bool,
    /// The agent has worked since the last prompt.
    worked: bool,
    /// Number of counted replies in the turn.
    replies: u64,
}

impl RolloutTurns {
    /// Reads `task_started`. A review runs in its own turn within the requested one; a subagent's first turn names that
    /// of its parent, whose start it may have as a copy (0.166).
    pub fn start_turn(&mut self, fields: &JsonObject<'_>, copied: bool, scribe: &mut RunRecorder) {
        let id = fields.get_non_empty("turn_id").map(Id::from);
        let within =
            fields.get_str("root_turn_id").is_some_and(|root| self.active.as_ref().is_some_and(|it| *it == *root));
        if within && copied == self.copied && scribe.in_turn() {
            return;
        }
        (self.told, self.copied) = (true, copied);
        self.begin_turn(id, scribe);
    }

    fn begin_turn(&mut self, id: Option<Id>, scribe: &mut RunRecorder) {
        (self.active, self.replies, self.worked) = (id.clone(), 0, false);
        scribe.turn_started(TurnStarted { agent_turn: id, ..TurnStarted::default() });
    }

    /// Starts a turn for a prompt if needed.
    pub fn note_prompt(&mut self, scribe: &mut RunRecorder) {
        if !scribe.in_turn() || (!self.told && self.worked) {
            self.begin_turn(None, scribe);
        }
    }

    /// Returns the reply that the agent's work belongs to. Codex does not name replies; a reply ends when its tokens
    /// are counted.
    pub fn note_work(&mut self, scribe: &mut RunRecorder) -> Id {
        if !scribe.in_turn() {
            self.begin_turn(None, scribe);
        }
        self.worked = true;
        self.current_reply(scribe)
    }

    fn current_reply(&self, scribe: &RunRecorder) -> Id {
        let number = self.replies + 1;
        match &self.active {
            Some(turn) => Id::from(format!("{turn}.{number}")),
            None => scribe.local_id(&format!("turn_{}.{number}", scribe.turn_count())),
        }
    }

    /// Ends the reply whose tokens were counted, and returns its id.
    pub fn finish_reply(&mut self, scribe: &RunRecorder) -> Id {
        let name = self.current_reply(scribe);
        self.replies += 1;
        name
    }

    /// Reads `task_complete` or `turn_aborted`.
    pub fn end_turn(&mut self, aborted: bool, fields: &JsonObject<'_>, scribe: &mut RunRecorder) {
        if let (Some(id), Some(active)) = (fields.get_str("turn_id"), &self.active)
            && *active != *id
            && fields.get_str("root_turn_id").is_some_and(|root| *active == *root)
        {
            return;
        }
        let duration_ms = fields.get_u64("duration_ms");
        let ended = match fields.get("error") {
            _ if aborted => TurnCompleted {
                status: TurnStatus::Interrupted,
                stop: Stop::Cancelled,
                error: Some(Fault::new(ErrorCode::Aborted, "interrupted")),
                duration_ms,
                ..TurnCompleted::default()
            },
            Some(error) => errors::failed_turn(errors::from_turn(&error.as_object()), duration_ms),
            None => TurnCompleted { duration_ms, ..TurnCompleted::default() },
        };
        let steps = Some(self.replies).filter(|steps| *steps > 0);
        close_ended_items(scribe);
        if !aborted {
            background_commands(scribe);
        }
        scribe.turn_completed(TurnCompleted { steps, ..ended });
        self.active = None;
    }

    /// Handles the end of the file. A turn without an end marker is complete if no item is open.
    pub fn finish_file(&mut self, scribe: &mut RunRecorder) {
        if !self.told && scribe.in_turn() && scribe.open_items(None).is_empty() {
            scribe.turn_completed(TurnCompleted::default());
        }
    }
}

/// Closes items whose end an event has reported, although the model never got the result.
fn close_ended_items(scribe: &mut RunRecorder) {
    for id in scribe.open_items(None) {
        if let Some(status) = scribe.open_item(&id).map(|item| item.status).filter(|status| *status != Status::Running)
        {
            scribe.item_closed(&id, status);
        }
    }
}

/// A command that outlives a successful turn continues in the background.
fn background_commands(scribe: &mut RunRecorder) {
    for id in scribe.open_items(None) {
        if let Some(Details::Command(command)) = scribe.item_mut(&id).map(|item| &mut item.details) {
            command.background = true;
            scribe.item_closed(&id, Status::Completed);
        }
    }
}
