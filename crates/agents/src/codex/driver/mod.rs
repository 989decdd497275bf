//! Driver for `codex app-server`. It opens one thread, which is the session; other threads belong to subagents. It
//! produces no events: those come from the reader.

mod requests;
mod selectors;
mod slash;
mod turns;

#[cfg(test)]
mod tests;

use std::{
    collections::{BTreeMap, VecDeque},
    time::Duration,
};

use requests::CodexServerRequests;
pub use requests::DECLINE_PREFIX;
use selectors::ThreadSelectors;
use serde::Serialize;
use serde_json::{Map, Value, json};
pub use slash::SLASH_COMMANDS;
use switchboard_event::{Dir, ErrorCode, Event, EventBody, Fault};
use turns::{ASK_AGAIN, INQUIRY, SWEEP};

use super::{errors, offers::COLLABORATION};
use crate::{
    AgentCommand, AgentDriver, AgentPrompt, DriverEffect, DriverEffects, DriverSignal, DriverTimer, JsonObject,
    JsonView, Record, RecordBody, UnsupportedOperation,
};

/// Maximum number of remembered requests. Some are never answered: an interrupt of a turn that is already interrupted
/// (0.166).
const MAX_PENDING_REQUESTS: usize = 64;

/// Delays the next attempt after the server was overloaded.
const RETRY: DriverTimer = DriverTimer("retry");

const RETRY_DELAY: Duration = Duration::from_secs(1);

const MAX_RETRIES: u32 = 5;

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
        slash::check_command(name)
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

/// Purpose of a request. Requests whose reply is not needed are not remembered.
pub enum RequestPurpose {
    Initialize,
    LogIn,
    Open,
    /// Starts a turn with a prompt.
    Begin(AgentPrompt),
    /// Adds a prompt to the running turn.
    Steer(AgentPrompt),
    /// A slash command.
    Command {
        /// The command starts a turn.
        turn: bool,
    },
    /// Opens a thread that replaces the current one.
    Afresh,
    /// Lists the models.
    Models {
        /// The request asks for a page after the first.
        further: bool,
    },
    /// Lists the collaboration modes.
    Modes,
    /// Lists what a stopped turn left running, with the items that started it.
    Leftovers(Vec<String>),
    /// Queries the status of a turn.
    Inquire,
}

/// Client requests that await a reply.
#[derive(Default)]
pub struct CodexClientRequests {
    last: u64,
    waiting: Vec<(u64, RequestPurpose)>,
}

#[derive(Serialize)]
struct CodexRpcRequest<'a, P: Serialize> {
    id: u64,
    method: &'a str,
    params: &'a P,
}

impl CodexClientRequests {
    pub fn next_id(&mut self) -> u64 {
        self.last += 1;
        self.last
    }

    /// Sends a request and returns its id.
    pub fn send(&mut self, method: &str, params: &impl Serialize, effects: &mut DriverEffects) -> u64 {
        let id = self.next_id();
        effects.send_record(&CodexRpcRequest { id, method, params });
        id
    }

    /// Remembers the purpose of a request.
    pub fn expect_reply(&mut self, id: u64, purpose: RequestPurpose) {
        if self.waiting.len() >= MAX_PENDING_REQUESTS {
            self.waiting.remove(0);
        }
        self.waiting.push((id, purpose));
    }

    /// Removes and returns the purpose of the request with this id.
    pub fn take(&mut self, id: u64) -> Option<RequestPurpose> {
        let index = self.waiting.iter().position(|(known, _)| *known == id)?;
        Some(self.waiting.remove(index).1)
    }
}

/// The request that opens the thread.
pub struct ThreadOpening {
    /// `thread/start`, `thread/resume` or `thread/fork`.
    pub method: &'static str,
    pub params: Map<String, Value>,
}

impl CodexDriver {
    /// Requests the experimental API, which covers changes of settings, modes, and the termination of commands that a
    /// stopped turn left running.
    fn send_initialize(&mut self, effects: &mut DriverEffects) {
        let client = json!({ "name": "switchboard", "title": "Switchboard", "version": env!("CARGO_PKG_VERSION") });
        let params = json!({ "clientInfo": client, "capabilities": { "experimentalApi": true } });
        let id = self.calls.send("initialize", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Initialize);
    }

    fn handle_initialized(&mut self, effects: &mut DriverEffects) {
        effects.send_record(&json!({ "method": "initialized", "params": {} }));
        let Some(key) = self.key.take() else { return self.open_thread(effects) };
        let id = self.calls.next_id();
        self.calls.expect_reply(id, RequestPurpose::LogIn);
        let request = |key: &str| json!({ "id": id, "method": "account/login/start", "params": { "type": "apiKey", "apiKey": key } });
        effects.send_masked_record(&request(&key), &request("***"));
    }

    fn open_thread(&mut self, effects: &mut DriverEffects) {
        let id = self.calls.send(self.opening.method, &self.opening.params, effects);
        self.calls.expect_reply(id, RequestPurpose::Open);
    }

    /// The lists of models and modes are requested without waiting for them, so that they do not delay the first
    /// prompt.
    fn handle_thread_opened(&mut self, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        self.thread = result.get_object("thread").get_non_empty("id");
        self.selectors.apply_settings(result);
        self.tries = 0;
        effects.push(DriverEffect::Ready);
        self.request_catalog(effects);
    }

    /// Schedules another attempt, or gives up after too many.
    pub(super) fn schedule_retry(&mut self, fault: Fault, effects: &mut DriverEffects) {
        self.tries += 1;
        if self.tries > MAX_RETRIES {
            return effects.give_up(fault);
        }
        effects.push(DriverEffect::Arm(RETRY, RETRY_DELAY));
    }

    fn retry_pending(&mut self, effects: &mut DriverEffects) {
        if self.thread.is_none() {
            return self.open_thread(effects);
        }
        if matches!(self.turn, CodexTurnState::Idle)
            && let Some(prompt) = self.queue.pop_front()
        {
            self.start_turn(prompt, effects);
        }
    }
}
