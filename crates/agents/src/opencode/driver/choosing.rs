//! Choosing a model, a mode, or how hard the model thinks. OpenCode is told with every prompt; that something was
//! chosen is only written down.

use serde_json::{Value, json};
use switchboard_event::raw;

use super::{Server, handshake::Stage};
use crate::{
    Effect, Effects, Json, Object, Unsupported,
    opencode::{
        launch,
        offers::{self, DEFAULT, EFFORT},
    },
};

/// What is asked for, and what of the answer is kept.
pub type Digest = fn(&serde_json::value::RawValue) -> Box<serde_json::value::RawValue>;

impl Server {
    pub(super) fn set_model(&mut self, model: &str, effects: &mut Effects) -> Result<(), Unsupported> {
        let named = launch::model(model)?;
        self.offers.check_model(model)?;
        self.choices.model = Some(named);
        self.offers.uses(Some(model.to_owned()));
        self.choices.variant = self.offers.variant().map(str::to_owned);
        chosen(&json!({ "model": model, "variant": self.choices.variant }), effects);
        Ok(())
    }

    /// `variant` is OpenCode's own word for it.
    pub(super) fn set_option(&mut self, id: &str, value: String, effects: &mut Effects) -> Result<(), Unsupported> {
        if !matches!(id, EFFORT | "variant" | "effort") {
            return Err(
                Unsupported::new(format!("OpenCode has no option `{id}`")).with_hint(format!("it has {EFFORT}"))
            );
        }
        self.offers.check_variant(&value)?;
        self.choices.variant = Some(value).filter(|value| value != DEFAULT);
        self.offers.thinks(self.choices.variant.clone());
        chosen(&json!({ "variant": self.choices.variant }), effects);
        Ok(())
    }

    /// Another of OpenCode's agents works from the next prompt on. What it may not do, it may not do here either.
    pub(super) fn set_mode(&mut self, mode: String, effects: &mut Effects) -> Result<(), Unsupported> {
        let modes = self.modes();
        if !modes.is_empty() && !modes.contains(&mode) {
            return Err(Unsupported::new(format!("OpenCode has no mode `{mode}`"))
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
        let agents = self.agents.as_deref().and_then(Json::parse).map(Json::array).unwrap_or_default();
        let agents = agents.into_iter().map(Json::object);
        let modes = agents.filter(|agent| !agent.is("mode", "subagent") && !agent.is_true("hidden"));
        modes.filter_map(|agent| agent.filled("name")).collect()
    }

    /// Asks once what can be chosen.
    pub(super) fn ask_for_offers(&mut self, effects: &mut Effects) {
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

    /// The answer to one of these, good or bad; true if it was one.
    pub(super) fn offered(&mut self, number: u64, answer: &Object<'_>, effects: &mut Effects) -> bool {
        let Some(at) = self.awaited.iter().position(|awaited| *awaited == number) else { return false };
        self.awaited.remove(at);
        match answer.str("path").as_deref() {
            Some("/config") => self.offers.config(&answer.object("body")),
            Some("/config/providers") => self.offers.providers(&answer.object("body")),
            Some("/command") => {
                let body = answer.get("body").map(offers::commands).unwrap_or_default();
                self.commands.are(body.into_iter().map(|command| command.name));
            }
            _ => {}
        }
        if self.stage == Stage::Offers && self.awaited.is_empty() {
            self.stage = Stage::Ready;
            effects.push(Effect::Ready);
        }
        true
    }
}

/// Writes down what will be said with the next prompt.
fn chosen(what: &Value, effects: &mut Effects) {
    effects.push(Effect::Note(raw(&json!({ "set": what }))));
}
