//! Tracks when Claude Code has finished its work. A `result` ends a turn, not the work: prompts may be queued,
//! background agents continue, and a background command starts another turn when it ends. Claude Code reports `idle`
//! when no prompt and no background agent is left.

use std::{collections::VecDeque, time::Duration};

use crate::{DriverEffect, DriverEffects, DriverTimer, JsonObject, bounded::push_bounded};

/// Expires if no further turn begins.
pub const SETTLE_TIMER: DriverTimer = DriverTimer("settle");

/// The time that Claude Code 2.1.197 itself waits for background commands when its input ends.
const BACKGROUND_COMMAND_WAIT: Duration = Duration::from_secs(5);

/// How long a prompt that crossed the end of a turn may take to begin the next one.
const CROSSED_PROMPT_WAIT: Duration = Duration::from_secs(2);

/// The maximum number of tracked prompts and of tracked commands.
const MAX_TRACKED_ENTRIES: usize = 64;

/// The work in progress.
#[derive(Default)]
pub struct ClaudeTurnTracker {
    /// This version reports when it is idle. 2.1.0 does not, so its `result` has to suffice.
    tells: bool,
    working: bool,
    /// The turn was interrupted, so background commands are not waited for.
    stopping: bool,
    /// The id of a request sent after a queued prompt: its response confirms that the prompt was read.
    mark: Option<String>,
    /// Prompts that were sent while a turn ran.
    queued: VecDeque<String>,
    /// Background commands.
    commands: VecDeque<String>,
}

impl ClaudeTurnTracker {
    /// Returns whether a turn runs or is about to.
    pub fn is_working(&self) -> bool {
        self.working
    }

    pub fn mark_prompted(&mut self) {
        self.working = true;
    }

    /// Adds a prompt that was sent while a turn ran, followed by a request with this id.
    pub fn queue_prompt(&mut self, prompt: String, mark: String) {
        self.mark = Some(mark);
        push_bounded(&mut self.queued, prompt, MAX_TRACKED_ENTRIES);
    }

    /// Begins to stop the turn. Returns the prompts that may still be queued: they must not start another turn.
    pub fn begin_stop(&mut self) -> VecDeque<String> {
        self.stopping = self.working;
        std::mem::take(&mut self.queued)
    }

    /// Handles the response to a sent request.
    pub fn acknowledge_mark(&mut self, id: &str) {
        self.mark.take_if(|mark| mark == id);
    }

    /// Applies a `session_state_changed` record.
    pub fn apply_state(&mut self, state: &str, effects: &mut DriverEffects) {
        self.tells = true;
        match state {
            "idle" => self.mark_idle(effects),
            _ => self.mark_working(effects),
        }
    }

    /// Handles an `init` record: a turn began.
    pub fn mark_turn_started(&mut self, effects: &mut DriverEffects) {
        self.mark_working(effects);
    }

    /// Handles a `result` record: a turn ended.
    pub fn mark_turn_ended(&mut self, effects: &mut DriverEffects) {
        if !self.tells {
            self.mark_idle(effects);
        }
    }

    /// Settles after the timer expired.
    pub fn handle_timeout(&mut self, effects: &mut DriverEffects) {
        if self.working {
            self.emit_settled(effects);
        }
    }

    /// Applies a `task_*` record to the background commands. A slow foreground command has them too, but ends before
    /// its turn.
    pub fn apply_task(&mut self, subtype: &str, fields: &JsonObject<'_>) {
        let id = fields.get_string("task_id").unwrap_or_default();
        let status = fields.get_object("patch").get_string("status").unwrap_or_default();
        match subtype {
            "task_started" if fields.str_equals("task_type", "local_bash") => {
                push_bounded(&mut self.commands, id, MAX_TRACKED_ENTRIES)
            }
            "task_updated" if !matches!(status.as_str(), "completed" | "failed" | "killed") => {}
            "task_updated" | "task_notification" => self.commands.retain(|known| *known != id),
            _ => {}
        }
    }

    fn mark_working(&mut self, effects: &mut DriverEffects) {
        self.working = true;
        effects.disarm_timer(SETTLE_TIMER);
    }

    fn mark_idle(&mut self, effects: &mut DriverEffects) {
        if !self.working {
            return;
        }
        if self.mark.is_some() {
            // Claude Code reported the end before it read the prompt, which begins another turn.
            effects.push(DriverEffect::Arm(SETTLE_TIMER, CROSSED_PROMPT_WAIT));
        } else if !self.stopping && !self.commands.is_empty() {
            effects.push(DriverEffect::Arm(SETTLE_TIMER, BACKGROUND_COMMAND_WAIT));
        } else {
            self.emit_settled(effects);
        }
    }

    fn emit_settled(&mut self, effects: &mut DriverEffects) {
        (self.working, self.stopping, self.mark) = (false, false, None);
        self.queued.clear();
        effects.push(DriverEffect::Settled);
    }
}
