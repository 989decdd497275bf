//! Slash commands. Those of Codex's terminal are calls here, and it tells of none: this is the list.

use serde_json::{Value, json};

use super::{
    calls::Purpose,
    conversation::{Conversation, Turn},
};
use crate::{Effects, Unsupported, commands};

/// The commands, and what each does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("compact", "Make the conversation so far shorter"),
    ("review", "Review the changes that are not committed, or what is said behind it"),
    ("rename", "Give the thread a name"),
];

impl Conversation {
    pub(super) fn slash(&mut self, name: &str, arguments: &str, effects: &mut Effects) -> Result<(), Unsupported> {
        let (method, params, turn) = match name {
            "compact" => ("thread/compact/start", json!({}), true),
            "review" => ("review/start", json!({ "target": target(arguments), "delivery": "inline" }), true),
            "rename" if arguments.is_empty() => {
                return Err(Unsupported::new("a thread cannot be without a name").with_hint("/rename NAME"));
            }
            "rename" => ("thread/name/set", json!({ "name": arguments }), false),
            _ => return Err(commands::unknown(name, COMMANDS.iter().map(|(name, _)| *name))),
        };
        let mut params = params;
        params["threadId"] = json!(self.thread);
        let id = self.calls.send(method, &params, effects);
        self.calls.expect(id, Purpose::Command { turn });
        if turn {
            self.turn = Turn::Asked;
        }
        Ok(())
    }

    /// A command is done that begins no turn, or was refused.
    pub(super) fn commanded(&mut self, effects: &mut Effects) {
        if matches!(self.turn, Turn::Asked) {
            self.turn = Turn::Idle;
        }
        self.rest(effects);
    }
}

/// What is to be reviewed.
fn target(arguments: &str) -> Value {
    match arguments {
        "" => json!({ "type": "uncommittedChanges" }),
        instructions => json!({ "type": "custom", "instructions": instructions }),
    }
}
