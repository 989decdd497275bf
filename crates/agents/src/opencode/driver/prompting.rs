//! Prompts, and stopping what they began.

use serde::Serialize;
use serde_json::{Value, json, value::RawValue};

use super::{Server, pulse::News};
use crate::{Effect, Effects, Image, Prompt, Unsupported, opencode::launch::Model};

/// What is said with every prompt.
#[derive(Default)]
pub struct Choices {
    /// The model; else the one that the session had, or OpenCode's own choice.
    pub model: Option<Model>,
    /// One of OpenCode's agents.
    pub mode: Option<String>,
    /// How hard the model thinks, in the provider's words.
    pub variant: Option<String>,
}

/// The body of a prompt.
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
    /// A prompt. OpenCode 1.18.33 forgets one that comes while a turn is ending: that waits.
    pub(super) fn prompt(&mut self, prompt: Prompt, effects: &mut Effects) {
        if self.pulse.is_ending() {
            return self.waiting.push(prompt);
        }
        let parts = std::iter::once(json!({ "type": "text", "text": prompt.text }));
        let parts = parts.chain(prompt.images.iter().map(picture)).collect();
        self.say(parts, prompt.output_schema.as_deref(), effects);
    }

    fn say(&mut self, parts: Vec<Value>, schema: Option<&RawValue>, effects: &mut Effects) {
        let model = self.choices.model.as_ref().map(|model| Named { provider: &model.provider, model: &model.name });
        let body = Body {
            parts,
            model,
            agent: self.choices.mode.as_deref(),
            variant: self.choices.variant.as_deref(),
            format: schema.map(|schema| Format { r#type: "json_schema", schema }),
        };
        let body = switchboard_event::raw(&body);
        let path = self.path("/prompt_async");
        let number = self.post(path, &body, effects);
        self.pulse.prompted(number);
    }

    /// One of OpenCode's commands. Its request is answered when all is done, not when it is taken.
    pub(super) fn slash(&mut self, name: &str, arguments: &str, effects: &mut Effects) -> Result<(), Unsupported> {
        self.commands.check(name)?;
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

    /// A prompt without words has OpenCode answer what it left unanswered.
    fn remind(&mut self, effects: &mut Effects) {
        self.say(Vec::new(), None, effects);
    }

    pub(super) fn prompt_answered(&mut self, number: u64, taken: bool, effects: &mut Effects) {
        let begun = taken && self.pulse.awaits(number);
        let news = self.pulse.answered(number, taken);
        self.follow(news, effects);
        if begun {
            // It has something to do: this keeps nobody waiting.
            self.ask_for_offers(effects);
        }
    }

    pub(super) fn interrupt(&mut self, effects: &mut Effects) {
        self.waiting.clear();
        self.desk.forget();
        self.pulse.interrupted();
        self.abort(effects);
    }

    /// Does what the pulse asks for.
    pub(super) fn follow(&mut self, news: Vec<News>, effects: &mut Effects) {
        for news in news {
            match news {
                News::Arm(timer, time) => effects.push(Effect::Arm(timer, time)),
                News::Disarm(timer) => effects.disarm(timer),
                News::Abort => self.abort(effects),
                News::CatchUp => self.catch_up(effects),
                News::Remind => self.remind(effects),
                News::Settled if self.waiting.is_empty() => effects.push(Effect::Settled),
                News::Settled => {
                    for prompt in std::mem::take(&mut self.waiting) {
                        self.prompt(prompt, effects);
                    }
                }
            }
        }
    }
}

fn picture(image: &Image) -> Value {
    let url = format!("data:{};base64,{}", image.media_type, image.data);
    let name = image.path.as_ref().and_then(|path| path.file_name()).map(|name| name.to_string_lossy());
    let mut part = json!({ "type": "file", "mime": image.media_type, "url": url });
    if let (Some(part), Some(name)) = (part.as_object_mut(), name) {
        part.insert("filename".to_owned(), json!(name));
    }
    part
}
