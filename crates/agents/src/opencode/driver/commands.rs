//! Commands to OpenCode: prompts, interrupts, answers to its requests, and the selection of model, mode and reasoning
//! effort.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};
use switchboard_event::{Event, EventBody, Id, RequestOpened, to_raw_json};

use super::{OpenCodeDriver, handshake::OpeningStage, turn_tracker::ActivityChange};
use crate::{
    AgentPrompt, DriverEffect, DriverEffects, JsonObject, JsonView, PromptImage, RequestAnswer, RequestDecision,
    UnsupportedOperation,
    opencode::{
        launch::{self, ModelName},
        offers::{self, DEFAULT, EFFORT},
    },
};

/// Maximum number of open requests, more than ever occur at once.
const LIMIT: usize = 256;

/// Message to the model for a refusal without a reason. A refusal without a message ends the turn in versions that
/// cannot continue after one.
const NO: &str = "The user does not allow this. Go on without it.";

#[derive(Default)]
pub struct OpenCodeRequests(Vec<OpenCodeRequest>);

struct OpenCodeRequest {
    request: Id,
    /// The session that made the request. Subagents have their own.
    thread: Option<Id>,
    /// The questions in their order; `None` for a permission.
    questions: Option<Vec<String>>,
    /// A refusal that was not sent yet.
    refusal: Option<String>,
}

impl OpenCodeRequests {
    /// Adds opened requests and removes resolved ones.
    pub fn apply_events(&mut self, events: &[Event]) {
        for event in events {
            match &event.body {
                EventBody::RequestOpened(request) => self.add_request(request, event.thread.clone()),
                EventBody::RequestResolved(resolved) => self.0.retain(|asked| asked.request != resolved.request),
                _ => {}
            }
        }
    }

    fn add_request(&mut self, request: &RequestOpened, thread: Option<Id>) {
        if self.0.len() >= LIMIT {
            self.0.remove(0);
        }
        let ids = || request.questions.iter().map(|question| question.id.clone()).collect();
        let questions = (!request.questions.is_empty()).then(ids);
        self.0.push(OpenCodeRequest { request: request.request.clone(), thread, questions, refusal: None });
    }

    /// Discards refusals that were not sent yet.
    pub fn forget(&mut self) {
        self.0.iter_mut().for_each(|asked| asked.refusal = None);
    }

    fn find(&mut self, request: &Id) -> Result<&mut OpenCodeRequest, UnsupportedOperation> {
        let found = self.0.iter_mut().find(|asked| asked.request == *request);
        found.ok_or_else(|| UnsupportedOperation::new(format!("OpenCode does not ask `{request}`")))
    }

    /// Takes the refusals that can be sent. One refusal refuses all open requests of its session, so it waits until no
    /// other request there is undecided.
    fn refusals(&mut self) -> Vec<(Id, String)> {
        let undecided = |asked: &OpenCodeRequest| asked.questions.is_none() && asked.refusal.is_none();
        let waited_for: Vec<_> =
            self.0.iter().filter(|asked| undecided(asked)).map(|asked| asked.thread.clone()).collect();
        let ready = self.0.iter_mut().filter(|asked| !waited_for.contains(&asked.thread));
        ready.filter_map(|asked| Some((asked.request.clone(), asked.refusal.take()?))).collect()
    }
}

impl OpenCodeDriver {
    pub(super) fn answer(
        &mut self,
        answer: RequestAnswer,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        let asked = self.desk.find(&answer.request)?;
        let request = &answer.request;
        match (answer.decision, asked.questions.clone()) {
            (RequestDecision::Allow | RequestDecision::AllowSession, Some(questions)) => {
                let given = |question| answer.answers.get(question).cloned().unwrap_or_default();
                let answers: Vec<_> = questions.iter().map(given).collect();
                self.post(format!("/question/{request}/reply"), &json!({ "answers": answers }), effects);
            }
            (RequestDecision::Allow, None) if answer.option.as_deref() != Some("always") => {
                self.reply_to_permission(request, "once", effects)
            }
            (RequestDecision::Allow | RequestDecision::AllowSession, None) => {
                self.reply_to_permission(request, "always", effects)
            }
            (RequestDecision::Decline, Some(_)) => self.reject_question(request, effects),
            (RequestDecision::Decline, None) => {
                asked.refusal =
                    Some(answer.message.filter(|text| !text.trim().is_empty()).unwrap_or_else(|| NO.to_owned()));
            }
            (RequestDecision::Cancel, questions) => {
                self.interrupt(effects);
                match questions {
                    Some(_) => self.reject_question(request, effects),
                    None => self.reply_to_permission(request, "reject", effects),
                }
            }
        }
        self.send_refusals(effects);
        Ok(())
    }

    fn reply_to_permission(&mut self, request: &Id, reply: &str, effects: &mut DriverEffects) {
        self.post(format!("/permission/{request}/reply"), &json!({ "reply": reply }), effects);
    }

    fn reject_question(&mut self, request: &Id, effects: &mut DriverEffects) {
        self.post(format!("/question/{request}/reject"), &json!({}), effects);
    }

    pub(super) fn send_refusals(&mut self, effects: &mut DriverEffects) {
        for (request, message) in self.desk.refusals() {
            let body = json!({ "reply": "reject", "message": message });
            self.post(format!("/permission/{request}/reply"), &body, effects);
        }
    }
}

/// Function that reduces a response to the part that is stored.
pub type OfferDigest = fn(&RawValue) -> Box<RawValue>;

impl OpenCodeDriver {
    pub(super) fn set_model(&mut self, model: &str, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        let named = launch::model(model)?;
        self.offers.check_model(model)?;
        self.choices.model = Some(named);
        self.offers.set_current_model(Some(model.to_owned()));
        self.choices.variant = self.offers.variant().map(str::to_owned);
        note_selection(&json!({ "model": model, "variant": self.choices.variant }), effects);
        Ok(())
    }

    /// `variant` is OpenCode's own term for the reasoning effort.
    pub(super) fn set_option(
        &mut self,
        id: &str,
        value: String,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        if !matches!(id, EFFORT | "variant" | "effort") {
            return Err(UnsupportedOperation::new(format!("OpenCode has no option `{id}`"))
                .with_hint(format!("it has {EFFORT}")));
        }
        self.offers.check_variant(&value)?;
        self.choices.variant = Some(value).filter(|value| value != DEFAULT);
        self.offers.set_current_variant(self.choices.variant.clone());
        note_selection(&json!({ "variant": self.choices.variant }), effects);
        Ok(())
    }

    /// Selects another of OpenCode's agents from the next prompt on. Its restrictions apply to the session too.
    pub(super) fn set_mode(&mut self, mode: String, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        let modes = self.modes();
        if !modes.is_empty() && !modes.contains(&mode) {
            return Err(UnsupportedOperation::new(format!("OpenCode has no mode `{mode}`"))
                .with_hint(format!("it has {}", modes.join(", "))));
        }
        note_selection(&json!({ "agent": mode }), effects);
        self.choices.mode = Some(mode);
        if self.asks && self.session.is_some() {
            let rules = self.rules();
            self.send_rules(&rules, effects);
        }
        Ok(())
    }

    fn modes(&self) -> Vec<String> {
        let agents = self.agents.as_deref().and_then(JsonView::parse).map(JsonView::as_array).unwrap_or_default();
        let agents = agents.into_iter().map(JsonView::as_object);
        let modes = agents.filter(|agent| !agent.str_equals("mode", "subagent") && !agent.is_true("hidden"));
        modes.filter_map(|agent| agent.get_non_empty("name")).collect()
    }

    /// Requests the available choices, once.
    pub(super) fn ask_for_offers(&mut self, effects: &mut DriverEffects) {
        if std::mem::replace(&mut self.curious, false) {
            let wanted: [(&str, OfferDigest); 3] = [
                ("/config", offers::config_digest),
                ("/config/providers", offers::providers_digest),
                ("/command", offers::commands_digest),
            ];
            for (path, digest) in wanted {
                let number = self.request_digest(path, digest, effects);
                self.awaited.push(number);
            }
        }
    }

    /// Handles the response to one of these requests, successful or not. Returns whether it was one.
    pub(super) fn handle_offers(&mut self, number: u64, answer: &JsonObject<'_>, effects: &mut DriverEffects) -> bool {
        let Some(at) = self.awaited.iter().position(|awaited| *awaited == number) else { return false };
        self.awaited.remove(at);
        match answer.get_str("path").as_deref() {
            Some("/config") => self.offers.config(&answer.get_object("body")),
            Some("/config/providers") => self.offers.providers(&answer.get_object("body")),
            Some("/command") => {
                let body = answer.get("body").map(offers::commands).unwrap_or_default();
                self.commands.set_names(body.into_iter().map(|command| command.name));
            }
            _ => {}
        }
        if self.stage == OpeningStage::Offers && self.awaited.is_empty() {
            self.stage = OpeningStage::Ready;
            effects.push(DriverEffect::Ready);
        }
        true
    }
}

/// Notes a selection that is sent with the next prompt.
fn note_selection(what: &Value, effects: &mut DriverEffects) {
    effects.push(DriverEffect::Note(to_raw_json(&json!({ "set": what }))));
}

/// The selection that is sent with every prompt.
#[derive(Default)]
pub struct PromptSelections {
    /// The model. Otherwise the session's last model or OpenCode's default applies.
    pub model: Option<ModelName>,
    /// One of OpenCode's agents.
    pub mode: Option<String>,
    /// The reasoning effort, in the provider's terms.
    pub variant: Option<String>,
}

#[derive(Serialize)]
struct PromptBody<'a> {
    parts: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<ModelRef<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<AnswerFormat<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ModelRef<'a> {
    #[serde(rename = "providerID")]
    provider: &'a str,
    #[serde(rename = "modelID")]
    model: &'a str,
}

#[derive(Serialize)]
struct AnswerFormat<'a> {
    r#type: &'static str,
    schema: &'a RawValue,
}

impl OpenCodeDriver {
    /// Sends a prompt. OpenCode 1.18.33 drops a prompt that arrives while a turn is ending, so it waits until then.
    pub(super) fn prompt(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        if self.pulse.is_ending() {
            return self.waiting.push(prompt);
        }
        let parts = std::iter::once(json!({ "type": "text", "text": prompt.text }));
        let parts = parts.chain(prompt.images.iter().map(image_part)).collect();
        self.send_parts(parts, prompt.output_schema.as_deref(), effects);
    }

    fn send_parts(&mut self, parts: Vec<Value>, schema: Option<&RawValue>, effects: &mut DriverEffects) {
        let model = self.choices.model.as_ref().map(|model| ModelRef { provider: &model.provider, model: &model.name });
        let body = PromptBody {
            parts,
            model,
            agent: self.choices.mode.as_deref(),
            variant: self.choices.variant.as_deref(),
            format: schema.map(|schema| AnswerFormat { r#type: "json_schema", schema }),
        };
        let body = to_raw_json(&body);
        let path = self.path("/prompt_async");
        let number = self.post(path, &body, effects);
        self.pulse.note_prompt(number);
    }

    /// Sends one of OpenCode's slash commands. The response arrives when the command is finished, not when it is
    /// accepted.
    pub(super) fn send_slash_command(
        &mut self,
        name: &str,
        arguments: &str,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        self.commands.check_name(name)?;
        let mut body = json!({ "command": name, "arguments": arguments.trim() });
        let PromptSelections { model, mode, variant } = &self.choices;
        let model = model.as_ref().map(|model| format!("{}/{}", model.provider, model.name));
        for (key, value) in [("model", model.as_ref()), ("agent", mode.as_ref()), ("variant", variant.as_ref())] {
            if let Some(value) = value {
                body[key] = json!(value);
            }
        }
        let path = self.path("/command");
        let number = self.post(path, &body, effects);
        self.pulse.note_command(number);
        Ok(())
    }

    /// Sends a prompt without text, which makes OpenCode answer an unanswered message.
    fn send_reminder(&mut self, effects: &mut DriverEffects) {
        self.send_parts(Vec::new(), None, effects);
    }

    pub(super) fn handle_prompt_response(&mut self, number: u64, taken: bool, effects: &mut DriverEffects) {
        let begun = taken && self.pulse.awaits(number);
        let news = self.pulse.handle_response(number, taken);
        self.perform_changes(news, effects);
        if begun {
            // The turn is running, so these requests delay nothing.
            self.ask_for_offers(effects);
        }
    }

    pub(super) fn interrupt(&mut self, effects: &mut DriverEffects) {
        self.waiting.clear();
        self.desk.forget();
        self.pulse.note_interrupt();
        self.abort(effects);
    }

    /// Performs the actions of the turn tracker.
    pub(super) fn perform_changes(&mut self, news: Vec<ActivityChange>, effects: &mut DriverEffects) {
        for news in news {
            match news {
                ActivityChange::Arm(timer, time) => effects.push(DriverEffect::Arm(timer, time)),
                ActivityChange::Disarm(timer) => effects.disarm_timer(timer),
                ActivityChange::Abort => self.abort(effects),
                ActivityChange::CatchUp => self.catch_up(effects),
                ActivityChange::Remind => self.send_reminder(effects),
                ActivityChange::Settled if self.waiting.is_empty() => effects.push(DriverEffect::Settled),
                ActivityChange::Settled => {
                    for prompt in std::mem::take(&mut self.waiting) {
                        self.prompt(prompt, effects);
                    }
                }
            }
        }
    }
}

fn image_part(image: &PromptImage) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    let name = image.path.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let mut part = json!({ "type": "file", "mime": image.media_type, "url": url });
    if let (Some(part), Some(name)) = (part.as_object_mut(), name) {
        part.insert("filename".to_owned(), json!(name));
    }
    part
}
