//! Driver for `opencode serve`: one server per session, controlled over HTTP and observed through its event bus.

mod commands;
mod handshake;
mod turn_tracker;

#[cfg(test)]
mod tests;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use commands::{OfferDigest, OpenCodeRequests, PromptSelections};
use handshake::OpeningStage;
use serde::Serialize;
use switchboard_event::{Dir, Event, Id, SessionConfig, to_raw_json};
use turn_tracker::TurnTracker;

use super::{launch::ModelName, offers::OpenCodeOffers};
use crate::{
    AgentCommand, AgentDriver, AgentPrompt, DriverEffect, DriverEffects, DriverSignal, HttpRequest, JsonObject,
    JsonView, Record, RecordBody, UnsupportedOperation, commands::SlashCommands,
};

/// Configuration of the driver.
pub struct OpenCodeSessionConfig {
    /// User name for the password.
    pub user: &'static str,
    pub password: String,
    pub conversation: SessionOpening,
    pub config: SessionConfig,
    /// OpenCode's data directory.
    pub data: String,
    /// The initial model.
    pub model: Option<ModelName>,
    /// There is no first prompt.
    pub leisure: bool,
}

/// How the session begins.
#[derive(Clone, Debug)]
pub enum SessionOpening {
    /// A new session.
    New,
    /// An existing session.
    Known(String),
    /// A copy of an existing session.
    CopyOf(String),
}

/// Drives a server of OpenCode.
pub struct OpenCodeDriver {
    authorization: String,
    conversation: SessionOpening,
    config: SessionConfig,
    data: String,
    stage: OpeningStage,
    /// The session has rules that ask, so they must include the restrictions of its mode.
    asks: bool,
    /// The list of OpenCode's agents, as received.
    agents: Option<String>,
    session: Option<String>,
    /// Number of requests sent so far.
    requests: u64,
    choices: PromptSelections,
    commands: SlashCommands,
    offers: OpenCodeOffers,
    /// The available choices were not requested yet.
    curious: bool,
    /// There is no first prompt, so the available choices are requested before the session is ready.
    leisure: bool,
    /// Requests for the available choices without a response.
    awaited: Vec<u64>,
    desk: OpenCodeRequests,
    pulse: TurnTracker,
    /// Prompts that cannot be sent yet.
    waiting: Vec<AgentPrompt>,
}

impl OpenCodeDriver {
    /// Creates the driver of a server that was just started.
    pub fn new(wanted: OpenCodeSessionConfig) -> Self {
        let login = BASE64_STANDARD.encode(format!("{}:{}", wanted.user, wanted.password));
        let asks = !super::launch::rules::is_free(&wanted.config);
        let mut offers = OpenCodeOffers::default();
        offers.set_current_model(wanted.model.as_ref().map(|model| format!("{}/{}", model.provider, model.name)));
        Self {
            asks,
            authorization: format!("Basic {login}"),
            conversation: wanted.conversation,
            config: wanted.config,
            data: wanted.data,
            stage: OpeningStage::Starting,
            agents: None,
            session: None,
            requests: 0,
            choices: PromptSelections { model: wanted.model, ..PromptSelections::default() },
            commands: SlashCommands::default(),
            offers,
            curious: true,
            leisure: wanted.leisure,
            awaited: Vec::new(),
            desk: OpenCodeRequests::default(),
            pulse: TurnTracker::default(),
            waiting: Vec::new(),
        }
    }

    /// Sends a request and returns its number.
    fn request(
        &mut self,
        method: &'static str,
        path: String,
        body: Option<&impl Serialize>,
        effects: &mut DriverEffects,
    ) -> u64 {
        self.requests += 1;
        let body = body.map(to_raw_json);
        effects.push(DriverEffect::Http(HttpRequest { id: self.requests, method, path, body, digest: None }));
        self.requests
    }

    /// Requests something of which only a digest is stored.
    fn request_digest(&mut self, path: &str, digest: OfferDigest, effects: &mut DriverEffects) -> u64 {
        self.requests += 1;
        let (id, path, digest) = (self.requests, path.to_owned(), Some(digest));
        effects.push(DriverEffect::Http(HttpRequest { id, method: "GET", path, body: None, digest }));
        self.requests
    }

    fn get(&mut self, path: impl Into<String>, effects: &mut DriverEffects) -> u64 {
        self.request("GET", path.into(), None::<&()>, effects)
    }

    fn post(&mut self, path: impl Into<String>, body: &impl Serialize, effects: &mut DriverEffects) -> u64 {
        self.request("POST", path.into(), Some(body), effects)
    }

    fn path(&self, rest: &str) -> String {
        format!("/session/{}{rest}", self.session.as_deref().unwrap_or_default())
    }

    fn abort(&mut self, effects: &mut DriverEffects) {
        let path = self.path("/abort");
        self.request("POST", path, None::<&()>, effects);
    }

    fn observe_message(&mut self, fields: &JsonObject<'_>, effects: &mut DriverEffects) {
        if fields.contains_key("type") {
            let news = self.pulse.observe_message(fields, self.session.as_deref());
            self.perform_changes(news, effects);
        } else if fields.contains_key("method") {
            self.handle_response(fields, effects);
        }
    }
}

impl AgentDriver for OpenCodeDriver {
    fn open(&mut self, _: &mut DriverEffects) {}

    fn observe_record(&mut self, record: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        self.pulse.apply_events(events);
        self.desk.apply_events(events);
        match (record.dir, &record.body) {
            (Dir::In, RecordBody::Text(line)) => self.read_server_output(line, effects),
            (Dir::In, RecordBody::Json(json)) => self.observe_message(&JsonView::from_raw(json).as_object(), effects),
            _ => {}
        }
        self.send_refusals(effects);
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => self.prompt(prompt, effects),
            AgentCommand::Answer(answer) => return self.answer(answer, effects),
            AgentCommand::Interrupt => self.interrupt(effects),
            AgentCommand::SetModel(model) => return self.set_model(&model, effects),
            AgentCommand::SetMode(mode) => return self.set_mode(mode, effects),
            AgentCommand::SetOption { id, value } => return self.set_option(&id, value, effects),
            AgentCommand::Slash { name, arguments } => return self.send_slash_command(&name, &arguments, effects),
            AgentCommand::Close => effects.push(DriverEffect::Done),
        }
        Ok(())
    }

    fn check_slash_command(&self, name: &str) -> Result<(), UnsupportedOperation> {
        self.commands.check_name(name)
    }

    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        match signal {
            DriverSignal::Timer(timer) => {
                let news = self.pulse.handle_timer(timer);
                self.perform_changes(news, effects);
            }
            DriverSignal::StreamOpened => self.stream_opened(effects),
            DriverSignal::StreamClosed | DriverSignal::StreamEnded => {}
        }
    }
}

fn id(fields: &JsonObject<'_>, key: &str) -> Option<Id> {
    fields.get_str(key).filter(|id| !id.is_empty()).map(Id::from)
}
