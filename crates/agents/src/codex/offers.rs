//! What Codex lets one choose: models, how hard each can think, whether it has personalities. The reader keeps it to
//! tell of it, the driver to know what may be asked for.

use switchboard_event::{Model, Selector, SelectorValue};

use super::names;
use crate::{Json, Object};

/// The selectors.
pub const EFFORT: &str = "reasoning_effort";
pub const PERSONALITY: &str = "personality";
pub const COLLABORATION: &str = "collaboration_mode";

/// Codex 0.166 has these. It cannot go back to what its configuration says.
pub const PERSONALITIES: [&str; 3] = ["none", "friendly", "pragmatic"];

/// The usual mode.
pub const DEFAULT: &str = "default";

/// The models.
#[derive(Default)]
pub struct Offers(Vec<Offer>);

/// A model and how hard it can think.
pub struct Offer {
    model: Model,
    hidden: bool,
    efforts: Vec<SelectorValue>,
    /// How hard it thinks if nobody says.
    pub usual: String,
    /// It can be given a personality.
    pub personality: bool,
}

impl Offer {
    /// It can think so hard.
    pub fn has(&self, effort: &str) -> bool {
        self.efforts.iter().any(|offered| offered.id == effort)
    }

    /// How hard it can think, in words.
    pub fn efforts(&self) -> Vec<&str> {
        self.efforts.iter().map(|offered| offered.id.as_str()).collect()
    }

    /// The selector for it.
    pub fn selector(&self, chosen: Option<&str>) -> Option<Selector> {
        let value = chosen.filter(|effort| self.has(effort)).unwrap_or(&self.usual);
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

impl Offers {
    /// The answer to `model/list`.
    pub fn add(&mut self, result: &Object<'_>, first_page: bool) {
        if first_page {
            self.0.clear();
        }
        for new in result.array("data").into_iter().map(|model| offer(&model.object())) {
            self.0.retain(|known| known.model.id != new.model.id);
            self.0.push(new);
        }
    }

    /// Those that are meant to be chosen.
    pub fn shown(&self) -> Vec<Model> {
        self.0.iter().filter(|offer| !offer.hidden).map(|offer| offer.model.clone()).collect()
    }

    /// A model, or the usual one.
    pub fn of(&self, model: Option<&str>) -> Option<&Offer> {
        self.0.iter().find(|offer| model.map_or(offer.model.default, |model| offer.model.id == model))
    }
}

fn offer(fields: &Object<'_>) -> Offer {
    let id = names::string(fields, &["model", "id"]).unwrap_or_default();
    let effort = |effort: Json<'_>| {
        let effort = effort.object();
        let id = effort.string("reasoningEffort").unwrap_or_default();
        SelectorValue { name: id.clone(), id, description: effort.filled("description") }
    };
    Offer {
        hidden: fields.is_true("hidden"),
        efforts: fields.array("supportedReasoningEfforts").into_iter().map(effort).collect(),
        usual: fields.string("defaultReasoningEffort").unwrap_or_default(),
        personality: fields.is_true("supportsPersonality"),
        model: Model {
            name: fields.filled("displayName").unwrap_or_else(|| id.clone()),
            id,
            description: fields.filled("description"),
            default: fields.is_true("isDefault"),
        },
    }
}
