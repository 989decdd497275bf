//! Selection of the model, the mode and the reasoning effort. OpenCode receives the selection with every prompt; a
//! change is only noted.

use serde_json::{Value, json};
use switchboard_event::to_raw_json;

use super::{Server, handshake::Stage};
use crate::{
    DriverEffect, DriverEffects, JsonObject, JsonView, UnsupportedOperation,
    opencode::{
        launch,
        offers::{self, DEFAULT, EFFORT},
    },
};

/// Function that reduces a response to the part that is stored.
pub type Digest = fn(&serde_json::value::RawValue) -> Box<serde_json::value::RawValue>;

impl Server {
    pub(super) fn set_model(&mut self, model: &str, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        let named = launch::model(model)?;
        self.offers.check_model(model)?;
        self.choices.model = Some(named);
        self.offers.uses(Some(model.to_owned()));
        self.choices.variant = self.offers.variant().map(str::to_owned);
        chosen(&json!({ "model": model, "variant": self.choices.variant }), effects);
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
        self.offers.thinks(self.choices.variant.clone());
        chosen(&json!({ "variant": self.choices.variant }), effects);
        Ok(())
    }

    /// Selects another of OpenCode's agents from the next prompt on. Its restrictions apply to the session too.
    pub(super) fn set_mode(&mut self, mode: String, effects: &mut DriverEffects) -> Result<(), UnsupportedOperation> {
        let modes = self.modes();
        if !modes.is_empty() && !modes.contains(&mode) {
            return Err(UnsupportedOperation::new(format!("OpenCode has no mode `{mode}`"))
                .with_hint(format!("it has {}", modes.join(", "))));
        }
        chosen(&json!({ "agent": mode }), effects);
        self.choices.mode = Some(mode);
        if self.asks && self.session.is_some() {
            let rules = self.rules();
            self.give(&rules, effects);
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
            let wanted: [(&str, Digest); 3] = [
                ("/config", offers::config_digest),
                ("/config/providers", offers::providers_digest),
                ("/command", offers::commands_digest),
            ];
            for (path, digest) in wanted {
                let number = self.look_up(path, digest, effects);
                self.awaited.push(number);
            }
        }
    }

    /// Handles the response to one of these requests, successful or not. Returns whether it was one.
    pub(super) fn offered(&mut self, number: u64, answer: &JsonObject<'_>, effects: &mut DriverEffects) -> bool {
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
        if self.stage == Stage::Offers && self.awaited.is_empty() {
            self.stage = Stage::Ready;
            effects.push(DriverEffect::Ready);
        }
        true
    }
}

/// Notes a selection that is sent with the next prompt.
fn chosen(what: &Value, effects: &mut DriverEffects) {
    effects.push(DriverEffect::Note(to_raw_json(&json!({ "set": what }))));
}
