//! Terminals of the client, in which agents run their commands: what they print belongs to the calls that show them.

use std::collections::VecDeque;

use super::{call::ToolCall, live::Live};
use crate::{Json, Object, Scribe};

/// How many terminals are remembered.
const REMEMBERED: usize = 64;

/// The command line of each terminal.
#[derive(Default)]
pub struct Terminals {
    commands: VecDeque<(String, String)>,
}

impl Terminals {
    /// The command line that a terminal is asked to run.
    pub fn asked(&self, params: &Object<'_>) -> Option<String> {
        let words = params.filled("command").into_iter().chain(params.strings("args"));
        Some(words.collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty())
    }

    fn remember(&mut self, terminal: String, command: String) {
        if self.commands.len() == REMEMBERED {
            self.commands.pop_front();
        }
        self.commands.push_back((terminal, command));
    }

    /// A call that shows a terminal is about what the terminal runs.
    pub fn link(&self, call: &mut ToolCall) {
        if call.run.is_none() {
            let shown = self.commands.iter().find(|(terminal, _)| call.shows(terminal));
            call.run = shown.map(|(_, command)| command.clone());
        }
    }
}

impl Live {
    /// What the client answered about a terminal. Of `terminal/create`, `what` is the command line; of the others, it
    /// is the terminal.
    pub(super) fn terminal_told(
        &mut self,
        method: &str,
        what: Option<String>,
        result: &Object<'_>,
        scribe: &mut Scribe,
    ) {
        let Some(what) = what else { return };
        if method == "terminal/create" {
            if let Some(terminal) = result.filled("terminalId") {
                self.terminals.remember(terminal, what);
            }
            return;
        }
        let Some(call) = self.calls.by_terminal(&what) else { return };
        if let Some(output) = result.string("output") {
            call.printed = output;
        }
        let exit = result.get("exitStatus").map(Json::object);
        call.exit = exit.as_ref().unwrap_or(result).i32("exitCode").or(call.exit);
        let item = call.item.clone();
        self.show_call(&item, scribe);
    }
}
