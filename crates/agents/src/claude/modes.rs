//! Claude Code's permission modes. It takes any word for one, so we must know them.

use switchboard_event::Mode;

use crate::Unsupported;

/// The mode in which a session begins.
pub const FIRST: &str = "default";

/// The modes that can be set in a session.
const MODES: &[(&str, &str, &str)] = &[
    ("default", "Ask", "asks before it changes something"),
    ("acceptEdits", "Accept edits", "changes, moves and deletes files in the folder without asking"),
    ("plan", "Plan", "changes nothing, and makes a plan to agree to"),
    ("dontAsk", "Don't ask", "declines what would have to be asked"),
    ("auto", "Auto", "lets a model decide what may be done"),
];

/// The modes, for who wants to choose.
pub fn all() -> Vec<Mode> {
    let mode = |(id, name, description): &(&str, &str, &str)| Mode {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
    };
    MODES.iter().map(mode).collect()
}

/// The mode can be set.
pub fn check(mode: &str) -> Result<(), Unsupported> {
    if MODES.iter().any(|(id, ..)| *id == mode) {
        return Ok(());
    }
    if mode == "bypassPermissions" {
        return Err(Unsupported::new("Claude Code cannot stop asking in a session that began with asking")
            .with_hint("start the session with the approval mode autoAll"));
    }
    let known: Vec<_> = MODES.iter().map(|(id, ..)| *id).collect();
    Err(Unsupported::new(format!("Claude Code has no mode `{mode}`")).with_hint(format!("one of {}", known.join(", "))))
}
