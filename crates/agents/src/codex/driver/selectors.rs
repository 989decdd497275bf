//! Choosing: the model, the mode, and what else Codex lets one choose. It takes anything (0.166), so what it told of
//! is what may be asked for; before it told, all may.

use serde_json::{Value, json};

use super::{calls::Purpose, conversation::Conversation};
use crate::{
    Effects, Object, Unsupported,
    codex::offers::{COLLABORATION, DEFAULT, EFFORT, Offer, Offers, PERSONALITIES, PERSONALITY},
};

/// What can be chosen, and what is chosen.
#[derive(Default)]
pub struct Selectors {
    models: Offers,
    modes: Vec<String>,
    /// The model, without which the mode cannot be changed.
    model: Option<String>,
    effort: Option<String>,
    personality: Option<String>,
    mode: Option<String>,
}

impl Selectors {
    /// What the thread's settings are now.
    pub fn keep(&mut self, settings: &Object<'_>) {
        self.model = settings.filled("model").or(self.model.take());
        self.effort = settings.filled("effort").or_else(|| settings.filled("reasoningEffort"));
        self.personality = settings.filled("personality").or(self.personality.take());
        self.mode = settings.object("collaborationMode").filled("mode").or(self.mode.take());
    }

    /// All modes, as `collaborationMode/list` has them.
    pub fn modes(&mut self, result: &Object<'_>) {
        self.modes = result.array("data").into_iter().filter_map(|mode| mode.object().filled("mode")).collect();
    }

    fn offer(&self) -> Option<&Offer> {
        self.models.of(self.model.as_deref())
    }

    /// Another model. One that cannot think as hard as the last would be asked to all the same (0.166).
    fn set_model(&mut self, model: &str) -> Value {
        self.model = Some(model.to_owned());
        let mut settings = json!({ "model": model });
        if let (Some(offer), Some(effort)) = (self.offer(), &self.effort)
            && !offer.has(effort)
        {
            settings["effort"] = json!(offer.usual);
            self.effort = Some(offer.usual.clone());
        }
        settings
    }

    fn set_effort(&mut self, effort: &str) -> Result<Value, Unsupported> {
        if let Some(offer) = self.offer().filter(|offer| !offer.has(effort)) {
            return Err(never(EFFORT, effort, &offer.efforts()));
        }
        self.effort = Some(effort.to_owned());
        Ok(json!({ "effort": effort }))
    }

    fn set_personality(&mut self, personality: &str) -> Result<Value, Unsupported> {
        if self.offer().is_some_and(|offer| !offer.personality) {
            return Err(Unsupported::new("this model takes no personality").with_hint("choose another model"));
        }
        if !PERSONALITIES.contains(&personality) {
            return Err(never(PERSONALITY, personality, &PERSONALITIES));
        }
        self.personality = Some(personality.to_owned());
        Ok(json!({ "personality": personality }))
    }

    fn set_mode(&mut self, mode: &str) -> Result<Value, Unsupported> {
        if !self.modes.is_empty() && !self.modes.iter().any(|known| known == mode) {
            let known: Vec<_> = self.modes.iter().map(String::as_str).collect();
            return Err(never(COLLABORATION, mode, &known));
        }
        let Some(model) = &self.model else {
            return Err(Unsupported::new("the mode cannot be changed before the model is known"));
        };
        self.mode = Some(mode.to_owned());
        let own = json!({ "model": model, "reasoning_effort": self.effort, "developer_instructions": null });
        Ok(json!({ "collaborationMode": { "mode": mode, "settings": own } }))
    }

    /// The model that a new thread is to have.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// What a new thread is to be told, so that it is like the last.
    pub fn rest(&mut self) -> Option<Value> {
        let mode = self.mode.clone().filter(|mode| mode != DEFAULT);
        let mut settings = mode.and_then(|mode| self.set_mode(&mode).ok()).unwrap_or_else(|| json!({}));
        for (key, value) in [("effort", &self.effort), ("personality", &self.personality)] {
            if let Some(value) = value {
                settings[key] = json!(value);
            }
        }
        settings.as_object().is_some_and(|settings| !settings.is_empty()).then_some(settings)
    }
}

/// It has no such value.
fn never(id: &str, value: &str, known: &[&str]) -> Unsupported {
    Unsupported::new(format!("`{id}` cannot be `{value}`")).with_hint(format!("one of {}", known.join(", ")))
}

impl Conversation {
    /// Changes settings of the thread from now on.
    pub(super) fn set(&mut self, mut settings: Value, effects: &mut Effects) {
        settings["threadId"] = json!(self.thread);
        self.calls.send("thread/settings/update", &settings, effects);
    }

    pub(super) fn set_model(&mut self, model: &str, effects: &mut Effects) {
        let settings = self.selectors.set_model(model);
        self.set(settings, effects);
    }

    pub(super) fn set_option(&mut self, id: &str, value: &str, effects: &mut Effects) -> Result<(), Unsupported> {
        let settings = match id {
            EFFORT => self.selectors.set_effort(value)?,
            PERSONALITY => self.selectors.set_personality(value)?,
            COLLABORATION => self.selectors.set_mode(value)?,
            _ => {
                let hint = format!("it has {EFFORT}, {PERSONALITY} and {COLLABORATION}");
                return Err(Unsupported::new(format!("Codex has no option `{id}`")).with_hint(hint));
            }
        };
        self.set(settings, effects);
        Ok(())
    }

    /// Asks what can be chosen.
    pub(super) fn ask_for_offers(&mut self, effects: &mut Effects) {
        self.ask_for_models(None, effects);
        let id = self.calls.send("collaborationMode/list", &json!({}), effects);
        self.calls.expect(id, Purpose::Modes);
    }

    fn ask_for_models(&mut self, cursor: Option<&str>, effects: &mut Effects) {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let id = self.calls.send("model/list", &params, effects);
        self.calls.expect(id, Purpose::Models { further: cursor.is_some() });
    }

    /// A page of models.
    pub(super) fn models(&mut self, further: bool, result: &Object<'_>, effects: &mut Effects) {
        self.selectors.models.add(result, !further);
        let next = result.filled("nextCursor").filter(|_| !result.array("data").is_empty());
        if next.is_some() {
            self.ask_for_models(next.as_deref(), effects);
        }
    }
}
