//! The client of an ACP agent: sends prompts, answers what the agent asks, and ends the session.

use std::collections::VecDeque;

use serde_json::{Value, json, value::RawValue};
use switchboard_event::{Body, Dir, Event, Id};

use super::{
    answers::{Question, Questions},
    fields,
    handshake::{Agent, HISTORY},
    offers::{Choice, Offers},
    setup::Setup,
};
use crate::{
    Answer, Command, Decision, Driver, Effect, Effects, Json, Object, Record, RecordBody, Signal, Unsupported, commands,
};

/// How many of our requests are remembered; an agent that never answers must not cost memory for ever.
const ASKED: usize = 256;

/// Speaks to one ACP agent.
pub struct Client {
    pub(super) setup: Setup,
    /// What the agent said that it can do.
    pub(super) agent: Agent,
    /// The session, by the name that the agent wants to hear.
    pub(super) session: String,
    pub(super) offers: Offers,
    /// Our requests that are not answered yet. Both sides count from 0: these ids are ours.
    asked: VecDeque<(u64, Asked)>,
    next: u64,
    questions: Questions,
    /// How many prompts are being worked on.
    prompts: u32,
    /// The agent was told to stop, and has not done so yet.
    cancelling: bool,
    /// What was chosen about approvals before the first prompt.
    pub(super) chosen_approvals: Vec<Choice>,
    /// The session is open, and the agent still tells its history.
    pub(super) history: bool,
}

/// What a request of ours was.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Asked {
    /// `initialize`.
    Initialize,
    /// A session is opened, by this method.
    Open(&'static str),
    /// What the agent does unasked is chosen, before the first prompt.
    Approval,
    /// The model is chosen, before the first prompt.
    Model,
    /// `session/prompt`.
    Prompt,
    /// Something whose answer only the reader needs.
    Other,
}

impl Client {
    /// A client that is to open such a session.
    pub fn new(setup: Setup) -> Self {
        Self {
            setup,
            agent: Agent::default(),
            session: String::new(),
            offers: Offers::default(),
            asked: VecDeque::new(),
            next: 0,
            questions: Questions::default(),
            prompts: 0,
            cancelling: false,
            chosen_approvals: Vec::new(),
            history: false,
        }
    }

    /// Asks something of the agent.
    pub(super) fn ask(&mut self, what: Asked, method: &str, params: &Value, effects: &mut Effects) {
        let id = self.number(what);
        effects.send(&fields::request(id, method, params));
    }

    /// The number of the next request.
    pub(super) fn number(&mut self, what: Asked) -> u64 {
        let id = self.next;
        self.next += 1;
        if self.asked.len() == ASKED {
            self.asked.pop_front();
        }
        self.asked.push_back((id, what));
        id
    }

    /// Chooses something in the session.
    pub(super) fn choose(&mut self, what: Asked, (method, params): Choice, effects: &mut Effects) {
        let mut params = params;
        params["sessionId"] = json!(self.session);
        self.ask(what, method, &params, effects);
    }

    /// What the agent said.
    fn heard(&mut self, fields: &Object<'_>, events: &[Event], effects: &mut Effects) {
        let id = fields.raw("id");
        match (fields.str("method").as_deref(), id) {
            (Some(method), Some(id)) => self.request(method, id, &fields.object("params"), events, effects),
            (Some(method), None) => self.notification(method, &fields.object("params"), effects),
            (None, Some(id)) => self.answer(&id, fields, effects),
            (None, None) => {}
        }
    }

    /// The agent asks something. What nobody was told of, nobody can answer.
    fn request(
        &mut self,
        method: &str,
        id: Box<RawValue>,
        params: &Object<'_>,
        events: &[Event],
        effects: &mut Effects,
    ) {
        let request = opened(events).unwrap_or_default();
        let question = match method {
            "session/request_permission" => Question::permission(request.clone(), id, params),
            "elicitation/create" => Question::form(request.clone(), id, params),
            _ => {
                let refused = format!("{method} is not offered here");
                return effects.push(Effect::Send(fields::refusal(&id, -32601, &refused)));
            }
        };
        if request.is_empty() || self.cancelling {
            return effects.push(Effect::Send(question.give_up()));
        }
        if let Some(given_up) = self.questions.opened(question) {
            effects.push(Effect::Send(given_up));
        }
    }

    fn notification(&mut self, method: &str, params: &Object<'_>, effects: &mut Effects) {
        match method {
            "$/cancel_request" => {
                let id = params.get("requestId").map(Json::text).unwrap_or_default();
                if let Some(refusal) = self.questions.withdrawn(id) {
                    effects.push(Effect::Send(refusal));
                }
            }
            "session/update" => self.offers.heard(&params.object("update")),
            _ => {}
        }
    }

    /// The agent answered a request of ours.
    fn answer(&mut self, id: &RawValue, fields: &Object<'_>, effects: &mut Effects) {
        let Some(index) = self.asked.iter().position(|(known, _)| known.to_string() == id.get()) else { return };
        let Some((_, what)) = self.asked.remove(index) else { return };
        if what == Asked::Prompt {
            return self.prompt_over(effects);
        }
        self.offers.heard(&fields.object("result"));
        if what != Asked::Other {
            self.shaken(what, fields, effects);
        }
    }

    /// A prompt is done. Whatever is still open will not be looked at: an agent may keep later questions waiting
    /// behind one that is never answered.
    fn prompt_over(&mut self, effects: &mut Effects) {
        self.prompts = self.prompts.saturating_sub(1);
        if self.prompts == 0 {
            self.cancelling = false;
            self.give_up_questions(effects);
            effects.push(Effect::Settled);
        }
    }

    fn give_up_questions(&mut self, effects: &mut Effects) {
        for answer in self.questions.give_up() {
            effects.push(Effect::Send(answer));
        }
    }

    fn prompt(&mut self, prompt: &crate::Prompt, effects: &mut Effects) -> Result<(), Unsupported> {
        if !prompt.images.is_empty() && !self.agent.images {
            return Err(Unsupported::new("the agent takes no images"));
        }
        if prompt.output_schema.is_some() {
            return Err(Unsupported::new("an ACP agent cannot be given a schema for its answer"));
        }
        self.prompts += 1;
        let params = json!({ "sessionId": self.session, "prompt": fields::blocks(prompt) });
        self.ask(Asked::Prompt, "session/prompt", &params, effects);
        Ok(())
    }

    /// Stops the turn. The agent may wait for its questions to be answered before it stops.
    fn interrupt(&mut self, effects: &mut Effects) {
        if self.prompts == 0 {
            return;
        }
        self.cancelling = true;
        effects.send(&fields::notification("session/cancel", &json!({ "sessionId": self.session })));
        self.give_up_questions(effects);
    }

    fn decide(&mut self, answer: &Answer, effects: &mut Effects) -> Result<(), Unsupported> {
        if answer.input.is_some() {
            return Err(Unsupported::new("an ACP agent takes no changed input")
                .with_hint("decline, and say in a prompt what to do instead"));
        }
        if answer.decision == Decision::Cancel {
            self.interrupt(effects);
        }
        if let Some(answer) = self.questions.answered(answer) {
            effects.push(Effect::Send(answer));
        }
        Ok(())
    }
}

impl Driver for Client {
    fn open(&mut self, effects: &mut Effects) {
        self.ask(Asked::Initialize, "initialize", &fields::initialize(), effects);
    }

    fn saw(&mut self, record: &Record<'_>, events: &[Event], effects: &mut Effects) {
        let (Dir::In, RecordBody::Json(raw)) = (record.dir, &record.body) else { return };
        self.heard(&Json::of(raw).object(), events, effects);
        self.still_history(effects);
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => self.prompt(&prompt, effects)?,
            Command::Answer(answer) => self.decide(&answer, effects)?,
            Command::Interrupt => self.interrupt(effects),
            Command::SetModel(model) => self.choose(Asked::Other, self.offers.model(&model)?, effects),
            Command::SetMode(mode) => self.choose(Asked::Other, self.offers.mode(&mode)?, effects),
            Command::SetOption { id, value } => self.choose(Asked::Other, self.offers.option(&id, &value)?, effects),
            Command::Slash { name, arguments } => {
                self.offers.commands.check(&name)?;
                self.prompt(&commands::typed(&name, &arguments), effects)?;
            }
            Command::Close => {
                effects.push(Effect::CloseInput);
                if self.setup.habits.lingers {
                    effects.push(Effect::Done);
                }
            }
        }
        Ok(())
    }

    fn has_command(&self, name: &str) -> Result<(), Unsupported> {
        self.offers.commands.check(name)
    }

    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        if signal == Signal::Timer(HISTORY) {
            self.set_up(effects);
        }
    }
}

/// The request that a record opened.
fn opened(events: &[Event]) -> Option<Id> {
    events.iter().find_map(|event| match &event.body {
        Body::RequestOpened(opened) => Some(opened.request.clone()),
        _ => None,
    })
}
