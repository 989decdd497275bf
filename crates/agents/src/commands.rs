//! Slash commands: the ones that an agent told of, and how one is said to an agent that takes it as a prompt.

use crate::{Prompt, Unsupported};

/// More than any agent has.
const MOST: usize = 1024;

/// The names of an agent's commands.
#[derive(Default)]
pub struct Commands(Vec<String>);

impl Commands {
    /// These are its commands from now on.
    pub fn are(&mut self, names: impl IntoIterator<Item = String>) {
        self.0 = names.into_iter().take(MOST).collect();
    }

    /// The agent has such a command, as far as it told; one that told nothing decides by itself.
    pub fn check(&self, name: &str) -> Result<(), Unsupported> {
        if self.0.is_empty() || self.0.iter().any(|known| known == name) {
            return Ok(());
        }
        Err(unknown(name, self.0.iter().map(String::as_str)))
    }
}

/// There is no such command, but these.
pub fn unknown<'a>(name: &str, known: impl IntoIterator<Item = &'a str>) -> Unsupported {
    let known: Vec<_> = known.into_iter().map(|known| format!("/{known}")).collect();
    let hint = if known.is_empty() { "it has none".to_owned() } else { format!("it has {}", known.join(", ")) };
    Unsupported::new(format!("the agent has no command /{name}")).with_hint(hint)
}

/// A command as people type it.
pub fn typed(name: &str, arguments: &str) -> Prompt {
    let text = match arguments.trim() {
        "" => format!("/{name}"),
        arguments => format!("/{name} {arguments}"),
    };
    Prompt { text, ..Prompt::default() }
}

#[cfg(test)]
mod tests {
    use super::{Commands, typed};

    #[test]
    fn a_command_is_known_or_others_are_named() {
        let mut commands = Commands::default();
        assert!(commands.check("anything").is_ok(), "nothing was told yet");
        commands.are(["init".to_owned(), "compact".to_owned()]);
        assert!(commands.check("compact").is_ok());
        let refused = commands.check("dance").unwrap_err().to_string();
        assert_eq!(refused, "the agent has no command /dance\nhint: it has /init, /compact");
    }

    #[test]
    fn a_command_is_said_as_people_type_it() {
        assert_eq!(typed("compact", " ").text, "/compact");
        assert_eq!(typed("review", "the diff ").text, "/review the diff");
    }
}
