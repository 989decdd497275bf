//! Driver for a session on another server: starts and follows the session, and fetches its agent's requests. Another
//! Switchboard also accepts follow-ups and answers; a server that only supports the protocol never receives them.

use std::time::Duration;

use serde_json::{Value, json};
use switchboard_event::{Dir, ErrorCode, Event, EventBody, Fault, SessionConfig, to_raw_json};

use super::{
    exchange::{failure, is_exchange},
    routes::{SESSIONS, encoded, of_session},
};
use crate::{
    AgentCommand, AgentDriver, DriverEffect, DriverEffects, DriverSignal, DriverTimer, HttpRequest, JsonObject,
    JsonView, Record, RecordBody, RequestAnswer, RequestDecision, SessionFeedPaths, UnsupportedOperation, commands,
};

/// A server usually closes the stream at the end of a session. Time to wait otherwise.
const REST: (DriverTimer, Duration) = (DriverTimer("rest"), Duration::from_secs(3));

/// Configuration of the driver.
pub struct BoardSessionRequest {
    /// The address of the server.
    pub url: String,
    /// The value of the `Authorization` header.
    pub authorization: Option<String>,
    /// The agent on the server.
    pub agent: String,
    /// The project that the session belongs to.
    pub project: String,
    /// The settings for the server.
    pub config: SessionConfig,
    pub start: BoardSessionStart,
}

/// How the session begins.
#[derive(Clone, Debug)]
pub enum BoardSessionStart {
    /// A new session.
    New,
    /// An existing session.
    Known(String),
    /// A copy of an existing session.
    CopyOf(String),
}

/// The pending request before the first prompt.
#[derive(Clone, Copy, PartialEq, Eq)]
enum BoardDriverStage {
    /// The session was requested.
    Session(u64),
    /// The number of its messages was requested.
    Count(u64),
    /// Prompts can be sent.
    Ready,
}

/// Drives a session on a server.
pub struct BoardDriver {
    wanted: BoardSessionRequest,
    session: Option<String>,
    stage: BoardDriverStage,
    requests: u64,
    /// The last prompt, until there is a response.
    posted: Option<u64>,
    /// Number of known messages of the session.
    offset: u64,
    /// The session's messages are being received.
    following: bool,
    in_turn: bool,
    /// A prompt was sent, and its end was not reported yet.
    working: bool,
    /// The session must be cancelled as soon as it is known.
    unwanted: bool,
}

impl BoardDriver {
    pub fn new(wanted: BoardSessionRequest) -> Self {
        let session = match &wanted.start {
            BoardSessionStart::Known(session) => Some(session.clone()),
            BoardSessionStart::New | BoardSessionStart::CopyOf(_) => None,
        };
        Self {
            wanted,
            session,
            stage: BoardDriverStage::Ready,
            requests: 0,
            posted: None,
            offset: 0,
            following: false,
            in_turn: false,
            working: false,
            unwanted: false,
        }
    }

    fn request(
        &mut self,
        method: &'static str,
        path: String,
        body: Option<&Value>,
        effects: &mut DriverEffects,
    ) -> u64 {
        self.requests += 1;
        effects.push(DriverEffect::Http(HttpRequest {
            id: self.requests,
            method,
            path,
            body: body.map(to_raw_json),
            digest: None,
        }));
        self.requests
    }

    /// Returns a path of the session, if it is known.
    fn path(&self, rest: &str) -> Option<String> {
        self.session.as_deref().map(|session| of_session(session, rest))
    }

    /// Sends a GET request about the session.
    fn ask(&mut self, rest: &str, effects: &mut DriverEffects) -> Option<u64> {
        let path = self.path(rest)?;
        Some(self.request("GET", path, None, effects))
    }

    /// Sends a POST request to the session.
    fn tell(
        &mut self,
        rest: &str,
        body: Option<&Value>,
        effects: &mut DriverEffects,
    ) -> Result<u64, UnsupportedOperation> {
        let path = self.path(rest).ok_or_else(|| UnsupportedOperation::new("there is no session on the server yet"))?;
        Ok(self.request("POST", path, body, effects))
    }

    fn prompt(&mut self, text: &str, effects: &mut DriverEffects) {
        (self.working, self.unwanted) = (true, false);
        let number = match self.path("/prompt") {
            Some(path) => self.request("POST", path, Some(&json!({ "prompt": text })), effects),
            None => {
                let body = self.session_request_body(text);
                self.request("POST", SESSIONS.to_owned(), Some(&body), effects)
            }
        };
        self.posted = Some(number);
    }

    fn session_request_body(&self, prompt: &str) -> Value {
        let BoardSessionRequest { agent, project, config, start, .. } = &self.wanted;
        let mut body = json!({ "agentId": agent, "projectId": project, "prompt": prompt });
        if let Some(body) = body.as_object_mut() {
            if *config != SessionConfig::default() {
                body.insert("config".to_owned(), json!(config));
            }
            if let BoardSessionStart::CopyOf(session) = start {
                body.insert("sessionId".to_owned(), json!(session));
                body.insert("fork".to_owned(), json!(true));
            }
        }
        body
    }

    /// Interrupts by cancelling the session: the protocol has no other way, and a follow-up continues it.
    fn cancel(&mut self, effects: &mut DriverEffects) {
        let known = self.posted.is_none() || self.following;
        self.unwanted = !known || self.tell("/cancel", None, effects).is_err();
    }

    fn handle_response(&mut self, answer: &JsonObject<'_>, effects: &mut DriverEffects) {
        let (number, body) = (answer.get_count("id"), answer.get_object("body"));
        let fault = failure(answer);
        if self.posted == Some(number) {
            self.posted = None;
            return self.handle_prompt_response(&body, fault, effects);
        }
        match (self.stage, fault) {
            (BoardDriverStage::Session(awaited) | BoardDriverStage::Count(awaited), Some(fault))
                if awaited == number =>
            {
                let message = format!("the session cannot be continued: {}", fault.message);
                effects.give_up(Fault { message, ..fault });
            }
            (BoardDriverStage::Session(awaited), None) if awaited == number => self.count(&body, effects),
            (BoardDriverStage::Count(awaited), None) if awaited == number => self.handle_message_count(&body, effects),
            _ => {}
        }
    }

    fn handle_prompt_response(&mut self, body: &JsonObject<'_>, fault: Option<Fault>, effects: &mut DriverEffects) {
        match (fault, self.session.clone().or_else(|| body.get_non_empty("id"))) {
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

    /// Requests the number of earlier messages, which are not read again.
    fn count(&mut self, session: &JsonObject<'_>, effects: &mut DriverEffects) {
        let rest = format!("/events?after={}&limit=1", session.get_count("events"));
        if let Some(number) = self.ask(&rest, effects) {
            self.stage = BoardDriverStage::Count(number);
        }
    }

    fn handle_message_count(&mut self, page: &JsonObject<'_>, effects: &mut DriverEffects) {
        let Some(next) = page.get_u64("nextOffset") else {
            let message = "the session cannot be continued: the server does not count its messages";
            return effects.give_up(Fault::new(ErrorCode::ProtocolError, message));
        };
        let new = u64::try_from(page.get_array("events").len()).unwrap_or_default();
        self.offset = next.saturating_sub(new);
        self.stage = BoardDriverStage::Ready;
        effects.push(DriverEffect::Ready);
    }

    fn follow(&mut self, effects: &mut DriverEffects) {
        let Some(session) = self.session.as_deref().filter(|_| !self.following) else { return };
        let feed = SessionFeedPaths {
            socket: format!("/ws/sessions/{}", encoded(session)),
            pages: of_session(session, "/events"),
            state: of_session(session, ""),
        };
        self.following = true;
        effects.push(DriverEffect::Follow { feed, offset: self.offset });
    }

    fn observe_message(&mut self, message: &JsonObject<'_>, effects: &mut DriverEffects) {
        self.offset += 1;
        if message.get_object("payload").get_non_empty("request").is_some() {
            self.ask("/approvals", effects);
        }
    }

    fn apply_events(&mut self, events: &[Event]) -> bool {
        let before = self.in_turn;
        for event in events {
            match &event.body {
                EventBody::TurnStarted(_) => self.in_turn = true,
                EventBody::TurnCompleted(_) => self.in_turn = false,
                _ => {}
            }
        }
        before && !self.in_turn
    }

    fn settle(&mut self, effects: &mut DriverEffects) {
        if std::mem::take(&mut self.working) {
            effects.disarm_timer(REST.0);
            effects.push(DriverEffect::Settled);
        }
    }
}

impl AgentDriver for BoardDriver {
    fn open(&mut self, effects: &mut DriverEffects) {
        let BoardSessionRequest { url, authorization, .. } = &self.wanted;
        let (url, authorization) = (url.clone(), authorization.clone());
        effects.push(DriverEffect::Connect { url, authorization, anywhere: true });
        match self.ask("", effects) {
            Some(number) => self.stage = BoardDriverStage::Session(number),
            None => effects.push(DriverEffect::Ready),
        }
    }

    fn observe_record(&mut self, record: &Record<'_>, events: &[Event], effects: &mut DriverEffects) {
        let ended = self.apply_events(events);
        match (record.dir, &record.body) {
            (Dir::Out, _) => {}
            (Dir::In, RecordBody::Json(json)) => {
                let fields = JsonView::from_raw(json).as_object();
                if is_exchange(&fields) {
                    self.handle_response(&fields, effects)
                } else {
                    self.observe_message(&fields, effects)
                }
            }
            // The message is unreadable, but it counts.
            (Dir::In, _) => self.offset += 1,
        }
        match (ended, self.following) {
            (true, true) => effects.push(DriverEffect::Arm(REST.0, REST.1)),
            (true, false) => self.settle(effects),
            _ => {}
        }
    }

    fn handle_command(
        &mut self,
        handle_command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        match handle_command {
            AgentCommand::Prompt(prompt) => self.prompt(&prompt.text, effects),
            AgentCommand::Answer(answer) => {
                let rest = format!("/approvals/{}", encoded(&answer.request));
                self.tell(&rest, Some(&answer_body(&answer)), effects)?;
            }
            AgentCommand::Interrupt => self.cancel(effects),
            AgentCommand::SetModel(model) if self.session.is_none() => self.wanted.config.model = Some(model),
            AgentCommand::SetModel(model) => drop(self.tell("/model", Some(&json!({ "model": model })), effects)?),
            AgentCommand::SetMode(mode) => drop(self.tell("/mode", Some(&json!({ "mode": mode })), effects)?),
            AgentCommand::SetOption { id, value } => {
                self.tell("/option", Some(&json!({ "id": id, "value": value })), effects)?;
            }
            // The agent on the server interprets the command.
            AgentCommand::Slash { name, arguments } => {
                self.prompt(&commands::command_prompt(&name, &arguments).text, effects)
            }
            AgentCommand::Close => effects.push(DriverEffect::Done),
        }
        Ok(())
    }

    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        match signal {
            DriverSignal::StreamEnded => {
                self.following = false;
                // The messages contain the outcome only in case of a failure.
                if self.in_turn {
                    self.ask("", effects);
                } else {
                    self.settle(effects);
                }
            }
            DriverSignal::Timer(timer) if timer == REST.0 => self.settle(effects),
            DriverSignal::Timer(_) | DriverSignal::StreamOpened | DriverSignal::StreamClosed => {}
        }
    }
}

fn answer_body(answer: &RequestAnswer) -> Value {
    let decision = match answer.decision {
        RequestDecision::Allow => "accept",
        RequestDecision::AllowSession => "acceptForSession",
        RequestDecision::Decline => "decline",
        RequestDecision::Cancel => "cancel",
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
