//! Slash commands: the ones that an agent announced, and the prompt form of a command.

use crate::{AgentPrompt, UnsupportedOperation};

/// More than any agent has.
const MAX_COMMANDS: usize = 1024;

/// The names of an agent's commands.
#[derive(Default)]
pub struct SlashCommands(Vec<String>);

impl SlashCommands {
    /// Replaces the known names.
    pub fn set_names(&mut self, names: impl IntoIterator<Item = String>) {
        self.0 = names.into_iter().take(MAX_COMMANDS).collect();
    }

    /// Checks that the agent has the command. An agent that announced none decides by itself.
    pub fn check_name(&self, name: &str) -> Result<(), UnsupportedOperation> {
        if self.0.is_empty() || self.0.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(unknown_command_error(name, self.0.iter().map(String::as_str)))
    }
}

pub fn unknown_command_error<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> UnsupportedOperation {
    let known: Vec<_> = known.into_iter().map(|known| format!("/{known}")).collect();
    let hint = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    UnsupportedOperation::new(format!("the agent has no command /{name}")).with_hint(hint)
}

/// Builds the prompt of a command as people type it.
pub fn command_prompt(name: &str, arguments: &str) -> AgentPrompt {
    let text = match arguments.trim() {
        "" => format!("/{name}"),
        arguments => format!("/{name} {arguments}"),
    };
    AgentPrompt { text, ..AgentPrompt::default() }
}

#[cfg(test)]
mod tests {

    use super::{SlashCommands, command_prompt};

    #[test]
    fn a_command_is_known_or_others_are_named() {
        let mut commands = SlashCommands::default();
        assert!(commands.check_name("anything").is_ok(), "nothing was told yet");
        commands.set_names(["init".to_owned(), "compact".to_owned()]);
        assert!(commands.check_name("compact").is_ok());
        let refused = commands.check_name("dance").unwrap_err().to_string();
        assert_eq!(refused, "the agent has no command /dance\nhint: it has /init, /compact");
    }

    #[test]
    fn a_command_is_said_as_people_type_it() {
        assert_eq!(command_prompt("compact", " ").text, "/compact");
        assert_eq!(command_prompt("review", "the diff ").text, "/review the diff");
    }
}
