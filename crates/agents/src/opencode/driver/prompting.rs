//! Sending and interrupting prompts.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{Server, pulse::News};
use crate::{AgentPrompt, DriverEffect, DriverEffects, PromptImage, UnsupportedOperation, opencode::launch::Model};

/// The selection that is sent with every prompt.
#[derive(Default)]
pub struct Choices {
    /// The model. Otherwise the session's last model or OpenCode's default applies.
    pub model: Option<Model>,
    /// One of OpenCode's agents.
    pub mode: Option<String>,
    /// The reasoning effort, in the provider's terms.
    pub variant: Option<String>,
}

#[derive(Serialize)]
struct Body<'a> {
    parts: Vec<Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    model: Option<Named<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<Format<'a>>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Named<'a> {
    #[serde(rename = "providerID")]
    provider: &'a str,
    #[serde(rename = "modelID")]
    model: &'a str,
}

#[derive(Serialize)]
struct Format<'a> {
    r#type: &'static str,
    schema: &'a RawValue,
}

impl Server {
    /// Sends a prompt. OpenCode 1.18.33 drops a prompt that arrives while a turn is ending, so it waits until then.
    pub(super) fn prompt(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        if self.pulse.is_ending() {
            return self.waiting.push(prompt);
        }
        let parts = std::iter::once(json!({ "type": "text", "text": prompt.text }));
        let parts = parts.chain(prompt.images.iter().map(picture)).collect();
        self.say(parts, prompt.output_schema.as_deref(), effects);
    }

    fn say(&mut self, parts: Vec<Value>, schema: Option<&RawValue>, effects: &mut DriverEffects) {
        let model = self.choices.model.as_ref().map(|model| Named { provider: &model.provider, model: &model.name });
        let body = Body {
            parts,
            model,
            agent: self.choices.mode.as_deref(),
            variant: self.choices.variant.as_deref(),
            format: schema.map(|schema| Format { r#type: "json_schema", schema }),
        };
        let body = switchboard_event::to_raw_json(&body);
        let path = self.path("/prompt_async");
        let number = self.post(path, &body, effects);
        self.pulse.prompted(number);
    }

    /// Sends one of OpenCode's slash commands. The response arrives when the command is finished, not when it is
    /// accepted.
    pub(super) fn slash(
        &mut self,
        name: &str,
        arguments: &str,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        self.commands.check_name(name)?;
        let mut body = json!({ "command": name, "arguments": arguments.trim() });
        let Choices { model, mode, variant } = &self.choices;
        let model = model.as_ref().map(|model| format!("{}/{}", model.provider, model.name));
        for (key, value) in [("model", model.as_ref()), ("agent", mode.as_ref()), ("variant", variant.as_ref())] {
            if let Some(value) = value {
                body[key] = json!(value);
            }
        }
        let path = self.path("/command");
        let number = self.post(path, &body, effects);
        self.pulse.commanded(number);
        Ok(())
    }

    /// Sends a prompt without text, which makes OpenCode answer an unanswered message.
    fn remind(&mut self, effects: &mut DriverEffects) {
        self.say(Vec::new(), None, effects);
    }

    pub(super) fn prompt_answered(&mut self, number: u64, taken: bool, effects: &mut DriverEffects) {
        let begun = taken && self.pulse.awaits(number);
        let news = self.pulse.answered(number, taken);
        self.follow(news, effects);
        if begun {
            // The turn is running, so these requests delay nothing.
            self.ask_for_offers(effects);
        }
    }

    pub(super) fn interrupt(&mut self, effects: &mut DriverEffects) {
        self.waiting.clear();
        self.desk.forget();
        self.pulse.interrupted();
        self.abort(effects);
    }

    /// Performs the actions of the turn tracker.
    pub(super) fn follow(&mut self, news: Vec<News>, effects: &mut DriverEffects) {
        for news in news {
            match news {
                News::Arm(timer, time) => effects.push(DriverEffect::Arm(timer, time)),
                News::Disarm(timer) => effects.disarm_timer(timer),
                News::Abort => self.abort(effects),
                News::CatchUp => self.catch_up(effects),
                News::Remind => self.remind(effects),
                News::Settled if self.waiting.is_empty() => effects.push(DriverEffect::Settled),
                News::Settled => {
                    for prompt in std::mem::take(&mut self.waiting) {
                        self.prompt(prompt, effects);
                    }
                }
            }
        }
    }
}

fn picture(image: &PromptImage) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    let name = image.path.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let mut part = json!({ "type": "file", "mime": image.media_type, "url": url });
    if let (Some(part), Some(name)) = (part.as_object_mut(), name) {
        part.insert("filename".to_owned(), json!(name));
    }
    part
}
