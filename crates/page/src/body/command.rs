//! Commands and what they printed.

use switchboard_event::{Command, Item};

use super::{Body, call::returned, content::Address, pile::Pile};
use crate::html::{code, code_title, terminal};

/// Longer output is folded at first.
const LONG: u32 = 60;
/// Longer commands are shown below the title, too.
const SHORT: usize = 160;

/// A shell command.
pub(super) fn command(item: &Item, command: &Command, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
    if command.command.len() > SHORT || command.command.trim().contains('\n') {
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
    body.fold = body.size > LONG;
    body.label = label(command);
    body
}

fn label(command: &Command) -> Option<String> {
    let code = command.exit_code.map(|code| format!("exit {code}"));
    let background = command.background.then(|| "in the background".to_owned());
    let words: Vec<String> = code.into_iter().chain(background).collect();
    (!words.is_empty()).then(|| words.join(" · "))
}
