//! The conversation: where it stands, and who deals with what comes.

use std::collections::{BTreeMap, VecDeque};

use switchboard_event::{Body, Dir, ErrorCode, Event, Fault};

use super::{
    calls::{Calls, Purpose},
    handshake::{Opening, RETRY},
    interrupts::{ASK_AGAIN, INQUIRY, SWEEP},
    requests::Requests,
    selectors::Selectors,
};
use crate::{
    Command, Driver, Effect, Effects, Json, Object, Prompt, Record, RecordBody, Signal, Unsupported,
    codex::{errors, offers::COLLABORATION},
};

/// A conversation with the app-server.
pub struct Conversation {
    pub(super) opening: Opening,
    /// A key to log in with.
    pub(super) key: Option<String>,
    pub(super) thread: Option<String>,
    /// What can be chosen.
    pub(super) selectors: Selectors,
    pub(super) calls: Calls,
    pub(super) turn: Turn,
    /// Prompts that could not be given yet.
    pub(super) queue: VecDeque<Prompt>,
    /// The turn is to be stopped, once it is known.
    pub(super) stopping: bool,
    /// Turns of subagents that are under way, by thread.
    pub(super) children: BTreeMap<String, String>,
    /// What a stopped turn left running is being looked for.
    pub(super) sweeping: bool,
    pub(super) requests: Requests,
    /// How often something was tried again.
    pub(super) tries: u32,
}

/// Where the session's turn is.
pub enum Turn {
    /// There is none.
    Idle,
    /// Asked for, not begun.
    Asked,
    /// Under way.
    Active(String),
}

impl Conversation {
    /// One that has not begun.
    pub fn new(opening: Opening, key: Option<String>) -> Self {
        Self {
            opening,
            key,
            thread: None,
            selectors: Selectors::default(),
            calls: Calls::default(),
            turn: Turn::Idle,
            queue: VecDeque::new(),
            stopping: false,
            children: BTreeMap::new(),
            sweeping: false,
            requests: Requests::default(),
            tries: 0,
        }
    }

    /// It is about the session's own thread.
    pub(super) fn is_main(&self, params: &Object<'_>) -> bool {
        params.str("threadId").as_deref() == self.thread.as_deref()
    }

    fn replied(&mut self, id: Json<'_>, fields: &Object<'_>, effects: &mut Effects) {
        let Some(purpose) = id.u64().and_then(|id| self.calls.take(id)) else { return };
        let refused = fields.get("error").map(|error| errors::from_rpc(&error.object()));
        let result = fields.object("result");
        match (purpose, refused) {
            (Purpose::Initialize, None) => self.initialized(effects),
            (Purpose::LogIn, None) => self.open_thread(effects),
            (Purpose::Open, None) => self.opened(&result, effects),
            (Purpose::Open, Some(fault)) if is_busy(&fault) => self.try_later(fault, effects),
            (Purpose::LogIn, Some(fault)) => {
                let message = format!("Codex did not take the key from the environment: {}", fault.message);
                effects.give_up(Fault::new(ErrorCode::ProviderAuth, message));
            }
            (Purpose::Initialize | Purpose::Open, Some(fault)) => effects.give_up(fault),
            (Purpose::Begin(_), None) => self.accepted(&result.object("turn"), effects),
            (Purpose::Begin(prompt), Some(fault)) => self.not_begun(prompt, fault, effects),
            (Purpose::Steer(prompt), Some(_)) => self.not_steered(prompt, effects),
            (Purpose::Leftovers(items), None) => self.sweep(&items, &result, effects),
            (Purpose::Leftovers(_), Some(_)) => self.swept(effects),
            (Purpose::Models { further }, None) => self.models(further, &result, effects),
            (Purpose::Modes, None) => self.selectors.modes(&result),
            (Purpose::Afresh, None) => self.afresh(&result, effects),
            (Purpose::Inquire, _) => effects.disarm(INQUIRY),
            (Purpose::Command { turn: true }, None) => self.accepted(&result.object("turn"), effects),
            (Purpose::Command { .. }, _) | (Purpose::Afresh, Some(_)) => self.commanded(effects),
            (Purpose::Steer(_), None) | (Purpose::Models { .. } | Purpose::Modes, Some(_)) => {}
        }
    }

    fn told(&mut self, method: &str, params: &Object<'_>, effects: &mut Effects) {
        match method {
            "thread/status/changed" => self.status_changed(params, effects),
            "thread/settings/updated" if self.is_main(params) => self.selectors.keep(&params.object("threadSettings")),
            "turn/started" if !self.is_main(params) => self.child_began(params),
            "turn/completed" | "thread/closed" if !self.is_main(params) => self.child_ended(params, effects),
            "serverRequest/resolved" => self.requests.forget(params.get("requestId")),
            _ => {}
        }
    }

    /// The session's own turn, as the reader tells it.
    fn follow(&mut self, events: &[Event], effects: &mut Effects) {
        for event in events {
            match &event.body {
                Body::TurnStarted(started) => {
                    if let Some(turn) = &started.agent_turn {
                        self.begun(turn, effects);
                    }
                }
                Body::TurnCompleted(completed) => self.ended(completed, events, effects),
                _ => {}
            }
        }
    }
}

/// The server has too much to do.
pub(super) fn is_busy(fault: &Fault) -> bool {
    fault.info.as_deref() == Some("-32001")
}

impl Driver for Conversation {
    fn open(&mut self, effects: &mut Effects) {
        self.introduce(effects);
    }

    fn saw(&mut self, record: &Record<'_>, events: &[Event], effects: &mut Effects) {
        self.follow(events, effects);
        let RecordBody::Json(raw) = record.body else { return };
        if record.dir == Dir::Out {
            return;
        }
        let fields = Json::of(raw).object();
        let params = fields.get("params");
        match (fields.str("method"), fields.get("id")) {
            (Some(method), Some(id)) => self.asked(&method, id, params, events, effects),
            (Some(method), None) if !method.starts_with("item/") => {
                self.told(&method, &fields.object("params"), effects);
            }
            (None, Some(id)) => self.replied(id, &fields, effects),
            _ => {}
        }
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => self.prompted(prompt, effects),
            Command::Answer(answer) => return self.answer(&answer, effects),
            Command::Interrupt => self.interrupt(effects),
            Command::SetModel(model) => self.set_model(&model, effects),
            Command::SetMode(mode) => return self.set_option(COLLABORATION, &mode, effects),
            Command::SetOption { id, value } => return self.set_option(&id, &value, effects),
            Command::Slash { name, arguments } => return self.slash(&name, arguments.trim(), effects),
            // It ends by itself, also in the middle of a turn.
            Command::Close => effects.push(Effect::CloseInput),
        }
        Ok(())
    }

    fn has_command(&self, name: &str) -> Result<(), Unsupported> {
        super::slash::has(name)
    }

    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        match signal {
            Signal::Timer(RETRY) => self.try_again(effects),
            Signal::Timer(ASK_AGAIN) => self.inquire(effects),
            Signal::Timer(INQUIRY) => self.lost(effects),
            Signal::Timer(SWEEP) => self.swept(effects),
            _ => {}
        }
    }
}
