//! The Agent Client Protocol (JSON-RPC, version 1) between editors and agents. This module writes the agent's side:
//! session updates and requests to the user.

mod messages;
mod project;
mod requests;
#[cfg(test)]
mod tests;
mod tool_calls;
mod wire;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use switchboard_event::{Info, Mode as EventMode, Model, Named, Selector};
use wire::{Category, Command, ConfigValue, Mode, Notification, Request, Select};

use crate::Dialect;
use crate::projection::restore_projection;
use crate::table::schema_generator;

pub use project::{AcpClientCapabilities, AcpProjection, stop_reason, token_usage};
pub use requests::{AcpRequestKind, chosen_label, form_answers, is_allow_option, request_kind};
pub use wire::{ConfigOption, Modes, StopReason, TokenUsage};

/// The ACP dialect.
pub const DIALECT: Dialect = Dialect {
    name: "acp",
    title: "the Agent Client Protocol: session/update, session/request_permission, …",
    projection: || Box::new(AcpProjection::default()),
    restore: restore_projection::<AcpProjection>,
    revision: 3,
    verbatim: false,
    schema: |_| message_schema(),
};

/// Returns the schema of one message.
fn message_schema() -> Value {
    let mut generator = schema_generator();
    let notification = generator.subschema_for::<Notification<'_>>();
    let request = generator.subschema_for::<Request<'_>>();
    json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Message of the Agent Client Protocol",
        "description": "One message of the agent's side: a notification, or a request with an id.",
        "type": "object",
        "if": {"required": ["id"]},
        "then": request,
        "else": notification,
        "$defs": generator.take_definitions(true),
    })
}

/// Id of the option that selects the mode.
pub const MODE_OPTION_ID: &str = "mode";
/// Id of the option that selects the model.
pub const MODEL_OPTION_ID: &str = "model";

/// Ids of agent selectors that control the amount of reasoning.
const THOUGHT_LEVEL_OPTION_IDS: [&str; 6] =
    ["reasoning_effort", "effort", "thought_level", "thinking", "max_thinking_tokens", "variant"];

/// The modes, models and selectors of an agent, and the selected values.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct AgentConfigOptions {
    model: Option<String>,
    mode: Option<String>,
    models: Vec<Model>,
    modes: Vec<EventMode>,
    options: Vec<Selector>,
}

impl From<&Info> for AgentConfigOptions {
    fn from(info: &Info) -> Self {
        let mut offered = Self::default();
        offered.apply_info(info);
        offered
    }
}

impl AgentConfigOptions {
    /// Applies the changed parts of a session info.
    fn apply_info(&mut self, info: &Info) {
        if info.model.is_some() {
            self.model.clone_from(&info.model);
        }
        if info.mode.is_some() {
            self.mode.clone_from(&info.mode);
        }
        if !info.models.is_empty() {
            self.models.clone_from(&info.models);
        }
        if !info.modes.is_empty() {
            self.modes.clone_from(&info.modes);
        }
        if !info.options.is_empty() {
            self.options.clone_from(&info.options);
        }
    }

    /// Returns the current mode if the agent has modes. If the agent does not report one, this is the mode `default` or
    /// else the first.
    #[must_use]
    fn current_mode(&self) -> Option<&str> {
        let usual = self.modes.iter().find(|mode| mode.id == "default").or(self.modes.first())?;
        Some(self.mode.as_deref().unwrap_or(&usual.id))
    }

    /// Returns all modes and the current one; none if the agent has no modes.
    #[must_use]
    pub fn session_modes(&self) -> Option<Modes> {
        let current = self.current_mode()?.to_owned();
        let mut modes: Vec<_> = self.modes.iter().map(to_mode).collect();
        if !modes.iter().any(|mode| mode.id == current) {
            modes.push(Mode { id: current.clone(), name: current.clone(), description: None });
        }
        Some(Modes { current_mode_id: current, available_modes: modes })
    }

    /// Returns all options: the mode, the model and the agent's own selectors.
    #[must_use]
    pub fn config_options(&self) -> Vec<ConfigOption> {
        let mode = self.current_mode().map(|current| self.mode_option(current));
        let own = self
            .options
            .iter()
            .filter(|own| own.id != MODE_OPTION_ID && own.id != MODEL_OPTION_ID && !own.values.is_empty());
        mode.into_iter().chain(self.model_option()).chain(own.map(selector_option)).collect()
    }

    fn mode_option(&self, current: &str) -> ConfigOption {
        let values = self.modes.iter().map(|mode| config_value(&mode.id, &mode.name, mode.description.as_ref()));
        select_option(MODE_OPTION_ID, "Mode", Some(Category::Mode), current, values.collect())
    }

    fn model_option(&self) -> Option<ConfigOption> {
        let first = self.models.iter().find(|model| model.default).or(self.models.first())?;
        let values = self.models.iter().map(|model| config_value(&model.id, &model.name, model.description.as_ref()));
        let current = self.model.as_deref().unwrap_or(&first.id);
        Some(select_option(MODEL_OPTION_ID, "Model", Some(Category::Model), current, values.collect()))
    }
}

fn to_mode(mode: &EventMode) -> Mode {
    Mode { id: mode.id.clone(), name: name_or_id(&mode.name, &mode.id), description: mode.description.clone() }
}

fn selector_option(own: &Selector) -> ConfigOption {
    let category = match own.group.as_deref() {
        Some("thought_level") => Some(Category::ThoughtLevel),
        Some("model_config") => Some(Category::ModelConfig),
        _ if THOUGHT_LEVEL_OPTION_IDS.contains(&own.id.as_str()) => Some(Category::ThoughtLevel),
        _ => None,
    };
    let values = own.values.iter().map(|known| config_value(&known.id, &known.name, known.description.as_ref()));
    let mut option = select_option(&own.id, &name_or_id(&own.name, &own.id), category, &own.value, values.collect());
    option.description.clone_from(&own.description);
    option
}

/// Builds an option. The current value is always among its values.
fn select_option(
    id: &str,
    name: &str,
    category: Option<Category>,
    current: &str,
    mut options: Vec<ConfigValue>,
) -> ConfigOption {
    if !options.iter().any(|known| known.value == current) {
        options.insert(0, config_value(current, current, None));
    }
    ConfigOption {
        id: id.to_owned(),
        name: name.to_owned(),
        description: None,
        category,
        kind: Select::Select,
        current_value: current.to_owned(),
        options,
    }
}

fn config_value(id: &str, name: &str, description: Option<&String>) -> ConfigValue {
    ConfigValue { value: id.to_owned(), name: name_or_id(name, id), description: description.cloned() }
}

fn name_or_id(name: &str, id: &str) -> String {
    if name.is_empty() { id.to_owned() } else { name.to_owned() }
}

/// Converts slash commands. Some agents include the slash; the protocol does not.
pub fn slash_commands(commands: &[Named]) -> Vec<Command<'_>> {
    commands.iter().map(slash_command).collect()
}

fn slash_command(command: &Named) -> Command<'_> {
    Command {
        name: command.name.strip_prefix('/').unwrap_or(&command.name),
        description: command.description.as_deref().unwrap_or_default(),
    }
}
