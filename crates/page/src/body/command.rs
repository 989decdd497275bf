//! Commands and their output.

use switchboard_event::{Command, Item};

use super::{EntryBody, call::returned, content::ImageUrlFn, pile::BodyBuilder};
use crate::html::{code, code_title, terminal};

/// Longer output is initially folded.
const MAX_UNFOLDED_OUTPUT_LINES: u32 = 60;
/// Longer commands are repeated below the title.
const MAX_TITLE_COMMAND_BYTES: usize = 160;

pub(super) fn command(item: &Item, command: &Command, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    if command.command.len() > MAX_TITLE_COMMAND_BYTES || command.command.trim().contains('\n') {
        pile.add(code(&command.command, "bash"));
    }
    if !command.output.is_empty() {
        pile.add(terminal(&command.output));
    }
    if command.truncated {
        pile.cut("There was more output than was kept.");
    }
    returned(&mut pile, item, address);
    let mut body = pile.body("command", code_title(&command.command));
    body.fold = body.size > MAX_UNFOLDED_OUTPUT_LINES;
    body.label = label(command);
    body
}

fn label(command: &Command) -> Option<String> {
    let code = command.exit_code.map(|code| format!("exit {code}"));
    let background = command.background.then(|| "in the background".to_owned());
    let words: Vec<String> = code.into_iter().chain(background).collect();
    (!words.is_empty()).then(|| words.join(" · "))
}
