//! State of the conversation and dispatch of incoming messages.

use std::collections::{BTreeMap, VecDeque};

use switchboard_event::{Dir, ErrorCode, Event, EventBody, Fault};

use super::{
    calls::{CodexClientRequests, RequestPurpose},
    handshake::{RETRY, ThreadOpening},
    interrupts::{ASK_AGAIN, INQUIRY, SWEEP},
    requests::CodexServerRequests,
    selectors::ThreadSelectors,
};
use crate::{
    AgentCommand, AgentDriver, AgentPrompt, DriverEffect, DriverEffects, DriverSignal, JsonObject, JsonView, Record,
    RecordBody, UnsupportedOperation,
    codex::{errors, offers::COLLABORATION},
};

/// Drives a conversation with the app-server.
pub struct CodexDriver {
    pub(super) opening: ThreadOpening,
    /// API key to log in with.
    pub(super) key: Option<String>,
    pub(super) thread: Option<String>,
    pub(super) selectors: ThreadSelectors,
    pub(super) calls: CodexClientRequests,
    pub(super) turn: CodexTurnState,
    /// Prompts that wait for a turn that can take them.
    pub(super) queue: VecDeque<AgentPrompt>,
    /// Interrupt the turn as soon as its id is known.
    pub(super) stopping: bool,
    /// Running turns of subagents, by thread.
    pub(super) children: BTreeMap<String, String>,
    /// The driver is looking for commands that a stopped turn left running.
    pub(super) sweeping: bool,
    pub(super) requests: CodexServerRequests,
    /// Number of consecutive retries.
    pub(super) tries: u32,
}

/// State of the session's turn.
pub enum CodexTurnState {
    Idle,
    /// Requested, not started.
    Asked,
    /// Running, with its id.
    Active(String),
}

impl CodexDriver {
    pub fn new(opening: ThreadOpening, key: Option<String>) -> Self {
        Self {
            opening,
            key,
            thread: None,
            selectors: ThreadSelectors::default(),
            calls: CodexClientRequests::default(),
            turn: CodexTurnState::Idle,
            queue: VecDeque::new(),
            stopping: false,
            children: BTreeMap::new(),
            sweeping: false,
            requests: CodexServerRequests::default(),
            tries: 0,
        }
    }

    /// Returns whether the message concerns the session's own thread.
    pub(super) fn is_main_thread(&self, params: &JsonObject<'_>) -> bool {
        params.get_str("threadId").as_deref() == self.thread.as_deref()
    }

    fn handle_reply(&mut self, id: JsonView<'_>, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        let Some(purpose) = id.as_u64().and_then(|id| self.calls.take(id)) else { return };
        let refused = fields.get("error").map(|error| errors::from_rpc(&error.as_object()));
        let result = fields.get_object("result");
        match (purpose, refused) {
            (RequestPurpose::Initialize, None) => self.handle_initialized(effects),
            (RequestPurpose::LogIn, None) => self.open_thread(effects),
            (RequestPurpose::Open, None) => self.handle_thread_opened(&result, effects),
            (RequestPurpose::Open, Some(fault)) if is_overloaded(&fault) => self.schedule_retry(fault, effects),
            (RequestPurpose::LogIn, Some(fault)) => {
                let message = format!("Codex did not take the key from the environment: {}", fault.message);
                effects.give_up(Fault::new(ErrorCode::ProviderAuth, message));
            }
            (RequestPurpose::Initialize | RequestPurpose::Open, Some(fault)) => effects.give_up(fault),
            (RequestPurpose::Begin(_), None) => self.handle_turn_accepted(&result.get_object("turn"), effects),
            (RequestPurpose::Begin(prompt), Some(fault)) => self.handle_turn_refused(prompt, fault, effects),
            (RequestPurpose::Steer(prompt), Some(_)) => self.handle_steer_refused(prompt, effects),
            (RequestPurpose::Leftovers(items), None) => self.terminate_leftovers(&items, &result, effects),
            (RequestPurpose::Leftovers(_), Some(_)) => self.finish_cleanup(effects),
            (RequestPurpose::Models { further }, None) => self.handle_model_list(further, &result, effects),
            (RequestPurpose::Modes, None) => self.selectors.apply_mode_list(&result),
            (RequestPurpose::Afresh, None) => self.switch_thread(&result, effects),
            (RequestPurpose::Inquire, _) => effects.disarm_timer(INQUIRY),
            (RequestPurpose::Command { turn: true }, None) => {
                self.handle_turn_accepted(&result.get_object("turn"), effects)
            }
            (RequestPurpose::Command { .. }, _) | (RequestPurpose::Afresh, Some(_)) => self.finish_command(effects),
            (RequestPurpose::Steer(_), None) | (RequestPurpose::Models { .. } | RequestPurpose::Modes, Some(_)) => {}
        }
    }

    fn handle_notification(&mut self, method: &str, params: &JsonObject<'_>, effects: &mut DriverEffects) {
        match method {
            "thread/status/changed" => self.handle_status_change(params, effects),
            "thread/settings/updated" if self.is_main_thread(params) => {
                self.selectors.apply_settings(&params.get_object("threadSettings"))
            }
            "turn/started" if !self.is_main_thread(params) => self.track_child_turn(params),
            "turn/completed" | "thread/closed" if !self.is_main_thread(params) => {
                self.finish_child_turn(params, effects)
            }
            "serverRequest/resolved" => self.requests.forget_request(params.get("requestId")),
            _ => {}
        }
    }

    /// Follows the session's turn through the reader's events.
    fn follow_turns(&mut self, events: &[Event], effects: &mut DriverEffects) {
        for event in events {
            match &event.body {
                EventBody::TurnStarted(started) => {
                    if let Some(turn) = &started.agent_turn {
                        self.handle_turn_started(turn, effects);
                    }
                }
                EventBody::TurnCompleted(completed) => self.handle_turn_completed(completed, events, effects),
                _ => {}
            }
        }
    }
}

/// Returns whether the server is overloaded.
pub(super) fn is_overloaded(fault: &Fault) -> bool {
    fault.info.as_deref() == Some("-32001")
}

impl AgentDriver for CodexDriver {
    fn open(&mut self, effects: &mut DriverEffects) {
        self.send_initialize(effects);
    }

    fn observe_record(&mut self, record: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        self.follow_turns(events, effects);
        let RecordBody::Json(raw) = record.body else { return };
        if record.dir == Dir::Out {
            return;
        }
        let fields = JsonView::from_raw(raw).as_object();
        let params = fields.get("params");
        match (fields.get_str("method"), fields.get("id")) {
            (Some(method), Some(id)) => self.handle_request(&method, id, params, events, effects),
            (Some(method), None) if !method.starts_with("item/") => {
                self.handle_notification(&method, &fields.get_object("params"), effects);
            }
            (None, Some(id)) => self.handle_reply(id, &fields, effects),
            _ => {}
        }
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => self.handle_prompt(prompt, effects),
            AgentCommand::Answer(answer) => return self.answer_request(&answer, effects),
            AgentCommand::Interrupt => self.interrupt_turn(effects),
            AgentCommand::SetModel(model) => self.set_model(&model, effects),
            AgentCommand::SetMode(mode) => return self.set_option(COLLABORATION, &mode, effects),
            AgentCommand::SetOption { id, value } => return self.set_option(&id, &value, effects),
            AgentCommand::Slash { name, arguments } => return self.run_slash_command(&name, arguments.trim(), effects),
            // The server exits on its own, even in the middle of a turn.
            AgentCommand::Close => effects.push(DriverEffect::CloseInput),
        }
        Ok(())
    }

    fn check_slash_command(&self, name: &str) -> Result<(), UnsupportedOperation> {
        super::slash::check_command(name)
    }

    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        match signal {
            DriverSignal::Timer(RETRY) => self.retry_pending(effects),
            DriverSignal::Timer(ASK_AGAIN) => self.query_turn_status(effects),
            DriverSignal::Timer(INQUIRY) => self.give_up_on_turn(effects),
            DriverSignal::Timer(SWEEP) => self.finish_cleanup(effects),
            _ => {}
        }
    }
}
