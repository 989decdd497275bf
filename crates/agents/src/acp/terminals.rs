//! Terminals of the client, in which agents run their commands. Their output belongs to the calls that show them.

use std::collections::VecDeque;

use super::{call::ToolCall, live::Live};
use crate::{JsonObject, JsonView, RunRecorder, bounded::push_bounded};

/// Maximum number of remembered terminals.
const REMEMBERED: usize = 64;

/// The command line of each terminal.
#[derive(Default)]
pub struct Terminals {
    commands: VecDeque<(String, String)>,
}

impl Terminals {
    /// Returns the command line that a terminal is requested to run.
    pub fn asked(&self, params: &JsonObject<'_>) -> Option<String> {
        let words = params.get_non_empty("command").into_iter().chain(params.get_strings("args"));
        Some(words.collect::<Vec<_>>().join(" ")).filter(|line| !line.is_empty())
    }

    fn remember(&mut self, terminal: String, command: String) {
        push_bounded(&mut self.commands, (terminal, command), REMEMBERED);
    }

    /// Sets the command of a call from the terminal that it shows.
    pub fn link(&self, call: &mut ToolCall) {
        if call.run.is_none() {
            let shown = self.commands.iter().find(|(terminal, _)| call.shows(terminal));
            call.run = shown.map(|(_, command)| command.clone());
        }
    }
}

impl Live {
    /// Reads the client's response about a terminal. `what` is the command line for `terminal/create`, otherwise the
    /// terminal.
    pub(super) fn terminal_told(
        &mut self,
        method: &str,
        what: Option<String>,
        result: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let Some(what) = what else { return };
        if method == "terminal/create" {
            if let Some(terminal) = result.get_non_empty("terminalId") {
                self.terminals.remember(terminal, what);
            }
            return;
        }
        let Some(call) = self.calls.by_terminal(&what) else { return };
        if let Some(output) = result.get_string("output") {
            call.printed = output;
        }
        let exit = result.get("exitStatus").map(JsonView::as_object);
        call.exit = exit.as_ref().unwrap_or(result).get_i32("exitCode").or(call.exit);
        let item = call.item.clone();
        self.show_call(&item, recorder);
    }
}
