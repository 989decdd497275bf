//! What an agent offers, put together from all that it said: modes, models, settings, commands.

use serde::{Deserialize, Serialize};
use switchboard_event::{Info, Mode as EventMode, Model, Named, Selector};

use super::wire::{Category, Command, ConfigOption, ConfigValue, Mode, Modes, Select};

/// The setting that is the mode.
pub const MODE: &str = "mode";
/// The setting that is the model.
pub const MODEL: &str = "model";

/// Settings of agents that say how much to think, by id.
const THOUGHT: [&str; 6] =
    ["reasoning_effort", "effort", "thought_level", "thinking", "max_thinking_tokens", "variant"];

/// What is offered, and what is chosen.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Offered {
    model: Option<String>,
    mode: Option<String>,
    models: Vec<Model>,
    modes: Vec<EventMode>,
    options: Vec<Selector>,
}

impl From<&Info> for Offered {
    fn from(info: &Info) -> Self {
        let mut offered = Self::default();
        offered.see(info);
        offered
    }
}

impl Offered {
    /// Takes note of what changed.
    pub fn see(&mut self, info: &Info) {
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

    /// The mode that it is in, if it has modes. One that does not say is in the one that is called the default.
    #[must_use]
    pub fn mode(&self) -> Option<&str> {
        let usual = self.modes.iter().find(|mode| mode.id == "default").or(self.modes.first())?;
        Some(self.mode.as_deref().unwrap_or(&usual.id))
    }

    /// The modes, if it has any.
    #[must_use]
    pub fn modes(&self) -> Option<Modes> {
        let current = self.mode()?.to_owned();
        let mut modes: Vec<_> = self.modes.iter().map(mode).collect();
        if !modes.iter().any(|mode| mode.id == current) {
            modes.push(Mode { id: current.clone(), name: current.clone(), description: None });
        }
        Some(Modes { current_mode_id: current, available_modes: modes })
    }

    /// All settings: the mode, the model, and the agent's own.
    #[must_use]
    pub fn config_options(&self) -> Vec<ConfigOption> {
        let mode = self.mode().map(|current| self.mode_option(current));
        let own = self.options.iter().filter(|own| own.id != MODE && own.id != MODEL && !own.values.is_empty());
        mode.into_iter().chain(self.model_option()).chain(own.map(own_option)).collect()
    }

    fn mode_option(&self, current: &str) -> ConfigOption {
        let values = self.modes.iter().map(|mode| value(&mode.id, &mode.name, mode.description.as_ref()));
        select(MODE, "Mode", Some(Category::Mode), current, values.collect())
    }

    fn model_option(&self) -> Option<ConfigOption> {
        let first = self.models.iter().find(|model| model.default).or(self.models.first())?;
        let values = self.models.iter().map(|model| value(&model.id, &model.name, model.description.as_ref()));
        let current = self.model.as_deref().unwrap_or(&first.id);
        Some(select(MODEL, "Model", Some(Category::Model), current, values.collect()))
    }
}

fn mode(mode: &EventMode) -> Mode {
    Mode { id: mode.id.clone(), name: named(&mode.name, &mode.id), description: mode.description.clone() }
}

fn own_option(own: &Selector) -> ConfigOption {
    let category = match own.group.as_deref() {
        Some("thought_level") => Some(Category::ThoughtLevel),
        Some("model_config") => Some(Category::ModelConfig),
        _ if THOUGHT.contains(&own.id.as_str()) => Some(Category::ThoughtLevel),
        _ => None,
    };
    let values = own.values.iter().map(|known| value(&known.id, &known.name, known.description.as_ref()));
    let mut option = select(&own.id, &named(&own.name, &own.id), category, &own.value, values.collect());
    option.description.clone_from(&own.description);
    option
}

/// A setting. Its value is always one of its values.
fn select(
    id: &str,
    name: &str,
    category: Option<Category>,
    current: &str,
    mut options: Vec<ConfigValue>,
) -> ConfigOption {
    if !options.iter().any(|known| known.value == current) {
        options.insert(0, value(current, current, None));
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

fn value(id: &str, name: &str, description: Option<&String>) -> ConfigValue {
    ConfigValue { value: id.to_owned(), name: named(name, id), description: description.cloned() }
}

fn named(name: &str, id: &str) -> String {
    if name.is_empty() { id.to_owned() } else { name.to_owned() }
}

/// Slash commands. Some agents give them with their slash; the protocol has none.
pub fn commands(commands: &[Named]) -> Vec<Command<'_>> {
    commands.iter().map(command).collect()
}

fn command(command: &Named) -> Command<'_> {
    Command {
        name: command.name.strip_prefix('/').unwrap_or(&command.name),
        description: command.description.as_deref().unwrap_or_default(),
    }
}
