//! Choices that Codex offers: models, their reasoning efforts and personalities. The reader reports them, the driver
//! validates requests against them.

use switchboard_event::{Model, Selector, SelectorValue};

use super::first_string;
use crate::{JsonObject, JsonView};

/// Selector ids.
pub const EFFORT: &str = "reasoning_effort";

pub const PERSONALITY: &str = "personality";

pub const COLLABORATION: &str = "collaboration_mode";

/// Personalities of Codex 0.166, which cannot return to the configured one.
pub const PERSONALITIES: [&str; 3] = ["none", "friendly", "pragmatic"];

/// The mode, and the personality, that applies by default.
pub const DEFAULT: &str = "default";

#[derive(Default)]
pub struct CodexModelCatalog(Vec<CodexModelOffer>);

/// A model with its reasoning efforts.
pub struct CodexModelOffer {
    model: Model,
    hidden: bool,
    efforts: Vec<SelectorValue>,
    /// Default reasoning effort.
    pub usual: String,
    /// The model supports personalities.
    pub personality: bool,
}

impl CodexModelOffer {
    pub fn supports_effort(&self, effort: &str) -> bool {
        self.efforts.iter().any(|offered| offered.id == effort)
    }

    pub fn effort_ids(&self) -> Vec<&str> {
        self.efforts.iter().map(|offered| offered.id.as_str()).collect()
    }

    /// Returns the selector for the reasoning effort.
    pub fn effort_selector(&self, chosen: Option<&str>) -> Option<Selector> {
        let value = chosen.filter(|effort| self.supports_effort(effort)).unwrap_or(&self.usual);
        (!self.efforts.is_empty()).then(|| Selector {
            id: EFFORT.to_owned(),
            name: "Reasoning effort".to_owned(),
            description: Some("How hard the model thinks".to_owned()),
            group: Some("model".to_owned()),
            value: value.to_owned(),
            values: self.efforts.clone(),
        })
    }
}

impl CodexModelCatalog {
    /// Adds a page of `model/list`.
    pub fn add_page(&mut self, result: &JsonObject<'_>, first_page: bool) {
        if first_page {
            self.0.clear();
        }
        for new in result.get_array("data").into_iter().map(|model| parse_offer(&model.as_object())) {
            self.0.retain(|known| known.model.id != new.model.id);
            self.0.push(new);
        }
    }

    /// Returns the models that are not hidden.
    pub fn visible_models(&self) -> Vec<Model> {
        self.0.iter().filter(|offer| !offer.hidden).map(|offer| offer.model.clone()).collect()
    }

    /// Returns the given model, or the default one.
    pub fn find_model(&self, model: Option<&str>) -> Option<&CodexModelOffer> {
        self.0.iter().find(|offer| model.map_or(offer.model.default, |model| offer.model.id == model))
    }
}

fn parse_offer(fields: &JsonObject<'_>) -> CodexModelOffer {
    let id = first_string(fields, &["model", "id"]).unwrap_or_default();
    let effort = |effort: JsonView<'_>| {
        let effort = effort.as_object();
        let id = effort.get_string("reasoningEffort").unwrap_or_default();
        SelectorValue { name: id.clone(), id, description: effort.get_non_empty("description") }
    };
    CodexModelOffer {
        hidden: fields.is_true("hidden"),
        efforts: fields.get_array("supportedReasoningEfforts").into_iter().map(effort).collect(),
        usual: fields.get_string("defaultReasoningEffort").unwrap_or_default(),
        personality: fields.is_true("supportsPersonality"),
        model: Model {
            name: fields.get_non_empty("displayName").unwrap_or_else(|| id.clone()),
            id,
            description: fields.get_non_empty("description"),
            default: fields.is_true("isDefault"),
        },
    }
}
