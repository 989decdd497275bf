//! Selection of the model, the mode and other options. Codex 0.166 accepts any value, so values are checked against the
//! lists that it has sent; until they arrive, any value is accepted.

use serde_json::{Value, json};

use super::{CodexDriver, RequestPurpose};
use crate::{
    DriverEffects, JsonObject, UnsupportedOperation,
    codex::offers::{COLLABORATION, CodexModelCatalog, CodexModelOffer, DEFAULT, EFFORT, PERSONALITIES, PERSONALITY},
};

/// Available and current choices.
#[derive(Default)]
pub struct ThreadSelectors {
    models: CodexModelCatalog,
    modes: Vec<String>,
    /// Required to change the mode.
    model: Option<String>,
    effort: Option<String>,
    personality: Option<String>,
    mode: Option<String>,
}

impl ThreadSelectors {
    /// Applies the thread's current settings.
    pub fn apply_settings(&mut self, settings: &JsonObject<'_>) {
        self.model = settings.get_non_empty("model").or(self.model.take());
        self.effort = settings.get_non_empty("effort").or_else(|| settings.get_non_empty("reasoningEffort"));
        self.personality = settings.get_non_empty("personality").or(self.personality.take());
        self.mode = settings.get_object("collaborationMode").get_non_empty("mode").or(self.mode.take());
    }

    /// Applies the result of `collaborationMode/list`.
    pub fn apply_mode_list(&mut self, result: &JsonObject<'_>) {
        self.modes =
            result.get_array("data").into_iter().filter_map(|mode| mode.as_object().get_non_empty("mode")).collect();
    }

    fn current_offer(&self) -> Option<&CodexModelOffer> {
        self.models.find_model(self.model.as_deref())
    }

    /// Selects a model. Codex 0.166 keeps the reasoning effort even if the new model does not support it, so it is
    /// reset here.
    fn set_model(&mut self, model: &str) -> Value {
        self.model = Some(model.to_owned());
        let mut settings = json!({ "model": model });
        if let (Some(offer), Some(effort)) = (self.current_offer(), &self.effort)
            && !offer.supports_effort(effort)
        {
            settings["effort"] = json!(offer.usual);
            self.effort = Some(offer.usual.clone());
        }
        settings
    }

    fn set_effort(&mut self, effort: &str) -> Result<Value, UnsupportedOperation> {
        if let Some(offer) = self.current_offer().filter(|offer| !offer.supports_effort(effort)) {
            return Err(unknown_value(EFFORT, effort, &offer.effort_ids()));
        }
        self.effort = Some(effort.to_owned());
        Ok(json!({ "effort": effort }))
    }

    fn set_personality(&mut self, personality: &str) -> Result<Value, UnsupportedOperation> {
        if self.current_offer().is_some_and(|offer| !offer.personality) {
            return Err(UnsupportedOperation::new("this model takes no personality").with_hint("choose another model"));
        }
        if !PERSONALITIES.contains(&personality) {
            return Err(unknown_value(PERSONALITY, personality, &PERSONALITIES));
        }
        self.personality = Some(personality.to_owned());
        Ok(json!({ "personality": personality }))
    }

    fn set_mode(&mut self, mode: &str) -> Result<Value, UnsupportedOperation> {
        if !self.modes.is_empty() && !self.modes.iter().any(|known| known == mode) {
            let known: Vec<_> = self.modes.iter().map(String::as_str).collect();
            return Err(unknown_value(COLLABORATION, mode, &known));
        }
        let Some(model) = &self.model else {
            return Err(UnsupportedOperation::new("the mode cannot be changed before the model is known"));
        };
        self.mode = Some(mode.to_owned());
        let own = json!({ "model": model, "reasoning_effort": self.effort, "developer_instructions": null });
        Ok(json!({ "collaborationMode": { "mode": mode, "settings": own } }))
    }

    /// Returns the model for a new thread.
    pub fn selected_model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Returns the settings that a new thread needs to match the current one.
    pub fn new_thread_settings(&mut self) -> Option<Value> {
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

fn unknown_value(id: &str, value: &str, known: &[&str]) -> UnsupportedOperation {
    UnsupportedOperation::new(format!("`{id}` cannot be `{value}`")).with_hint(format!("one of {}", known.join(", ")))
}

impl CodexDriver {
    /// Changes settings of the thread for all following turns.
    pub(super) fn update_settings(&mut self, mut settings: Value, effects: &mut DriverEffects) {
        settings["threadId"] = json!(self.thread);
        self.calls.send("thread/settings/update", &settings, effects);
    }

    pub(super) fn set_model(&mut self, model: &str, effects: &mut DriverEffects) {
        let settings = self.selectors.set_model(model);
        self.update_settings(settings, effects);
    }

    pub(super) fn set_option(
        &mut self,
        id: &str,
        value: &str,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        let settings = match id {
            EFFORT => self.selectors.set_effort(value)?,
            PERSONALITY => self.selectors.set_personality(value)?,
            COLLABORATION => self.selectors.set_mode(value)?,
            _ => {
                let hint = format!("it has {EFFORT}, {PERSONALITY} and {COLLABORATION}");
                return Err(UnsupportedOperation::new(format!("Codex has no option `{id}`")).with_hint(hint));
            }
        };
        self.update_settings(settings, effects);
        Ok(())
    }

    /// Requests the lists of models and modes.
    pub(super) fn request_catalog(&mut self, effects: &mut DriverEffects) {
        self.request_model_list(None, effects);
        let id = self.calls.send("collaborationMode/list", &json!({}), effects);
        self.calls.expect_reply(id, RequestPurpose::Modes);
    }

    fn request_model_list(&mut self, cursor: Option<&str>, effects: &mut DriverEffects) {
        let params = cursor.map_or_else(|| json!({}), |cursor| json!({ "cursor": cursor }));
        let id = self.calls.send("model/list", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Models { further: cursor.is_some() });
    }

    /// Handles one page of models.
    pub(super) fn handle_model_list(&mut self, further: bool, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        self.selectors.models.add_page(result, !further);
        let next = result.get_non_empty("nextCursor").filter(|_| !result.get_array("data").is_empty());
        if next.is_some() {
            self.request_model_list(next.as_deref(), effects);
        }
    }
}
