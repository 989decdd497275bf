//! Stops turns and verifies that they ended: the app-server leaves commands running and does not always report the end
//! of a turn.

use std::time::Duration;

use serde_json::json;
use switchboard_event::{Details, ErrorCode, Event, EventBody, Fault, Status, TurnCompleted, TurnStatus};

use super::{
    calls::RequestPurpose,
    conversation::{CodexDriver, CodexTurnState},
};
use crate::{DriverEffect, DriverEffects, DriverTimer, JsonObject};

/// Queries the turn's status if its end is overdue.
pub const ASK_AGAIN: DriverTimer = DriverTimer("turn");

/// Time to wait for the end of the turn after the thread became idle, and after an interrupt.
const IDLE_GRACE_PERIOD: Duration = Duration::from_secs(2);

const INTERRUPT_GRACE_PERIOD: Duration = Duration::from_secs(5);

/// Gives up if the status query is not answered.
pub const INQUIRY: DriverTimer = DriverTimer("inquiry");

const TURN_STATUS_TIMEOUT: Duration = Duration::from_secs(10);

/// Limits the search for commands that a stopped turn left running.
pub const SWEEP: DriverTimer = DriverTimer("sweep");

const CLEANUP_TIMEOUT: Duration = Duration::from_secs(3);

impl CodexDriver {
    /// Codex 0.166 may never answer the interrupt, and does not withdraw a pending request because of it.
    pub(super) fn interrupt_turn(&mut self, effects: &mut DriverEffects) {
        match &self.turn {
            CodexTurnState::Active(turn) => {
                let params = json!({ "threadId": self.thread, "turnId": turn });
                self.calls.send("turn/interrupt", &params, effects);
                effects.push(DriverEffect::Arm(ASK_AGAIN, INTERRUPT_GRACE_PERIOD));
            }
            CodexTurnState::Asked => self.stopping = true,
            CodexTurnState::Idle => {}
        }
        for (thread, turn) in &self.children {
            self.calls.send("turn/interrupt", &json!({ "threadId": thread, "turnId": turn }), effects);
        }
        self.cancel_requests(effects);
    }

    /// An idle thread has no turn, but the notification about the end of the turn follows later.
    pub(super) fn handle_status_change(&mut self, params: &JsonObject<'_>, effects: &mut DriverEffects) {
        let status = params.get_object("status");
        let rests = status.str_equals("type", "idle")
            || status.str_equals("type", "systemError")
            || status.str_equals("type", "notLoaded");
        match (self.is_main_thread(params), rests, &self.turn) {
            (false, true, _) => self.finish_child_turn(params, effects),
            (true, true, CodexTurnState::Active(_)) => effects.push(DriverEffect::Arm(ASK_AGAIN, IDLE_GRACE_PERIOD)),
            _ => {}
        }
    }

    /// Queries the status of the turn. If the turn is over, the reader takes the reply for its end.
    pub(super) fn query_turn_status(&mut self, effects: &mut DriverEffects) {
        if matches!(self.turn, CodexTurnState::Active(_)) {
            let params = json!({ "threadId": self.thread, "limit": 1, "sortDirection": "desc" });
            let id = self.calls.send("thread/turns/list", &params, effects);
            self.calls.expect_reply(id, RequestPurpose::Inquire);
            effects.push(DriverEffect::Arm(INQUIRY, TURN_STATUS_TIMEOUT));
        }
    }

    /// The status of the turn cannot be determined.
    pub(super) fn give_up_on_turn(&mut self, effects: &mut DriverEffects) {
        if matches!(self.turn, CodexTurnState::Active(_)) {
            let message = "Codex fell silent: its thread is at rest, but its turn never ended";
            effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
        }
    }

    /// An interrupt stops the turn and leaves its commands running (0.166).
    pub(super) fn find_leftover_commands(&mut self, items: Vec<String>, effects: &mut DriverEffects) {
        let params = json!({ "threadId": self.thread });
        let id = self.calls.send("thread/backgroundTerminals/list", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Leftovers(items));
        self.sweeping = true;
        effects.push(DriverEffect::Arm(SWEEP, CLEANUP_TIMEOUT));
    }

    /// Terminates the commands of the stopped turn. Commands of earlier turns run on purpose.
    pub(super) fn terminate_leftovers(
        &mut self,
        items: &[String],
        result: &JsonObject<'_>,
        effects: &mut DriverEffects,
    ) {
        for terminal in result.get_array("data") {
            let terminal = terminal.as_object();
            let ours = terminal.get_str("itemId").is_some_and(|item| items.iter().any(|known| *known == *item));
            if let Some(process) = terminal.get_non_empty("processId").filter(|_| ours) {
                let params = json!({ "threadId": self.thread, "processId": process });
                self.calls.send("thread/backgroundTerminals/terminate", &params, effects);
            }
        }
        self.finish_cleanup(effects);
    }

    pub(super) fn finish_cleanup(&mut self, effects: &mut DriverEffects) {
        if std::mem::take(&mut self.sweeping) {
            effects.disarm_timer(SWEEP);
            self.start_next_or_settle(effects);
        }
    }
}

/// Returns the commands that ran when their turn was stopped, by the agent's own ids.
pub fn interrupted_commands(completed: &TurnCompleted, events: &[Event]) -> Vec<String> {
    if completed.status != TurnStatus::Interrupted {
        return Vec::new();
    }
    let cut = events.iter().filter(|event| match &event.body {
        EventBody::ItemCompleted(item) => {
            item.status == Status::Interrupted && matches!(item.details, Details::Command(_))
        }
        _ => false,
    });
    // A reused id has a numeric suffix.
    let native = |id: &str| id.split('~').next().unwrap_or_default().to_owned();
    cut.filter(|event| event.thread.is_none()).filter_map(|event| event.item.as_deref().map(native)).collect()
}
