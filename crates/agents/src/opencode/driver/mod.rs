//! What is said to `opencode serve`: a server of the session's own, spoken to by HTTP and heard by its event bus.
//! This file only dispatches.

mod answering;
mod choosing;
mod handshake;
mod prompting;
mod pulse;
#[cfg(test)]
mod tests;

use base64::{Engine as _, prelude::BASE64_STANDARD};
use serde::Serialize;
use switchboard_event::{Dir, Event, Id, SessionConfig, raw};

use self::{answering::Desk, choosing::Digest, handshake::Stage, prompting::Choices, pulse::Pulse};
use super::{launch::Model, offers::Offers};
use crate::{
    Command, Driver, Effect, Effects, HttpRequest, Json, Object, Prompt, Record, RecordBody, Signal, Unsupported,
    commands::Commands,
};

/// What a server is wanted for.
pub struct Wanted {
    /// Whom the password belongs to.
    pub user: &'static str,
    /// The server's password.
    pub password: String,
    /// Which conversation.
    pub conversation: Conversation,
    /// The settings of the session.
    pub config: SessionConfig,
    /// OpenCode's folder of data.
    pub data: String,
    /// The model to begin with.
    pub model: Option<Model>,
    /// Nobody has said what to do yet.
    pub leisure: bool,
}

/// Which conversation is wanted.
#[derive(Clone, Debug)]
pub enum Conversation {
    /// A new one.
    New,
    /// This one.
    Known(String),
    /// A copy of this one.
    CopyOf(String),
}

/// Speaks to a server of OpenCode.
pub struct Server {
    authorization: String,
    conversation: Conversation,
    config: SessionConfig,
    data: String,
    stage: Stage,
    /// The session has rules that ask: its mode must be heeded in ours.
    asks: bool,
    /// The list of OpenCode's agents, as it came.
    agents: Option<String>,
    session: Option<String>,
    /// How many requests were made.
    requests: u64,
    choices: Choices,
    /// OpenCode's slash commands.
    commands: Commands,
    offers: Offers,
    /// It was not asked yet what can be chosen.
    curious: bool,
    /// Nobody has said what to do: what can be chosen is wanted first.
    leisure: bool,
    /// Requests for it that are not answered yet.
    awaited: Vec<u64>,
    desk: Desk,
    pulse: Pulse,
    /// Prompts that must not be sent yet.
    waiting: Vec<Prompt>,
}

impl Server {
    /// A server that was just started.
    pub fn new(wanted: Wanted) -> Self {
        let login = BASE64_STANDARD.encode(format!("{}:{}", wanted.user, wanted.password));
        let asks = !super::launch::rules::is_free(&wanted.config);
        let mut offers = Offers::default();
        offers.uses(wanted.model.as_ref().map(|model| format!("{}/{}", model.provider, model.name)));
        Self {
            asks,
            authorization: format!("Basic {login}"),
            conversation: wanted.conversation,
            config: wanted.config,
            data: wanted.data,
            stage: Stage::Starting,
            agents: None,
            session: None,
            requests: 0,
            choices: Choices { model: wanted.model, ..Choices::default() },
            commands: Commands::default(),
            offers,
            curious: true,
            leisure: wanted.leisure,
            awaited: Vec::new(),
            desk: Desk::default(),
            pulse: Pulse::default(),
            waiting: Vec::new(),
        }
    }

    /// Makes a request, and gives its number.
    fn request(
        &mut self,
        method: &'static str,
        path: String,
        body: Option<&impl Serialize>,
        effects: &mut Effects,
    ) -> u64 {
        self.requests += 1;
        let body = body.map(raw);
        effects.push(Effect::Http(HttpRequest { id: self.requests, method, path, body, digest: None }));
        self.requests
    }

    /// Asks for something of which only a digest is wanted.
    fn look_up(&mut self, path: &str, digest: Digest, effects: &mut Effects) -> u64 {
        self.requests += 1;
        let (id, path, digest) = (self.requests, path.to_owned(), Some(digest));
        effects.push(Effect::Http(HttpRequest { id, method: "GET", path, body: None, digest }));
        self.requests
    }

    fn get(&mut self, path: impl Into<String>, effects: &mut Effects) -> u64 {
        self.request("GET", path.into(), None::<&()>, effects)
    }

    fn post(&mut self, path: impl Into<String>, body: &impl Serialize, effects: &mut Effects) -> u64 {
        self.request("POST", path.into(), Some(body), effects)
    }

    /// A path of the session.
    fn path(&self, rest: &str) -> String {
        format!("/session/{}{rest}", self.session.as_deref().unwrap_or_default())
    }

    fn abort(&mut self, effects: &mut Effects) {
        let path = self.path("/abort");
        self.request("POST", path, None::<&()>, effects);
    }

    fn heard(&mut self, fields: &Object<'_>, effects: &mut Effects) {
        if fields.has("type") {
            let news = self.pulse.heard(fields, self.session.as_deref());
            self.follow(news, effects);
        } else if fields.has("method") {
            self.answered(fields, effects);
        }
    }
}

impl Driver for Server {
    fn open(&mut self, _: &mut Effects) {}

    fn saw(&mut self, record: &Record<'_>, events: &[Event], effects: &mut Effects) {
        self.pulse.told(events);
        self.desk.told(events);
        match (record.dir, &record.body) {
            (Dir::In, RecordBody::Text(line)) => self.printed(line, effects),
            (Dir::In, RecordBody::Json(json)) => self.heard(&Json::of(json).object(), effects),
            _ => {}
        }
        self.send_refusals(effects);
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => self.prompt(prompt, effects),
            Command::Answer(answer) => return self.answer(answer, effects),
            Command::Interrupt => self.interrupt(effects),
            Command::SetModel(model) => return self.set_model(&model, effects),
            Command::SetMode(mode) => return self.set_mode(mode, effects),
            Command::SetOption { id, value } => return self.set_option(&id, value, effects),
            Command::Slash { name, arguments } => return self.slash(&name, &arguments, effects),
            Command::Close => effects.push(Effect::Done),
        }
        Ok(())
    }

    fn has_command(&self, name: &str) -> Result<(), Unsupported> {
        self.commands.check(name)
    }

    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        match signal {
            Signal::Timer(timer) => {
                let news = self.pulse.ran_out(timer);
                self.follow(news, effects);
            }
            Signal::StreamOpened => self.stream_opened(effects),
            Signal::StreamClosed | Signal::StreamEnded => {}
        }
    }
}

/// The id of something in a record.
fn id(fields: &Object<'_>, key: &str) -> Option<Id> {
    fields.str(key).filter(|id| !id.is_empty()).map(Id::from)
}
