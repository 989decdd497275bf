//! Slash commands. Codex's terminal commands are requests of the app-server, which does not list them, so the list is
//! here.

use serde_json::{Value, json};

use super::{CodexDriver, CodexTurnState, RequestPurpose};
use crate::{DriverEffects, JsonObject, UnsupportedOperation, commands};

/// Command names and descriptions.
pub const SLASH_COMMANDS: &[(&str, &str)] = &[
    ("compact", "Compact the conversation so far"),
    ("new", "Begin a new conversation"),
    ("review", "Review the uncommitted changes, or the given target"),
    ("rename", "Give the thread a name"),
];

pub fn check_command(name: &str) -> Result<(), UnsupportedOperation> {
    if SLASH_COMMANDS.iter().any(|(known, _)| *known == name) {
        return Ok(());
    }
    Err(commands::unknown_command_error(name, SLASH_COMMANDS.iter().map(|(name, _)| *name)))
}

impl CodexDriver {
    pub(super) fn run_slash_command(
        &mut self,
        name: &str,
        arguments: &str,
        effects: &mut DriverEffects,
    ) -> Result<(), UnsupportedOperation> {
        let (method, params, turn) = match name {
            "new" => {
                self.start_new_thread(effects);
                return Ok(());
            }
            "compact" => ("thread/compact/start", json!({}), true),
            "review" => ("review/start", json!({ "target": review_target(arguments), "delivery": "inline" }), true),
            "rename" if arguments.is_empty() => {
                return Err(UnsupportedOperation::new("a thread cannot be without a name").with_hint("/rename NAME"));
            }
            "rename" => ("thread/name/set", json!({ "name": arguments }), false),
            _ => return check_command(name),
        };
        let mut params = params;
        params["threadId"] = json!(self.thread);
        let id = self.calls.send(method, &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Command { turn });
        if turn {
            self.turn = CodexTurnState::Asked;
        }
        Ok(())
    }

    /// Opens a thread with the settings of the current one, which is left only once the new thread exists.
    fn start_new_thread(&mut self, effects: &mut DriverEffects) {
        let mut params = self.opening.params.clone();
        for key in ["threadId", "cwd", "excludeTurns"] {
            params.remove(key);
        }
        if let Some(model) = self.selectors.selected_model() {
            params.insert("model".to_owned(), json!(model));
        }
        let id = self.calls.send("thread/start", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Afresh);
    }

    /// Switches to the new thread.
    pub(super) fn switch_thread(&mut self, result: &JsonObject<'_>, effects: &mut DriverEffects) {
        let left = std::mem::replace(&mut self.thread, result.get_object("thread").get_non_empty("id"));
        self.calls.send("thread/unsubscribe", &json!({ "threadId": left }), effects);
        if let Some(settings) = self.selectors.new_thread_settings() {
            self.update_settings(settings, effects);
        }
        self.finish_command(effects);
    }

    /// Handles a command that starts no turn, or that was refused.
    pub(super) fn finish_command(&mut self, effects: &mut DriverEffects) {
        if matches!(self.turn, CodexTurnState::Asked) {
            self.turn = CodexTurnState::Idle;
        }
        self.start_next_or_settle(effects);
    }
}

fn review_target(arguments: &str) -> Value {
    match arguments {
        "" => json!({ "type": "uncommittedChanges" }),
        instructions => json!({ "type": "custom", "instructions": instructions }),
    }
}
