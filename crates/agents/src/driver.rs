//! The contract for controlling a running agent: a [`AgentDriver`] turns commands into effects. It performs nothing itself
//! and emits no events: the agent's reader reads back what the driver sends, like everything that the agent writes.

use std::{collections::BTreeMap, path::PathBuf, time::Duration};

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Event, EventBody, Fault, Id};
use thiserror::Error;

use crate::Record;

/// Controls one running agent.
pub trait AgentDriver: Send {
    /// Starts the conversation. The agent's process runs, or the built-in agent is available.
    fn open(&mut self, effects: &mut DriverEffects);

    /// Observes a record in either direction together with the events it caused.
    fn observe_record(&mut self, record: &Record<'_>, events: &[Event], effects: &mut DriverEffects);

    /// Handles a command of a client. Prompts come only after [`DriverEffect::Ready`]; while a turn runs, only if the agent's
    /// abilities allow it.
    fn handle_command(
        &mut self,
        command: AgentCommand,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation>;

    /// Checks whether the agent has a slash command, as far as is known. Called before the command is queued for its
    /// turn.
    fn check_slash_command(&self, name: &str) -> Result<(), UnsupportedOperation> {
        let _unused = name;
        Ok(())
    }

    /// Handles an expired timer or a change of the event stream.
    fn handle_signal(&mut self, signal: DriverSignal, effects: &mut DriverEffects) {
        let _unused = (signal, effects);
    }
}

/// A command of a client to an agent.
#[derive(Clone, Debug)]
pub enum AgentCommand {
    /// Starts work on a prompt, or adds it to the running turn.
    Prompt(AgentPrompt),
    /// Answers a request of the agent.
    Answer(RequestAnswer),
    /// Stops the turn; the session continues.
    Interrupt,
    /// Switches to another model.
    SetModel(String),
    /// Switches to another of the agent's own modes.
    SetMode(String),
    /// Sets one of the agent's own selectors.
    SetOption {
        /// The id of the selector.
        id: String,
        /// The id of the new value.
        value: String,
    },
    /// Runs one of the agent's own slash commands. Like a prompt it comes only after [`DriverEffect::Ready`], but never while
    /// a turn runs, and [`DriverEffect::Settled`] follows even if no turn was needed.
    Slash {
        /// The name without its slash.
        name: String,
        /// The text after the name.
        arguments: String,
    },
    /// Ends the session: no more prompts will come.
    Close,
}

/// A prompt with its attachments.
#[derive(Clone, Debug, Default)]
pub struct AgentPrompt {
    pub text: String,
    pub images: Vec<PromptImage>,
    /// The JSON Schema of the answer.
    pub output_schema: Option<Box<RawValue>>,
}

/// An image with its data.
#[derive(Clone, Debug, Default)]
pub struct PromptImage {
    /// The media type, such as `image/png`.
    pub media_type: String,
    /// The data in base64.
    pub data: String,
    /// The path, if the image came from a file.
    pub path: Option<PathBuf>,
}

/// The answer to a request of the agent.
#[derive(Clone, Debug, Default)]
pub struct RequestAnswer {
    /// The id of the request.
    pub request: Id,
    pub decision: RequestDecision,
    /// One of the options that the agent offered, where the choice matters.
    pub option: Option<String>,
    /// The input that is allowed in place of the requested one.
    pub input: Option<Box<RawValue>>,
    /// The answers to questions, by question.
    pub answers: BTreeMap<String, Vec<String>>,
    /// A message to the agent.
    pub message: Option<String>,
}

/// The decision about a request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RequestDecision {
    /// Allows this once.
    Allow,
    /// Allows this and similar requests until the session ends.
    AllowSession,
    /// Declines, and the turn continues.
    #[default]
    Decline,
    /// Declines and stops the turn.
    Cancel,
}

/// An effect that the engine performs for a driver.
#[derive(Debug)]
pub enum DriverEffect {
    /// Writes a record to the agent. The record is read back and stored before it is written.
    Send(Box<RawValue>),
    /// Writes a record with secrets. The record that is read back and stored has a mask in their place.
    SendMasked {
        /// The record that is written.
        record: Box<RawValue>,
        /// The record that is read back and stored.
        kept: Box<RawValue>,
    },
    /// Stores a record without sending it: a decision that the agent learns of later, with another record.
    Note(Box<RawValue>),
    /// Reads a line as if the agent had written it: the output of an agent without a process.
    Hear(String),
    /// Connects to the agent's server, which receives all requests.
    Connect {
        /// The base URL, such as `http://127.0.0.1:4096`.
        url: String,
        /// The value of the `Authorization` header. It is never stored.
        authorization: Option<String>,
        /// The user configured the server, so it may be on any machine; otherwise only on this one.
        anywhere: bool,
    },
    /// Sends a request to the server. It is stored as an outgoing record `{"id","method","path","body"?}`; its response
    /// arrives as an incoming record `{"id","method","path","status","body"?}`, or with `"error"` in place of the
    /// status.
    Http(HttpRequest),
    /// Follows a stream of server-sent events; each `data` arrives as an incoming record. A broken stream is reopened
    /// automatically; [`DriverSignal::StreamOpened`] reports it each time.
    Listen {
        /// The path on the server.
        path: String,
    },
    /// Follows a session of the server: each message arrives as an incoming record, exactly once and in order, across
    /// reconnects, until the session has ended; [`DriverSignal::StreamEnded`] reports the end.
    Follow {
        /// The paths of the messages.
        feed: SessionFeedPaths,
        /// The number of messages that are already known.
        offset: u64,
    },
    /// Closes the agent's standard input.
    CloseInput,
    /// Arms a timer. Arming it again restarts it.
    Arm(DriverTimer, Duration),
    /// Disarms a timer.
    Disarm(DriverTimer),
    /// The handshake is done: prompts may come.
    Ready,
    /// The turn is over and no work is in progress.
    Settled,
    /// The process has finished its work and may be stopped.
    Done,
    /// The agent cannot continue, for this reason.
    GiveUp(Fault),
}

/// A timer of a driver, identified by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DriverTimer(pub &'static str);

/// An event outside the records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DriverSignal {
    /// A timer expired.
    Timer(DriverTimer),
    /// The stream of server-sent events was opened or reopened.
    StreamOpened,
    /// The stream of server-sent events broke; it will be reopened.
    StreamClosed,
    /// The followed session has ended, and all its messages have arrived.
    StreamEnded,
}

/// The paths under which a server has the messages of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionFeedPaths {
    /// The path of a WebSocket that sends all messages and then each new one.
    pub socket: String,
    /// The path of the same messages in pages (`offset`, `limit`), if a WebSocket is unavailable.
    pub pages: String,
    /// The path of the session's state.
    pub state: String,
}

/// A request to the agent's server.
#[derive(Debug, Serialize)]
pub struct HttpRequest {
    /// The id that links the response to the request.
    pub id: u64,
    /// The HTTP method.
    pub method: &'static str,
    /// The path with its query.
    pub path: String,
    /// The request body.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub body: Option<Box<RawValue>>,
    /// Reduces a successful response to the part that is read and stored, if the rest is secret or useless.
    #[serde(skip)]
    pub digest: Option<fn(&RawValue) -> Box<RawValue>>,
}

/// The effects that a driver requests, in order.
#[derive(Debug, Default)]
pub struct DriverEffects(Vec<DriverEffect>);

impl DriverEffects {
    pub fn push(&mut self, effect: DriverEffect) {
        self.0.push(effect);
    }

    /// Writes a record to the agent.
    pub fn send_record(&mut self, record: &impl Serialize) {
        self.push(DriverEffect::Send(switchboard_event::to_raw_json(record)));
    }

    /// Writes a record with secrets to the agent and stores one without them.
    pub fn send_masked_record(&mut self, record: &impl Serialize, kept: &impl Serialize) {
        self.push(DriverEffect::SendMasked {
            record: switchboard_event::to_raw_json(record),
            kept: switchboard_event::to_raw_json(kept),
        });
    }

    pub fn disarm_timer(&mut self, timer: DriverTimer) {
        self.push(DriverEffect::Disarm(timer));
    }

    /// Ends the session with an error.
    pub fn give_up(&mut self, fault: Fault) {
        self.push(DriverEffect::GiveUp(fault));
    }

    pub fn drain(&mut self) -> std::vec::Drain<'_, DriverEffect> {
        self.0.drain(..)
    }
}

/// Returns whether a turn of the main conversation ended.
pub(crate) fn has_turn_completed(events: &[Event]) -> bool {
    events.iter().any(|event| matches!(event.body, EventBody::TurnCompleted(_)))
}

/// The agent does not support the requested operation.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{what}{}", .hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
pub struct UnsupportedOperation {
    /// The unsupported operation.
    pub what: String,
    /// An alternative for the user.
    pub hint: Option<String>,
}

impl UnsupportedOperation {
    #[must_use]
    pub fn new(what: impl Into<String>) -> Self {
        Self { what: what.into(), hint: None }
    }

    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}
