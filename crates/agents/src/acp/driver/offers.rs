//! The choices that an agent offers, and the requests that make them. The protocol has had three mechanisms; the newest
//! one that an agent offers is used.

use serde_json::{Value, json};

use super::approval_selectors::ApprovalSelectors;
use crate::{JsonObject, UnsupportedOperation, commands::SlashCommands};

/// The choices offered in the session.
#[derive(Default)]
pub struct Offers {
    options: Vec<Offer>,
    modes: bool,
    models: bool,
    /// The announced slash commands.
    pub commands: SlashCommands,
    /// The selectors that control what the agent does without asking.
    pub approvals: ApprovalSelectors,
}

struct Offer {
    id: String,
    category: Option<String>,
    yes_or_no: bool,
}

/// Id of the reasoning effort option, as other agents call it.
const EFFORT: &str = "reasoning_effort";

/// A request: its method, and its parameters without the session.
pub type Choice = (&'static str, Value);

impl Offers {
    /// Reads the choices in a response or an update.
    pub fn heard(&mut self, fields: &JsonObject<'_>) {
        self.modes |= fields.get("modes").is_some();
        self.models |= fields.get("models").is_some();
        self.approvals.read(fields);
        if fields.get("availableCommands").is_some() {
            let names = fields.get_array("availableCommands").into_iter();
            self.commands.set_names(names.filter_map(|command| command.as_object().get_non_empty("name")));
        }
        if fields.get("configOptions").is_some() {
            let offer = |option: crate::JsonView<'_>| {
                let option = option.as_object();
                Some(Offer {
                    id: option.get_non_empty("id")?,
                    category: option.get_non_empty("category"),
                    yes_or_no: option.str_equals("type", "boolean"),
                })
            };
            self.options = fields.get_array("configOptions").into_iter().filter_map(offer).collect();
        }
    }

    pub fn model(&self, model: &str) -> Result<Choice, UnsupportedOperation> {
        match self.of_category("model") {
            Some(offer) => Ok(offer.choose(model)),
            // Removed from the protocol in the middle of 2026, but agents still use it.
            None if self.models => Ok(("session/set_model", json!({ "modelId": model }))),
            None => Err(UnsupportedOperation::new("the agent offers no choice of models")
                .with_hint("choose the model in the agent's own settings")),
        }
    }

    pub fn mode(&self, mode: &str) -> Result<Choice, UnsupportedOperation> {
        match self.of_category("mode") {
            Some(offer) => Ok(offer.choose(mode)),
            None if self.modes => Ok(("session/set_mode", json!({ "modeId": mode }))),
            None => Err(UnsupportedOperation::new("the agent offers no modes")),
        }
    }

    pub fn option(&self, id: &str, value: &str) -> Result<Choice, UnsupportedOperation> {
        let offer = self.options.iter().find(|offer| offer.id == id);
        // Agents have different names for this option, but the protocol has a category.
        let offer = offer.or_else(|| self.of_category("thought_level").filter(|_| id == EFFORT));
        offer.map(|offer| offer.choose(value)).ok_or_else(|| {
            let known: Vec<_> = self.options.iter().map(|offer| offer.id.as_str()).collect();
            UnsupportedOperation::new(format!("the agent has no option {id}")).with_hint(match known.as_slice() {
                [] => "it offers none".to_owned(),
                known => format!("it has {}", known.join(", ")),
            })
        })
    }

    fn of_category(&self, category: &str) -> Option<&Offer> {
        self.options.iter().find(|offer| offer.category.as_deref() == Some(category))
    }
}

impl Offer {
    fn choose(&self, value: &str) -> Choice {
        let params = if self.yes_or_no {
            json!({ "configId": self.id, "type": "boolean", "value": value == "true" })
        } else {
            json!({ "configId": self.id, "value": value })
        };
        ("session/set_config_option", params)
    }
}
