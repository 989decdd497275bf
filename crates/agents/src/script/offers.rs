//! The choices that a script offers: two models, two modes, a selector and two commands. They affect only what it
//! reports.

use switchboard_event::{Info, Mode, Model, Named, Selector, SelectorValue};

use crate::{UnsupportedOperation, commands};

/// The models. The first is the default.
const MODELS: [(&str, &str, &str); 2] =
    [("script-1", "Script 1", "Performs every line"), ("script-1-mini", "Script 1 mini", "Performs every line, too")];

/// The values of the selector. The second is the default.
const PACES: [(&str, &str); 3] = [("calm", "Calm"), ("steady", "Steady"), ("brisk", "Brisk")];

/// The modes. The first is the default.
const MODES: [(&str, &str, &str); 2] =
    [("perform", "Perform", "Performs every line"), ("rehearse", "Rehearse", "Performs every line, too")];

const COMMANDS: &[(&str, &str)] =
    &[("compact", "Pretends to forget what was said"), ("rename", "Gives the session a title")];

/// Checks that a command exists.
pub fn has_command(name: &str) -> Result<(), UnsupportedOperation> {
    if COMMANDS.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    Err(commands::unknown_command_error(name, COMMANDS.iter().map(|(name, _)| *name)))
}

#[derive(Default)]
pub struct ScriptSelections {
    model: Option<String>,
    mode: Option<String>,
    pace: Option<String>,
}

impl ScriptSelections {
    /// Returns all choices and the current selection.
    pub fn info(&self, cwd: Option<String>) -> Info {
        Info {
            cwd,
            model: Some(self.model().to_owned()),
            mode: Some(self.mode.clone().unwrap_or_else(|| MODES[0].0.to_owned())),
            models: models(),
            modes: modes(),
            options: self.options(),
            commands: listed(),
            ..Info::default()
        }
    }

    pub fn model(&self) -> &str {
        self.model.as_deref().unwrap_or(MODELS[0].0)
    }

    /// Selects a model. Any name is accepted, because the caller may have its own.
    pub fn set_model(&mut self, model: &str) {
        self.model = Some(model.to_owned());
    }

    /// Selects a mode. Returns whether it exists.
    pub fn set_mode(&mut self, mode: &str) -> bool {
        let known = MODES.iter().any(|(id, ..)| *id == mode);
        if known {
            self.mode = Some(mode.to_owned());
        }
        known
    }

    /// Selects a value. Returns whether the selector and the value exist.
    pub fn set_option(&mut self, id: &str, value: &str) -> bool {
        let known = id == "pace" && PACES.iter().any(|(pace, _)| *pace == value);
        if known {
            self.pace = Some(value.to_owned());
        }
        known
    }

    fn options(&self) -> Vec<Selector> {
        let value = |(id, name): &(&str, &str)| SelectorValue {
            id: (*id).to_owned(),
            name: (*name).to_owned(),
            description: None,
        };
        vec![Selector {
            id: "pace".to_owned(),
            name: "Pace".to_owned(),
            description: Some("How the script is performed".to_owned()),
            group: None,
            value: self.pace.clone().unwrap_or_else(|| PACES[1].0.to_owned()),
            values: PACES.iter().map(value).collect(),
        }]
    }
}

fn models() -> Vec<Model> {
    let model = |(index, (id, name, description)): (usize, &(&str, &str, &str))| Model {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
        default: index == 0,
    };
    MODELS.iter().enumerate().map(model).collect()
}

fn modes() -> Vec<Mode> {
    let mode = |(id, name, description): &(&str, &str, &str)| Mode {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
    };
    MODES.iter().map(mode).collect()
}

fn listed() -> Vec<Named> {
    let named = |(name, description): &(&str, &str)| Named {
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
    };
    COMMANDS.iter().map(named).collect()
}
