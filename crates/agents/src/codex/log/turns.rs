//! Turns of a rollout. Newer files mark the start and the end of each; in older ones a prompt starts a turn.

use switchboard_event::{Details, ErrorCode, Fault, Id, Status, Stop, TurnCompleted, TurnStarted, TurnStatus};

use crate::{JsonObject, RunRecorder, codex::errors};

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
    pub fn start_turn(&mut self, fields: &JsonObject<'_>, copied: bool, recorder: &mut RunRecorder) {
        let id = fields.get_non_empty("turn_id").map(Id::from);
        let within =
            fields.get_str("root_turn_id").is_some_and(|root| self.active.as_ref().is_some_and(|it| *it == *root));
        if within && copied == self.copied && recorder.in_turn() {
            return;
        }
        (self.told, self.copied) = (true, copied);
        self.begin_turn(id, recorder);
    }

    fn begin_turn(&mut self, id: Option<Id>, recorder: &mut RunRecorder) {
        (self.active, self.replies, self.worked) = (id.clone(), 0, false);
        recorder.turn_started(TurnStarted { agent_turn: id, ..TurnStarted::default() });
    }

    /// Starts a turn for a prompt if needed.
    pub fn note_prompt(&mut self, recorder: &mut RunRecorder) {
        if !recorder.in_turn() || (!self.told && self.worked) {
            self.begin_turn(None, recorder);
        }
    }

    /// Returns the reply that the agent's work belongs to. Codex does not name replies; a reply ends when its tokens
    /// are counted.
    pub fn note_work(&mut self, recorder: &mut RunRecorder) -> Id {
        if !recorder.in_turn() {
            self.begin_turn(None, recorder);
        }
        self.worked = true;
        self.current_reply(recorder)
    }

    fn current_reply(&self, recorder: &RunRecorder) -> Id {
        let number = self.replies + 1;
        match &self.active {
            Some(turn) => Id::from(format!("{turn}.{number}")),
            None => recorder.local_id(&format!("turn_{}.{number}", recorder.turn_count())),
        }
    }

    /// Ends the reply whose tokens were counted, and returns its id.
    pub fn finish_reply(&mut self, recorder: &RunRecorder) -> Id {
        let name = self.current_reply(recorder);
        self.replies += 1;
        name
    }

    /// Reads `task_complete` or `turn_aborted`.
    pub fn end_turn(&mut self, aborted: bool, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
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
        close_ended_items(recorder);
        if !aborted {
            background_commands(recorder);
        }
        recorder.turn_completed(TurnCompleted { steps, ..ended });
        self.active = None;
    }

    /// Handles the end of the file. A turn without an end marker is complete if no item is open.
    pub fn finish_file(&mut self, recorder: &mut RunRecorder) {
        if !self.told && recorder.in_turn() && recorder.open_items(None).is_empty() {
            recorder.turn_completed(TurnCompleted::default());
        }
    }
}

/// Closes items whose end an event has reported, although the model never got the result.
fn close_ended_items(recorder: &mut RunRecorder) {
    for id in recorder.open_items(None) {
        if let Some(status) =
            recorder.open_item(&id).map(|item| item.status).filter(|status| *status != Status::Running)
        {
            recorder.item_closed(&id, status);
        }
    }
}

/// A command that outlives a successful turn continues in the background.
fn background_commands(recorder: &mut RunRecorder) {
    for id in recorder.open_items(None) {
        if let Some(Details::Command(command)) = recorder.item_mut(&id).map(|item| &mut item.details) {
            command.background = true;
            recorder.item_closed(&id, Status::Completed);
        }
    }
}
