//! The contract for speaking to a living agent: a [`Driver`] turns what is wanted into what must be done. It does
//! nothing itself and tells no events: what it sends is read back by the agent's reader, like all that the agent says.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Body, Event, Fault, Id};
use thiserror::Error;

use crate::Record;

/// Speaks to one living agent.
pub trait Driver: Send {
    /// The agent's process runs, or the built-in agent is there: begin.
    fn open(&mut self, effects: &mut Effects);

    /// A record came or went, and these events were told of it.
    fn saw(&mut self, record: &Record<'_>, events: &[Event], effects: &mut Effects);

    /// Somebody wants something. Prompts come only after [`Effect::Ready`]; while a turn runs, only where the
    /// agent's abilities say that it takes them.
    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported>;

    /// The agent has such a slash command, as far as it is known now: asked before one has to wait for its turn.
    fn has_command(&self, name: &str) -> Result<(), Unsupported> {
        let _unused = name;
        Ok(())
    }

    /// A timer ran out, or something happened to the wire.
    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        let _unused = (signal, effects);
    }
}

/// What somebody wants of an agent.
#[derive(Clone, Debug)]
pub enum Command {
    /// Work on this.
    Prompt(Prompt),
    /// The answer to a request of the agent.
    Answer(Answer),
    /// Stop the turn; the session goes on.
    Interrupt,
    /// Use another model from now on.
    SetModel(String),
    /// Use another of the agent's own modes from now on.
    SetMode(String),
    /// Set one of the agent's own selectors.
    SetOption {
        /// Which.
        id: String,
        /// To what.
        value: String,
    },
    /// Do one of your own slash commands. Like a prompt it comes only after [`Effect::Ready`], but never while a turn
    /// runs, and [`Effect::Settled`] follows, also where no turn was needed.
    Slash {
        /// Which, without its slash.
        name: String,
        /// What stands behind it.
        arguments: String,
    },
    /// No more prompts will come: end by yourself.
    Close,
}

/// A prompt: what to do, and what to look at.
#[derive(Clone, Debug, Default)]
pub struct Prompt {
    /// What to do.
    pub text: String,
    /// What to look at.
    pub images: Vec<Image>,
    /// The JSON Schema that the answer must have.
    pub output_schema: Option<Box<RawValue>>,
}

/// An image, as its bytes.
#[derive(Clone, Debug, Default)]
pub struct Image {
    /// What kind, such as `image/png`.
    pub media_type: String,
    /// The bytes in base64.
    pub data: String,
    /// Where it lies, if it came from a file.
    pub path: Option<PathBuf>,
}

/// The answer to a request of the agent.
#[derive(Clone, Debug, Default)]
pub struct Answer {
    /// The request.
    pub request: Id,
    /// Yes or no.
    pub decision: Decision,
    /// One of the options that the agent offered, where it matters which.
    pub option: Option<String>,
    /// The input that is allowed instead of what was asked for.
    pub input: Option<Box<RawValue>>,
    /// Answers to questions, by question.
    pub answers: BTreeMap<String, Vec<String>>,
    /// What the agent is told.
    pub message: Option<String>,
}

/// Yes or no.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decision {
    /// Yes, this once.
    Allow,
    /// Yes, and the like until the session ends.
    AllowSession,
    /// No, and go on.
    #[default]
    Decline,
    /// No, and stop the turn.
    Cancel,
}

/// What the engine does for a driver.
#[derive(Debug)]
pub enum Effect {
    /// Write a record to the agent. It is read back and kept before it is written.
    Send(Box<RawValue>),
    /// The same for a record that has secrets in it: what is read back and kept has a mask in their place.
    SendMasked {
        /// What is written.
        record: Box<RawValue>,
        /// What is read back and kept.
        kept: Box<RawValue>,
    },
    /// Write a record down that goes nowhere: something was decided that the agent hears of later, with something else.
    Note(Box<RawValue>),
    /// Take a line as if the agent had said it: how an agent without a process speaks.
    Hear(String),
    /// The agent's server is there; all requests go to it.
    Connect {
        /// Where, such as `http://127.0.0.1:4096`.
        url: String,
        /// The value of the `Authorization` header. It is never written down.
        authorization: Option<String>,
        /// The user named it, so it may be on any machine; else only on this one.
        anywhere: bool,
    },
    /// Make a request to the server. It is kept as an outgoing record
    /// `{"id","method","path","body"?}`; its answer comes as an incoming record
    /// `{"id","method","path","status","body"?}`, or with `"error"` in place of the status.
    Http(HttpRequest),
    /// Follow a stream of server-sent events; each `data` comes as an incoming record. Opened again by itself when
    /// it breaks; [`Signal::StreamOpened`] tells each time.
    Listen {
        /// The path on the server.
        path: String,
    },
    /// Follow a session of the server: each message comes as an incoming record, once and in order, whatever becomes
    /// of connections, until the session has ended; [`Signal::StreamEnded`] tells.
    Follow {
        /// Where the messages are.
        feed: Feed,
        /// So many are known already.
        offset: u64,
    },
    /// Close the agent's standard input.
    CloseInput,
    /// Call back after a time, unless disarmed. Arming again starts anew.
    Arm(Timer, Duration),
    /// Do not call back.
    Disarm(Timer),
    /// The handshake is done: prompts may come.
    Ready,
    /// The turn is over and nothing more is under way.
    Settled,
    /// Nothing more will come of this process: it may be stopped.
    Done,
    /// This cannot go on, and why.
    GiveUp(Fault),
}

/// A timer of a driver, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Timer(pub &'static str);

/// Something that happened beside the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// A timer ran out.
    Timer(Timer),
    /// The stream of server-sent events is open, for the first time or again.
    StreamOpened,
    /// The stream of server-sent events broke; it will be opened again.
    StreamClosed,
    /// The session that is followed has ended, and all of it was heard.
    StreamEnded,
}

/// Where a server has the messages of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Feed {
    /// The path of a WebSocket that tells all of them, and then each new one.
    pub socket: String,
    /// The path of the same in pages (`offset`, `limit`), where a WebSocket cannot be had.
    pub pages: String,
    /// The path that tells the session's state.
    pub state: String,
}

/// A request to the agent's server.
#[derive(Debug, Serialize)]
pub struct HttpRequest {
    /// Tells answers apart.
    pub id: u64,
    /// `GET`, `POST` and so on.
    pub method: &'static str,
    /// The path with its query.
    pub path: String,
    /// What is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
    /// What is read and kept of a good answer, where the rest is secret or of no use.
    #[serde(skip)]
    pub digest: Option<fn(&RawValue) -> Box<RawValue>>,
}

/// What a driver wants done, in order.
#[derive(Debug, Default)]
pub struct Effects(Vec<Effect>);

impl Effects {
    /// One more thing to do.
    pub fn push(&mut self, effect: Effect) {
        self.0.push(effect);
    }

    /// Writes a record to the agent.
    pub fn send(&mut self, record: &impl Serialize) {
        self.push(Effect::Send(switchboard_event::raw(record)));
    }

    /// Writes a record with secrets to the agent, and keeps one without them.
    pub fn send_masked(&mut self, record: &impl Serialize, kept: &impl Serialize) {
        self.push(Effect::SendMasked { record: switchboard_event::raw(record), kept: switchboard_event::raw(kept) });
    }

    /// Does not call back.
    pub fn disarm(&mut self, timer: Timer) {
        self.push(Effect::Disarm(timer));
    }

    /// Gives up.
    pub fn give_up(&mut self, fault: Fault) {
        self.push(Effect::GiveUp(fault));
    }

    /// All that is to be done, in order.
    pub fn drain(&mut self) -> std::vec::Drain<'_, Effect> {
        self.0.drain(..)
    }
}

/// A turn of the conversation itself ended.
pub(crate) fn turn_ended(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event.body, Body::TurnCompleted(_)))
}

/// The agent cannot do what is wanted.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}{}", .hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
pub struct Unsupported {
    /// What it cannot do.
    pub what: String,
    /// What a person can do instead.
    pub hint: Option<String>,
}

impl Unsupported {
    /// Something that the agent cannot do.
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    /// The same with what a person can do instead.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
