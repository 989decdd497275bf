//! Prompts and turns: a prompt starts a turn or joins the running one. The session settles when its turn and those of
//! its subagents are over. The driver verifies that an interrupted turn ended: the app-server leaves commands running
//! and does not always report the end.

use std::{path::PathBuf, time::Duration};

use serde::Serialize;
use serde_json::{json, value::RawValue};
use switchboard_event::{Details, ErrorCode, Event, EventBody, Fault, Status, TurnCompleted, TurnStatus};

use super::{CodexDriver, CodexTurnState, RequestPurpose, is_overloaded};
use crate::{AgentPrompt, DriverEffect, DriverEffects, DriverTimer, JsonObject, PromptImage};

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

/// Parameters of `turn/start`. The schema is passed on verbatim, because the order of its fields matters to the model.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodexTurnStartParams<'a> {
    thread_id: Option<&'a str>,
    input: Vec<CodexPromptPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
}

/// Parameters of `turn/steer`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodexTurnSteerParams<'a> {
    thread_id: Option<&'a str>,
    input: Vec<CodexPromptPart<'a>>,
    expected_turn_id: &'a str,
}

impl CodexDriver {
    pub(super) fn handle_prompt(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        match &self.turn {
            CodexTurnState::Idle => self.start_turn(prompt, effects),
            // A running turn accepts no schema.
            CodexTurnState::Active(_) if prompt.output_schema.is_none() => self.steer_turn(prompt, effects),
            CodexTurnState::Active(_) | CodexTurnState::Asked => self.queue.push_back(prompt),
        }
    }

    pub(super) fn start_turn(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        let (thread_id, output_schema) = (self.thread.as_deref(), prompt.output_schema.as_deref());
        let params = CodexTurnStartParams { thread_id, input: prompt_parts(&prompt), output_schema };
        let id = self.calls.send("turn/start", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Begin(prompt));
        self.turn = CodexTurnState::Asked;
    }

    fn steer_turn(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        let CodexTurnState::Active(turn) = &self.turn else { return self.queue.push_back(prompt) };
        let params = CodexTurnSteerParams {
            thread_id: self.thread.as_deref(),
            input: prompt_parts(&prompt),
            expected_turn_id: turn,
        };
        let id = self.calls.send("turn/steer", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Steer(prompt));
    }

    /// Handles an accepted turn. Codex 0.166 may have reported its start before.
    pub(super) fn handle_turn_accepted(&mut self, turn: &JsonObject<'_>, effects: &mut DriverEffects) {
        self.tries = 0;
        if let (CodexTurnState::Asked, Some(turn)) = (&self.turn, turn.get_non_empty("id")) {
            self.handle_turn_started(&turn, effects);
        }
    }

    /// Handles a refused turn.
    pub(super) fn handle_turn_refused(&mut self, prompt: AgentPrompt, fault: Fault, effects: &mut DriverEffects) {
        self.turn = CodexTurnState::Idle;
        if is_overloaded(&fault) {
            self.queue.push_front(prompt);
            return self.schedule_retry(fault, effects);
        }
        self.start_next_or_settle(effects);
    }

    /// The turn ended before it received the prompt, or is of a kind that accepts none: the next turn takes the prompt.
    pub(super) fn handle_steer_refused(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        match self.turn {
            CodexTurnState::Idle => self.start_turn(prompt, effects),
            CodexTurnState::Asked | CodexTurnState::Active(_) => self.queue.push_back(prompt),
        }
    }

    /// A turn of the session runs, whether a prompt started it or not.
    pub(super) fn handle_turn_started(&mut self, turn: &str, effects: &mut DriverEffects) {
        self.turn = CodexTurnState::Active(turn.to_owned());
        if std::mem::take(&mut self.stopping) {
            return self.interrupt_turn(effects);
        }
        let waiting = std::mem::take(&mut self.queue);
        waiting.into_iter().for_each(|prompt| self.handle_prompt(prompt, effects));
    }

    pub(super) fn handle_turn_completed(
        &mut self,
        completed: &TurnCompleted,
        events: &[Event],
        effects: &mut DriverEffects,
    ) {
        (self.turn, self.stopping) = (CodexTurnState::Idle, false);
        effects.disarm_timer(ASK_AGAIN);
        effects.disarm_timer(INQUIRY);
        // A request outlives its turn until it is answered (0.166).
        self.cancel_requests(effects);
        let left = interrupted_commands(completed, events);
        if !left.is_empty() {
            return self.find_leftover_commands(left, effects);
        }
        self.start_next_or_settle(effects);
    }

    /// If nothing is running, starts the next queued prompt, or settles the session.
    pub(super) fn start_next_or_settle(&mut self, effects: &mut DriverEffects) {
        if !matches!(self.turn, CodexTurnState::Idle) || self.sweeping || !self.children.is_empty() {
            return;
        }
        match self.queue.pop_front() {
            Some(prompt) => self.start_turn(prompt, effects),
            None => effects.push(DriverEffect::Settled),
        }
    }

    pub(super) fn track_child_turn(&mut self, params: &JsonObject<'_>) {
        let (thread, turn) = (params.get_non_empty("threadId"), params.get_object("turn").get_non_empty("id"));
        if let (Some(thread), Some(turn)) = (thread, turn) {
            self.children.insert(thread, turn);
        }
    }

    pub(super) fn finish_child_turn(&mut self, params: &JsonObject<'_>, effects: &mut DriverEffects) {
        let thread = params.get_str("threadId").unwrap_or_default();
        if self.children.remove(&*thread).is_some() && matches!(self.turn, CodexTurnState::Idle) {
            self.start_next_or_settle(effects);
        }
    }
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
enum CodexPromptPart<'a> {
    Text {
        text: &'a str,
    },
    /// An inline image.
    Image {
        /// A `data:` URL.
        url: String,
    },
    LocalImage {
        path: &'a PathBuf,
    },
}

fn prompt_parts(prompt: &AgentPrompt) -> Vec<CodexPromptPart<'_>> {
    let text = Some(CodexPromptPart::Text { text: &prompt.text }).filter(|_| !prompt.text.is_empty());
    text.into_iter().chain(prompt.images.iter().map(image_part)).collect()
}

/// An image file is passed by its path, so that its bytes do not enter the log twice.
fn image_part(image: &PromptImage) -> CodexPromptPart<'_> {
    match image.path.as_ref().filter(|path| path.is_absolute()) {
        Some(path) => CodexPromptPart::LocalImage { path },
        None => CodexPromptPart::Image { url: format!("data:{};base64,{}", image.media_type, image.data) },
    }
}

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
    fn find_leftover_commands(&mut self, items: Vec<String>, effects: &mut DriverEffects) {
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
fn interrupted_commands(completed: &TurnCompleted, events: &[Event]) -> Vec<String> {
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
