//! Configuration offered by an agent: modes, options and commands.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The modes, and the one that it is in.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Modes {
    /// The mode that it is in.
    pub current_mode_id: String,
    /// All modes.
    pub available_modes: Vec<Mode>,
}

/// A mode.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mode {
    /// What to set.
    pub id: String,
    /// What to show.
    pub name: String,
    /// What it does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A setting with a list of values.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ConfigOption {
    /// What to set.
    pub id: String,
    /// What to show.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Where a client shows it; anywhere, if that is not said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub category: Option<Category>,
    /// It is chosen from a list.
    #[serde(rename = "type")]
    pub kind: Select,
    /// The value that it has.
    pub current_value: String,
    /// The values to choose from.
    pub options: Vec<ConfigValue>,
}

/// How a setting is set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Select {
    /// By choosing from a list.
    #[default]
    Select,
}

/// Where a client shows a setting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Where modes are.
    Mode,
    /// Where models are.
    Model,
    /// Beside the model.
    ModelConfig,
    /// Where it is said how much to think.
    ThoughtLevel,
}

/// A value of a setting.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConfigValue {
    /// What to set.
    pub value: String,
    /// What to show.
    pub name: String,
    /// What it does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
}

/// A slash command.
#[derive(Serialize, JsonSchema)]
pub struct Command<'a> {
    /// Its name, without the slash.
    pub name: &'a str,
    /// What it does.
    pub description: &'a str,
}
