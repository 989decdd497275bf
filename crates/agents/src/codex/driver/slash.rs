//! Slash commands. Those of Codex's terminal are calls here, and it tells of none: this is the list.

use serde_json::{Value, json};

use super::{
    calls::Purpose,
    conversation::{Conversation, Turn},
};
use crate::{Effects, Object, Unsupported, commands};

/// The commands, and what each does.
pub const COMMANDS: &[(&str, &str)] = &[
    ("compact", "Make the conversation so far shorter"),
    ("new", "Begin a new conversation"),
    ("review", "Review the changes that are not committed, or what is said behind it"),
    ("rename", "Give the thread a name"),
];

/// There is such a command.
pub fn has(name: &str) -> Result<(), Unsupported> {
    if COMMANDS.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    Err(commands::unknown(name, COMMANDS.iter().map(|(name, _)| *name)))
}

impl Conversation {
    pub(super) fn slash(&mut self, name: &str, arguments: &str, effects: &mut Effects) -> Result<(), Unsupported> {
        let (method, params, turn) = match name {
            "new" => {
                self.begin_afresh(effects);
                return Ok(());
            }
            "compact" => ("thread/compact/start", json!({}), true),
            "review" => ("review/start", json!({ "target": target(arguments), "delivery": "inline" }), true),
            "rename" if arguments.is_empty() => {
                return Err(Unsupported::new("a thread cannot be without a name").with_hint("/rename NAME"));
            }
            "rename" => ("thread/name/set", json!({ "name": arguments }), false),
            _ => return has(name),
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

    /// A new thread with the settings of this one, which is left only once the other is there.
    fn begin_afresh(&mut self, effects: &mut Effects) {
        let mut params = self.opening.params.clone();
        for key in ["threadId", "cwd", "excludeTurns"] {
            params.remove(key);
        }
        if let Some(model) = self.selectors.model() {
            params.insert("model".to_owned(), json!(model));
        }
        let id = self.calls.send("thread/start", &params, effects);
        self.calls.expect(id, Purpose::Afresh);
    }

    /// The new thread is there.
    pub(super) fn afresh(&mut self, result: &Object<'_>, effects: &mut Effects) {
        let left = std::mem::replace(&mut self.thread, result.object("thread").filled("id"));
        self.calls.send("thread/unsubscribe", &json!({ "threadId": left }), effects);
        if let Some(settings) = self.selectors.rest() {
            self.set(settings, effects);
        }
        self.commanded(effects);
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
