//! What is said to Claude Code: the handshake, prompts, settings, and an answer to everything it asks. What answers
//! look like is in `answers.rs`, when it is done in `pace.rs`.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{Body, Dir, ErrorCode, Event, Fault};

use super::{
    answers::{self, Asked},
    errors, launch, modes,
    offers::Offers,
    pace::{Pace, SETTLE},
    prompts::{self, Ids},
};
use crate::{
    Answer, Command, Driver, Effect, Effects, Json, Object, Order, Prompt, Record, RecordBody, Signal, Unsupported,
    commands::{self, Commands},
};

/// The id of the handshake.
pub const HELLO: &str = "initialize";

/// Speaks to one process of Claude Code.
pub struct Claude {
    cwd: String,
    /// The session to continue.
    resumed: Option<String>,
    /// The JSON Schema of all answers: it belongs to the process, not to a prompt.
    schema: Option<Box<RawValue>>,
    ids: Ids,
    requests: u64,
    ready: bool,
    commands: Commands,
    offers: Offers,
    asked: Asked,
    pace: Pace,
}

/// A request of ours.
#[derive(Serialize)]
struct Request<'a, T> {
    #[serde(rename = "type")]
    kind: &'a str,
    request_id: &'a str,
    request: T,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Hello<'a> {
    subtype: &'a str,
    /// What subagents say, not only what they do.
    forward_subagent_text: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    json_schema: Option<&'a RawValue>,
}

impl Claude {
    /// For a process that is started by this order.
    pub fn new(order: &Order<'_>) -> Self {
        let mut offers = Offers::default();
        if let Some(model) = launch::model(order) {
            offers.uses(&model);
        }
        Self {
            cwd: order.cwd.to_string_lossy().into_owned(),
            resumed: order.resume.map(|resume| resume.session.to_owned()),
            schema: order.prompt.output_schema.clone(),
            ids: Ids::new(order.secret),
            requests: 0,
            ready: false,
            commands: Commands::default(),
            offers,
            asked: Asked::default(),
            pace: Pace::default(),
        }
    }
}

impl Driver for Claude {
    fn open(&mut self, effects: &mut Effects) {
        let hello = Hello { subtype: HELLO, forward_subagent_text: true, json_schema: self.schema.as_deref() };
        effects.send(&Request { kind: "control_request", request_id: HELLO, request: hello });
    }

    fn saw(&mut self, record: &Record<'_>, events: &[Event], effects: &mut Effects) {
        let grows = |event: &Event| matches!(event.body, Body::ItemDelta(_));
        // Most records only add a few words.
        if record.dir == Dir::Out || !events.is_empty() && events.iter().all(grows) {
            return;
        }
        if let RecordBody::Json(raw) = record.body {
            self.heard(&Json::of(raw).object(), effects);
        }
    }

    fn command(&mut self, command: Command, effects: &mut Effects) -> Result<(), Unsupported> {
        match command {
            Command::Prompt(prompt) => return self.prompt(&prompt, effects),
            Command::Answer(answer) => return self.answer(&answer, effects),
            Command::Interrupt => self.interrupt(effects),
            Command::SetModel(model) => {
                self.offers.uses(&model);
                self.request(json!({ "subtype": "set_model", "model": model }), effects);
            }
            Command::SetMode(mode) => {
                modes::check(&mode)?;
                self.request(json!({ "subtype": "set_permission_mode", "mode": mode }), effects);
            }
            Command::SetOption { id, value } => {
                let request = self.offers.request(&id, &value)?;
                self.request(request, effects);
            }
            Command::Slash { name, arguments } => {
                self.commands.check(&name)?;
                return self.prompt(&commands::typed(&name, &arguments), effects);
            }
            Command::Close => effects.push(Effect::CloseInput),
        }
        Ok(())
    }

    fn has_command(&self, name: &str) -> Result<(), Unsupported> {
        self.commands.check(name)
    }

    fn signal(&mut self, signal: Signal, effects: &mut Effects) {
        if signal == Signal::Timer(SETTLE) {
            self.pace.ran_out(effects);
        }
    }
}

impl Claude {
    /// Says something to Claude Code that is answered; gives the id of the answer.
    fn request(&mut self, request: Value, effects: &mut Effects) -> String {
        self.requests += 1;
        let request_id = format!("switchboard-{}", self.requests);
        effects.send(&Request { kind: "control_request", request_id: &request_id, request });
        request_id
    }

    fn prompt(&mut self, prompt: &Prompt, effects: &mut Effects) -> Result<(), Unsupported> {
        let schema = prompt.output_schema.as_deref().map(RawValue::get);
        if schema.is_some() && schema != self.schema.as_deref().map(RawValue::get) {
            return Err(Unsupported::new("Claude Code cannot change the schema of its answers in a session")
                .with_hint("give the schema with the first prompt, or resume the session with it"));
        }
        let id = self.ids.next();
        effects.send(&prompts::message(prompt, Some(&id)));
        if self.pace.is_working() {
            // Any request will do that costs nothing.
            let mark = self.request(json!({ "subtype": "get_binary_version" }), effects);
            self.pace.queued(id, mark);
        }
        self.pace.prompted();
        Ok(())
    }

    /// Stops the turn. Prompts that wait would begin the next one at once, so they are called back first.
    fn interrupt(&mut self, effects: &mut Effects) {
        for prompt in self.pace.stopping() {
            self.request(json!({ "subtype": "cancel_async_message", "message_uuid": prompt }), effects);
        }
        self.request(json!({ "subtype": "interrupt" }), effects);
    }

    fn answer(&mut self, answer: &Answer, effects: &mut Effects) -> Result<(), Unsupported> {
        let asked = self.asked.get(&answer.request);
        let asked = asked.ok_or_else(|| Unsupported::new("Claude Code no longer waits for this answer"))?;
        let response = answers::response(asked, answer, &self.cwd)?;
        effects.send(&answers::success(&answer.request, &response));
        self.asked.forget(&answer.request);
        Ok(())
    }

    /// Claude Code said something.
    fn heard(&mut self, fields: &Object<'_>, effects: &mut Effects) {
        match fields.str("type").as_deref() {
            Some("control_response") => self.answered(&fields.object("response"), effects),
            Some("control_request") => self.asked(fields, effects),
            Some("control_cancel_request") => self.asked.forget(&fields.str("request_id").unwrap_or_default()),
            Some("system") => self.system(fields, effects),
            Some("result") => self.result(fields, effects),
            _ => {}
        }
    }

    /// One of our requests was answered. That the handshake went wrong matters little: it only brings more.
    fn answered(&mut self, response: &Object<'_>, effects: &mut Effects) {
        let id = response.str("request_id").unwrap_or_default();
        if id == HELLO && !self.ready {
            self.ready = true;
            let payload = response.object("response");
            self.keep_commands(&payload);
            self.offers.told(&payload);
            effects.push(Effect::Ready);
        }
        self.pace.answered(&id);
    }

    /// The commands that it has, by all their names.
    fn keep_commands(&mut self, fields: &Object<'_>) {
        let commands = fields.array("commands").into_iter().map(Json::object);
        let names = commands.flat_map(|command| command.filled("name").into_iter().chain(command.strings("aliases")));
        self.commands.are(names);
    }

    /// Claude Code asks: somebody, if it is for people, and otherwise us. Nothing may be left without an answer.
    fn asked(&mut self, fields: &Object<'_>, effects: &mut Effects) {
        let id = fields.string("request_id").unwrap_or_default();
        let request = fields.object("request");
        match request.str("subtype").as_deref() {
            Some("can_use_tool" | "elicitation") => {
                self.asked.remember(&id, fields.raw("request").unwrap_or_default());
            }
            // We have no hooks; nothing to say means to go on.
            Some("hook_callback") => effects.send(&answers::success(&id, &json!({}))),
            Some("request_user_dialog") => effects.send(&answers::success(&id, &json!({ "behavior": "cancelled" }))),
            _ => effects.send(&answers::error(&id, "not supported here")),
        }
    }

    fn system(&mut self, fields: &Object<'_>, effects: &mut Effects) {
        match fields.str("subtype").as_deref() {
            Some("session_state_changed") => self.pace.state(&fields.str("state").unwrap_or_default(), effects),
            Some("init") => {
                self.pace.began(effects);
                if let Some(model) = fields.filled("model") {
                    self.offers.uses(&model);
                }
                self.check_schema(fields, effects);
            }
            Some("commands_changed") => self.keep_commands(fields),
            Some(task) if task.starts_with("task_") => self.pace.task(task, fields),
            _ => {}
        }
    }

    /// Claude Code 2.1.197 says nothing about a schema that it does not take. It only lacks the tool for it.
    fn check_schema(&self, init: &Object<'_>, effects: &mut Effects) {
        let tools = init.strings("tools");
        if self.schema.is_some() && !tools.is_empty() && !tools.iter().any(|tool| tool == "StructuredOutput") {
            let text = "Claude Code does not take the schema for its answers: is it valid JSON Schema?";
            effects.give_up(Fault::new(ErrorCode::ExecutionError, text));
        }
    }

    fn result(&mut self, fields: &Object<'_>, effects: &mut Effects) {
        let missing = !self.ready && errors::of_result(fields, None, None).code == ErrorCode::SessionNotFound;
        if missing {
            let (session, cwd) = (self.resumed.as_deref().unwrap_or_default(), &self.cwd);
            let text = format!("Claude Code has no session {session} in {cwd}, and looks for it nowhere else");
            return effects.give_up(Fault::new(ErrorCode::SessionNotFound, text));
        }
        self.pace.ended(effects);
    }
}
