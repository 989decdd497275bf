//! What is said to another server: a session is started and followed, and what its agent asks is fetched. Another
//! Switchboard also takes follow-ups and answers; a server that only knows the protocol is never asked for them.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_event::{Body, Dir, ErrorCode, Event, Fault, SessionConfig, raw};

use super::{
    exchange::{failure, is_exchange},
    routes::{SESSIONS, encoded, of_session},
};
use crate::{
    Answer, Command, Decision, Driver, Effect, Effects, Feed, HttpRequest, Json, Object, Record, RecordBody, Signal,
    Timer, Unsupported, commands,
};

/// A server that says that the session is over closes its stream at once. If not, this is waited.
const REST: (Timer, Duration) = (Timer("rest"), Duration::from_secs(3));

/// What is wanted of a server.
pub struct Wanted {
    /// Where it is.
    pub url: String,
    /// The value of the `Authorization` header.
    pub authorization: Option<String>,
    /// The agent there.
    pub agent: String,
    /// What the work belongs to.
    pub project: String,
    /// The settings, as the server is told them.
    pub config: SessionConfig,
    /// Which session.
    pub start: Start,
}

/// Which session is wanted.
#[derive(Clone, Debug)]
pub enum Start {
    /// A new one.
    New,
    /// This one.
    Known(String),
    /// A copy of this one.
    CopyOf(String),
}

/// What is waited for before a prompt can be given.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// What is known about the session.
    Session(u64),
    /// How many messages it has.
    Count(u64),
    /// Nothing.
    Ready,
}

/// Speaks to a server.
pub struct Client {
    wanted: Wanted,
    session: Option<String>,
    stage: Stage,
    requests: u64,
    /// The prompt that was sent last, until it is answered.
    posted: Option<u64>,
    /// How many messages of the session are known.
    offset: u64,
    /// The session's messages are coming.
    following: bool,
    in_turn: bool,
    /// A prompt was given, and nobody was told that all of it is over.
    working: bool,
    /// It shall end, and does not know yet.
    unwanted: bool,
}

impl Client {
    /// Nothing was said yet.
    pub fn new(wanted: Wanted) -> Self {
        let session = match &wanted.start {
            Start::Known(session) => Some(session.clone()),
            Start::New | Start::CopyOf(_) => None,
        };
        Self {
            wanted,
            session,
            stage: Stage::Ready,
            requests: 0,
            posted: None,
            offset: 0,
            following: false,
            in_turn: false,
            working: false,
            unwanted: false,
        }
    }

    fn request(&mut self, method: &'static str, path: String, body: Option<&Value>, effects: &mut Effects) -> u64 {
        self.requests += 1;
        effects.push(Effect::Http(HttpRequest { id: self.requests, method, path, body: body.map(raw), digest: None }));
        self.requests
    }

    /// A path of the session, once it is known.
    fn path(&self, rest: &str) -> Option<String> {
        self.session.as_deref().map(|session| of_session(session, rest))
    }

    /// Asks something of the session.
    fn ask(&mut self, rest: &str, effects: &mut Effects) -> Option<u64> {
        let path = self.path(rest)?;
        Some(self.request("GET", path, None, effects))
    }

    /// Tells the session something.
    fn tell(&mut self, rest: &str, body: Option<&Value>, effects: &mut Effects) -> Result<u64, Unsupported> {
        let path = self.path(rest).ok_or_else(|| Unsupported::new("there is no session on the server yet"))?;
        Ok(self.request("POST", path, body, effects))
    }

    fn prompt(&mut self, text: &str, effects: &mut Effects) {
        (self.working, self.unwanted) = (true, false);
        let number = match self.path("/prompt") {
            Some(path) => self.request("POST", path, Some(&json!({ "prompt": text })), effects),
            None => {
                let body = self.beginning(text);
                self.request("POST", SESSIONS.to_owned(), Some(&body), effects)
            }
        };
        self.posted = Some(number);
    }

    fn beginning(&self, prompt: &str) -> Value {
        let Wanted { agent, project, config, start, .. } = &self.wanted;
        let mut body = json!({ "agentId": agent, "projectId": project, "prompt": prompt });
        if let Some(body) = body.as_object_mut() {
            if *config != SessionConfig::default() {
                body.insert("config".to_owned(), json!(config));
            }
            if let Start::CopyOf(session) = start {
                body.insert("sessionId".to_owned(), json!(session));
                body.insert("fork".to_owned(), json!(true));
            }
        }
        body
    }

    /// The session's own interrupt is its end: the protocol has no other, and a follow-up continues it.
    fn cancel(&mut self, effects: &mut Effects) {
        let known = self.posted.is_none() || self.following;
        self.unwanted = !known || self.tell("/cancel", None, effects).is_err();
    }

    fn answered(&mut self, answer: &Object<'_>, effects: &mut Effects) {
        let (number, body) = (answer.count("id"), answer.object("body"));
        let fault = failure(answer);
        if self.posted == Some(number) {
            self.posted = None;
            return self.prompt_answered(&body, fault, effects);
        }
        match (self.stage, fault) {
            (Stage::Session(awaited) | Stage::Count(awaited), Some(fault)) if awaited == number => {
                let message = format!("the session cannot be continued: {}", fault.message);
                effects.give_up(Fault { message, ..fault });
            }
            (Stage::Session(awaited), None) if awaited == number => self.count(&body, effects),
            (Stage::Count(awaited), None) if awaited == number => self.counted(&body, effects),
            _ => {}
        }
    }

    fn prompt_answered(&mut self, body: &Object<'_>, fault: Option<Fault>, effects: &mut Effects) {
        match (fault, self.session.clone().or_else(|| body.filled("id"))) {
            (None, Some(session)) => {
                self.session = Some(session);
                self.follow(effects);
                if std::mem::take(&mut self.unwanted) {
                    self.cancel(effects);
                }
            }
            (None, None) => {
                let message = "the server did not say which session it started";
                effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
            }
            (Some(_), Some(_)) => self.settle(effects),
            (Some(fault), None) => {
                let message = format!("{} started no session: {}", self.wanted.url, fault.message);
                effects.give_up(Fault { message, ..fault });
            }
        }
    }

    /// What the session had before is not told again, so it is counted.
    fn count(&mut self, session: &Object<'_>, effects: &mut Effects) {
        let rest = format!("/events?after={}&limit=1", session.count("events"));
        if let Some(number) = self.ask(&rest, effects) {
            self.stage = Stage::Count(number);
        }
    }

    fn counted(&mut self, page: &Object<'_>, effects: &mut Effects) {
        let Some(next) = page.u64("nextOffset") else {
            let message = "the session cannot be continued: the server does not count its messages";
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
        };
        let new = u64::try_from(page.array("events").len()).unwrap_or_default();
        self.offset = next.saturating_sub(new);
        self.stage = Stage::Ready;
        effects.push(Effect::Ready);
    }

    fn follow(&mut self, effects: &mut Effects) {
        let Some(session) = self.session.as_deref().filter(|_| !self.following) else { return };
        let feed = Feed {
            socket: format!("/ws/sessions/{}", encoded(session)),
            pages: of_session(session, "/events"),
            state: of_session(session, ""),
        };
        self.following = true;
        effects.push(Effect::Follow { feed, offset: self.offset });
    }

    /// A message of the session.
    fn heard(&mut self, message: &Object<'_>, effects: &mut Effects) {
        self.offset += 1;
        if message.object("payload").filled("request").is_some() {
            self.ask("/approvals", effects);
        }
    }

    fn told(&mut self, events: &[Event]) -> bool {
        let before = self.in_turn;
        for event in events {
            match &event.body {
                Body::TurnStarted(_) => self.in_turn = true,
                Body::TurnCompleted(_) => self.in_turn = false,
                _ => {}
            }
        }
        before && !self.in_turn
    }

    fn settle(&mut self, effects: &mut Effects) {
        if std::mem::take(&mut self.working) {
            effects.disarm(REST.0);
            effects.push(Effect::Settled);
        }
    }
}

impl Driver for Client {
    fn open(&mut self, effects: &mut Effects) {
        let Wanted { url, authorization, .. } = &self.wanted;
        let (url, authorization) = (url.clone(), authorization.clone());
        effects.push(Effect::Connect { url, authorization, anywhere: true });
        match self.ask("", effects) {
            Some(number) => self.stage = Stage::Session(number),
            None => effects.push(Effect::Ready),
        }
    }

    fn saw(&mut self, record: &Record<'_>, events: &[Event], effects: &mut Effects) {
        let ended = self.told(events);
        match (record.dir, &record.body) {
            (Dir::Out, _) => {}
            (Dir::In, RecordBody::Json(json)) => {
                let fields = Json::of(json).object();
                if is_exchange(&fields) { self.answered(&fields, effects) } else { self.heard(&fields, effects) }
            }
            // It makes no sense, but it counts.
            (Dir::In, _) => self.offset += 1,
        }
        match (ended, self.following) {
            (true, true) => effects.push(Effect::Arm(REST.0, REST.1)),
            (true, false) => self.settle(effects),
            _ => {}
        }
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => self.prompt(&prompt.text, effects),
            Command::Answer(answer) => {
                let rest = format!("/approvals/{}", encoded(&answer.request));
                self.tell(&rest, Some(&answer_body(&answer)), effects)?;
            }
            Command::Interrupt => self.cancel(effects),
            Command::SetModel(model) if self.session.is_none() => self.wanted.config.model = Some(model),
            Command::SetModel(model) => drop(self.tell("/model", Some(&json!({ "model": model })), effects)?),
            Command::SetMode(mode) => drop(self.tell("/mode", Some(&json!({ "mode": mode })), effects)?),
            Command::SetOption { id, value } => {
                self.tell("/option", Some(&json!({ "id": id, "value": value })), effects)?;
            }
            // What the agent behind the server makes of it, it says itself.
            Command::Slash { name, arguments } => self.prompt(&commands::typed(&name, &arguments).text, effects),
            Command::Close => effects.push(Effect::Done),
        }
        Ok(())
    }

    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        match signal {
            Signal::StreamEnded => {
                self.following = false;
                // How it ended, the messages say only if it did not go well.
                if self.in_turn {
                    self.ask("", effects);
                } else {
                    self.settle(effects);
                }
            }
            Signal::Timer(timer) if timer == REST.0 => self.settle(effects),
            Signal::Timer(_) | Signal::StreamOpened | Signal::StreamClosed => {}
        }
    }
}

fn answer_body(answer: &Answer) -> Value {
    let decision = match answer.decision {
        Decision::Allow => "accept",
        Decision::AllowSession => "acceptForSession",
        Decision::Decline => "decline",
        Decision::Cancel => "cancel",
    };
    let mut body = json!({ "decision": decision });
    let parts = [
        ("option", answer.option.as_ref().map(|option| json!(option))),
        ("reason", answer.message.as_ref().map(|message| json!(message))),
        ("input", answer.input.as_ref().map(|input| json!(input))),
        ("answers", (!answer.answers.is_empty()).then(|| json!(answer.answers))),
    ];
    if let Some(body) = body.as_object_mut() {
        body.extend(parts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))));
    }
    body
}
