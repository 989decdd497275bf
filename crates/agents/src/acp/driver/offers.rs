//! What an agent lets its client choose, and the request that chooses it. The protocol has had three ways for that;
//! the newest that an agent offers is taken.

use serde_json::{Value, json};

use super::approval_selectors::ApprovalSelectors;
use crate::{Object, Unsupported, commands::Commands};

/// What can be chosen in the session.
#[derive(Default)]
pub struct Offers {
    options: Vec<Offer>,
    modes: bool,
    models: bool,
    /// The slash commands that it told of.
    pub commands: Commands,
    /// What decides about what it does unasked.
    pub approvals: ApprovalSelectors,
}

/// One of the agent's selectors.
struct Offer {
    id: String,
    category: Option<String>,
    yes_or_no: bool,
}

/// How hard the model thinks, as other agents call it.
const EFFORT: &str = "reasoning_effort";

/// A request: its method and its parameters beside the session.
pub type Choice = (&'static str, Value);

impl Offers {
    /// What an answer or an update says about it.
    pub fn heard(&mut self, fields: &Object<'_>) {
        self.modes |= fields.get("modes").is_some();
        self.models |= fields.get("models").is_some();
        self.approvals.read(fields);
        if fields.get("availableCommands").is_some() {
            let names = fields.array("availableCommands").into_iter();
            self.commands.are(names.filter_map(|command| command.object().filled("name")));
        }
        if fields.get("configOptions").is_some() {
            let offer = |option: crate::Json<'_>| {
                let option = option.object();
                Some(Offer {
                    id: option.filled("id")?,
                    category: option.filled("category"),
                    yes_or_no: option.is("type", "boolean"),
                })
            };
            self.options = fields.array("configOptions").into_iter().filter_map(offer).collect();
        }
    }

    /// Chooses a model.
    pub fn model(&self, model: &str) -> Result<Choice, Unsupported> {
        match self.of_category("model") {
            Some(offer) => Ok(offer.choose(model)),
            // Gone from the protocol since the middle of 2026, not from the agents.
            None if self.models => Ok(("session/set_model", json!({ "modelId": model }))),
            None => Err(Unsupported::new("the agent offers no choice of models")
                .with_hint("choose the model in the agent's own settings")),
        }
    }

    /// Chooses a mode.
    pub fn mode(&self, mode: &str) -> Result<Choice, Unsupported> {
        match self.of_category("mode") {
            Some(offer) => Ok(offer.choose(mode)),
            None if self.modes => Ok(("session/set_mode", json!({ "modeId": mode }))),
            None => Err(Unsupported::new("the agent offers no modes")),
        }
    }

    /// Chooses a value of a selector.
    pub fn option(&self, id: &str, value: &str) -> Result<Choice, Unsupported> {
        let offer = self.options.iter().find(|offer| offer.id == id);
        // Each agent has a name of its own for it, and the protocol has a category.
        let offer = offer.or_else(|| self.of_category("thought_level").filter(|_| id == EFFORT));
        offer.map(|offer| offer.choose(value)).ok_or_else(|| {
            let known: Vec<_> = self.options.iter().map(|offer| offer.id.as_str()).collect();
            Unsupported::new(format!("the agent has no option {id}")).with_hint(match known.as_slice() {
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
