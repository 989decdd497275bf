//! Stopping a turn, and making sure that it is over: the app-server leaves commands running, and does not always say
//! that a turn ended.

use std::time::Duration;

use serde_json::json;
use switchboard_event::{Body, Details, ErrorCode, Event, Fault, Status, TurnCompleted, TurnStatus};

use super::{
    calls::Purpose,
    conversation::{Conversation, Turn},
};
use crate::{Effect, Effects, Object, Timer};

/// The turn should be over, and nothing was heard of it: then we ask.
pub const ASK_AGAIN: Timer = Timer("turn");
/// How long its end may be on its way after the thread is at rest, and after an interrupt.
const AT_REST: Duration = Duration::from_secs(2);
const INTERRUPTED: Duration = Duration::from_secs(5);

/// We asked, and got no answer.
pub const INQUIRY: Timer = Timer("inquiry");
const ANSWER: Duration = Duration::from_secs(10);

/// What a stopped turn left running is not looked for longer than this.
pub const SWEEP: Timer = Timer("sweep");
const SEARCH: Duration = Duration::from_secs(3);

impl Conversation {
    /// The interrupt may never be answered, and a request that waits for an answer is not withdrawn by it (0.166).
    pub(super) fn interrupt(&mut self, effects: &mut Effects) {
        match &self.turn {
            Turn::Active(turn) => {
                let params = json!({ "threadId": self.thread, "turnId": turn });
                self.calls.send("turn/interrupt", &params, effects);
                effects.push(Effect::Arm(ASK_AGAIN, INTERRUPTED));
            }
            Turn::Asked => self.stopping = true,
            Turn::Idle => {}
        }
        for (thread, turn) in &self.children {
            self.calls.send("turn/interrupt", &json!({ "threadId": thread, "turnId": turn }), effects);
        }
        self.cancel_requests(effects);
    }

    /// A thread at rest has no turn, but the end of the turn comes after that.
    pub(super) fn status_changed(&mut self, params: &Object<'_>, effects: &mut Effects) {
        let status = params.object("status");
        let rests = status.is("type", "idle") || status.is("type", "systemError") || status.is("type", "notLoaded");
        match (self.is_main(params), rests, &self.turn) {
            (false, true, _) => self.child_ended(params, effects),
            (true, true, Turn::Active(_)) => effects.push(Effect::Arm(ASK_AGAIN, AT_REST)),
            _ => {}
        }
    }

    /// Asks what became of the turn. If it is over, the reader takes the answer for its end.
    pub(super) fn inquire(&mut self, effects: &mut Effects) {
        if matches!(self.turn, Turn::Active(_)) {
            let params = json!({ "threadId": self.thread, "limit": 1, "sortDirection": "desc" });
            let id = self.calls.send("thread/turns/list", &params, effects);
            self.calls.expect(id, Purpose::Inquire);
            effects.push(Effect::Arm(INQUIRY, ANSWER));
        }
    }

    /// Nobody knows what became of the turn.
    pub(super) fn lost(&mut self, effects: &mut Effects) {
        if matches!(self.turn, Turn::Active(_)) {
            let message = "Codex fell silent: its thread is at rest, but its turn never ended";
            effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
        }
    }

    /// An interrupt stops the turn and leaves its commands running (0.166).
    pub(super) fn look_for(&mut self, items: Vec<String>, effects: &mut Effects) {
        let params = json!({ "threadId": self.thread });
        let id = self.calls.send("thread/backgroundTerminals/list", &params, effects);
        self.calls.expect(id, Purpose::Leftovers(items));
        self.sweeping = true;
        effects.push(Effect::Arm(SWEEP, SEARCH));
    }

    /// Ends what the stopped turn started. What earlier turns left running was left on purpose.
    pub(super) fn sweep(&mut self, items: &[String], result: &Object<'_>, effects: &mut Effects) {
        for terminal in result.array("data") {
            let terminal = terminal.object();
            let ours = terminal.str("itemId").is_some_and(|item| items.iter().any(|known| *known == *item));
            if let Some(process) = terminal.filled("processId").filter(|_| ours) {
                let params = json!({ "threadId": self.thread, "processId": process });
                self.calls.send("thread/backgroundTerminals/terminate", &params, effects);
            }
        }
        self.swept(effects);
    }

    pub(super) fn swept(&mut self, effects: &mut Effects) {
        if std::mem::take(&mut self.sweeping) {
            effects.disarm(SWEEP);
            self.rest(effects);
        }
    }
}

/// The commands that were running when their turn was stopped, by the agent's own ids.
pub fn left_running(completed: &TurnCompleted, events: &[Event]) -> Vec<String> {
    if completed.status != TurnStatus::Interrupted {
        return Vec::new();
    }
    let cut = events.iter().filter(|event| match &event.body {
        Body::ItemCompleted(item) => item.status == Status::Interrupted && matches!(item.details, Details::Command(_)),
        _ => false,
    });
    // An id that was used before has a number behind it.
    let native = |id: &str| id.split('~').next().unwrap_or_default().to_owned();
    cut.filter(|event| event.thread.is_none()).filter_map(|event| event.item.as_deref().map(native)).collect()
}
