//! Driver for ACP agents. Their messages are read by the reader in the parent directory, like any other transcript.

mod answers;
mod client_messages;
mod handshake;
mod selectors;

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, VecDeque};

use answers::{OpenAgentRequest, OpenAgentRequests};
pub use client_messages::answer_message;
use handshake::{AgentCapabilities, HISTORY_TIMER};
use selectors::{AgentSelectors, SelectionRequest};
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{ApprovalMode, Dir, Event, EventBody, Id, McpServerConfig};

use crate::{
    AgentCommand, AgentDriver, DriverEffect, DriverEffects, DriverSignal, JsonObject, JsonView, Record, RecordBody,
    RequestAnswer, RequestDecision, UnsupportedOperation, bounded::push_bounded, commands,
};

/// Maximum number of pending requests. An agent that never answers must not consume memory without bound.
const ASKED: usize = 256;

/// Drives one ACP agent.
pub struct AcpDriver {
    pub(super) setup: AcpSessionSetup,
    /// The capabilities that the agent announced.
    pub(super) agent: AgentCapabilities,
    /// The session id in the agent's format.
    pub(super) session: String,
    pub(super) offers: AgentSelectors,
    /// Requests of this client without a response. Both sides count ids from 0.
    asked: VecDeque<(u64, ClientRequestPurpose)>,
    next: u64,
    questions: OpenAgentRequests,
    /// Number of running prompts.
    prompts: u32,
    /// The agent was told to stop and has not stopped yet.
    cancelling: bool,
    /// The approval selections made before the first prompt.
    pub(super) chosen_approvals: Vec<SelectionRequest>,
    /// The session is open, and the agent still replays its history.
    pub(super) history: bool,
}

/// Purpose of a request of this client.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum ClientRequestPurpose {
    /// `initialize`.
    Initialize,
    /// Opens a session by this method.
    Open(&'static str),
    /// Sets what the agent may do without asking, before the first prompt.
    Approval,
    /// Selects the model, before the first prompt.
    Model,
    /// `session/prompt`.
    Prompt,
    /// A request whose response only the reader needs.
    Other,
}

impl AcpDriver {
    pub fn new(setup: AcpSessionSetup) -> Self {
        Self {
            setup,
            agent: AgentCapabilities::default(),
            session: String::new(),
            offers: AgentSelectors::default(),
            asked: VecDeque::new(),
            next: 0,
            questions: OpenAgentRequests::default(),
            prompts: 0,
            cancelling: false,
            chosen_approvals: Vec::new(),
            history: false,
        }
    }

    /// Sends a request to the agent.
    pub(super) fn ask(
        &mut self,
        what: ClientRequestPurpose,
        method: &str,
        params: &Value,
        effects: &mut DriverEffects,
    ) {
        let id = self.register_request(what);
        effects.send_record(&client_messages::request(id, method, params));
    }

    /// Returns the id of the next request.
    pub(super) fn register_request(&mut self, what: ClientRequestPurpose) -> u64 {
        let id = self.next;
        self.next += 1;
        push_bounded(&mut self.asked, (id, what), ASKED);
        id
    }

    /// Sends a selection for the session.
    pub(super) fn choose(
        &mut self,
        what: ClientRequestPurpose,
        (method, params): SelectionRequest,
        effects: &mut DriverEffects,
    ) {
        let mut params = params;
        params["sessionId"] = json!(self.session);
        self.ask(what, method, &params, effects);
    }

    fn observe_message(&mut self, fields: &JsonObject<'_>, events: &[Event], effects: &mut DriverEffects) {
        let id = fields.get_raw("id");
        match (fields.get_str("method").as_deref(), id) {
            (Some(method), Some(id)) => self.request(method, id, &fields.get_object("params"), events, effects),
            (Some(method), None) => self.notification(method, &fields.get_object("params"), effects),
            (None, Some(id)) => self.answer(&id, fields, effects),
            (None, None) => {}
        }
    }

    /// Handles a request of the agent. A request without a `request.opened` event cannot be answered, so it is
    /// cancelled.
    fn request(
        &mut self,
        method: &str,
        id: Box<RawValue>,
        params: &JsonObject<'_>,
        events: &[Event],
        effects: &mut DriverEffects,
    ) {
        let request = opened(events).unwrap_or_default();
        let question = match method {
            "session/request_permission" => OpenAgentRequest::permission(request.clone(), id, params),
            "elicitation/create" => OpenAgentRequest::form(request.clone(), id, params),
            _ => {
                let refused = format!("{method} is not offered here");
                return effects.push(DriverEffect::Send(client_messages::error_response(&id, -32601, &refused)));
            }
        };
        if request.is_empty() || self.cancelling {
            return effects.push(DriverEffect::Send(question.give_up()));
        }
        if let Some(given_up) = self.questions.opened(question) {
            effects.push(DriverEffect::Send(given_up));
        }
    }

    fn notification(&mut self, method: &str, params: &JsonObject<'_>, effects: &mut DriverEffects) {
        match method {
            "$/cancel_request" => {
                let id = params.get("requestId").map(JsonView::raw_text).unwrap_or_default();
                if let Some(refusal) = self.questions.withdrawn(id) {
                    effects.push(DriverEffect::Send(refusal));
                }
            }
            "session/update" => self.offers.observe_message(&params.get_object("update")),
            _ => {}
        }
    }

    /// Handles a response of the agent.
    fn answer(&mut self, id: &RawValue, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        let Some(index) = self.asked.iter().position(|(known, _)| known.to_string() == id.get()) else { return };
        let Some((_, what)) = self.asked.remove(index) else { return };
        if what == ClientRequestPurpose::Prompt {
            return self.prompt_over(effects);
        }
        self.offers.observe_message(&fields.get_object("result"));
        if what != ClientRequestPurpose::Other {
            self.handle_opening_response(what, fields, effects);
        }
    }

    /// Handles the end of a prompt. All open requests are cancelled: an agent may queue later requests behind one that
    /// is never answered.
    fn prompt_over(&mut self, effects: &mut DriverEffects) {
        self.prompts = self.prompts.saturating_sub(1);
        if self.prompts == 0 {
            self.cancelling = false;
            self.give_up_questions(effects);
            effects.push(DriverEffect::Settled);
        }
    }

    fn give_up_questions(&mut self, effects: &mut DriverEffects) {
        for answer in self.questions.give_up() {
            effects.push(DriverEffect::Send(answer));
        }
    }

    fn prompt(&mut self, prompt: &crate::AgentPrompt, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        if !prompt.images.is_empty() && !self.agent.images {
            return Err(UnsupportedOperation::new("the agent takes no images"));
        }
        if prompt.output_schema.is_some() {
            return Err(UnsupportedOperation::new("an ACP agent cannot be given a schema for its answer"));
        }
        self.prompts += 1;
        let params = json!({ "sessionId": self.session, "prompt": client_messages::prompt_blocks(prompt) });
        self.ask(ClientRequestPurpose::Prompt, "session/prompt", &params, effects);
        Ok(())
    }

    /// Stops the turn. The agent may wait for answers to its requests before it stops.
    fn interrupt(&mut self, effects: &mut DriverEffects) {
        if self.prompts == 0 {
            return;
        }
        self.cancelling = true;
        effects.send_record(&client_messages::notification("session/cancel", &json!({ "sessionId": self.session })));
        self.give_up_questions(effects);
    }

    fn decide(&mut self, answer: &RequestAnswer, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        if answer.input.is_some() {
            return Err(UnsupportedOperation::new("an ACP agent takes no changed input")
                .with_hint("decline, and say in a prompt what to do instead"));
        }
        if answer.decision == RequestDecision::Cancel {
            self.interrupt(effects);
        }
        if let Some(answer) = self.questions.answered(answer) {
            effects.push(DriverEffect::Send(answer));
        }
        Ok(())
    }
}

impl AgentDriver for AcpDriver {
    fn open(&mut self, effects: &mut DriverEffects) {
        self.ask(ClientRequestPurpose::Initialize, "initialize", &client_messages::initialize(), effects);
    }

    fn observe_record(&mut self, record: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        let (Dir::In, RecordBody::Json(raw)) = (record.dir, &record.body) else { return };
        self.observe_message(&JsonView::from_raw(raw).as_object(), events, effects);
        self.wait_for_history(effects);
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => self.prompt(&prompt, effects)?,
            AgentCommand::Answer(answer) => self.decide(&answer, effects)?,
            AgentCommand::Interrupt => self.interrupt(effects),
            AgentCommand::SetModel(model) => {
                self.choose(ClientRequestPurpose::Other, self.offers.select_model(&model)?, effects)
            }
            AgentCommand::SetMode(mode) => {
                self.choose(ClientRequestPurpose::Other, self.offers.select_mode(&mode)?, effects)
            }
            AgentCommand::SetOption { id, value } => {
                self.choose(ClientRequestPurpose::Other, self.offers.select_option(&id, &value)?, effects)
            }
            AgentCommand::Slash { name, arguments } => {
                self.offers.commands.check_name(&name)?;
                self.prompt(&commands::command_prompt(&name, &arguments), effects)?;
            }
            AgentCommand::Close => {
                effects.push(DriverEffect::CloseInput);
                if self.setup.habits.lingers {
                    effects.push(DriverEffect::Done);
                }
            }
        }
        Ok(())
    }

    fn check_slash_command(&self, name: &str) -> Result<(), UnsupportedOperation> {
        self.offers.commands.check_name(name)
    }

    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        if signal == DriverSignal::Timer(HISTORY_TIMER) {
            self.set_up(effects);
        }
    }
}

fn opened(events: &[Event]) -> Option<Id> {
    events.iter().find_map(|event| match &event.body {
        EventBody::RequestOpened(opened) => Some(opened.request.clone()),
        _ => None,
    })
}

/// Configuration of a session with an ACP agent.
#[derive(Default)]
pub struct AcpSessionSetup {
    /// The absolute working directory.
    pub cwd: String,
    /// The MCP servers to offer, by name.
    pub servers: BTreeMap<String, McpServerConfig>,
    pub start: AcpSessionStart,
    /// The model to select, unless it is selected when the agent starts.
    pub model: Option<String>,
    /// What the agent may do without asking.
    pub approval: ApprovalMode,
    /// Hint for a user who is not logged in.
    pub login: Option<String>,
    pub habits: AcpAgentQuirks,
}

/// How a session begins.
#[derive(Default)]
pub enum AcpSessionStart {
    /// A new session.
    #[default]
    New,
    /// Continues another session.
    Resume(String),
    /// Continues a copy of another session.
    Fork(String),
}

/// Peculiarities of an agent.
#[derive(Default)]
pub struct AcpAgentQuirks {
    /// It answers `session/load` before it has replayed the history. Everything until a pause is still history.
    pub late_history: bool,
    /// It keeps running after its input is closed.
    pub lingers: bool,
    /// It expands `$` as a variable in the environment and headers of MCP servers.
    pub expands: bool,
}
