//! Claude Code's permission modes. It accepts any word as a mode, so they are checked here.

use switchboard_event::Mode;

use crate::UnsupportedOperation;

/// The mode in which a session begins.
pub const INITIAL_MODE: &str = "default";

/// The modes that can be set in a session: id, name and description.
const PERMISSION_MODES: &[(&str, &str, &str)] = &[
    ("default", "Ask", "asks before it changes something"),
    ("acceptEdits", "Accept edits", "changes, moves and deletes files in the folder without asking"),
    ("plan", "Plan", "changes nothing, and makes a plan to agree to"),
    ("dontAsk", "Don't ask", "declines what would have to be asked"),
    ("auto", "Auto", "lets a model decide what may be done"),
];

pub fn permission_modes() -> Vec<Mode> {
    let mode = |(id, name, description): &(&str, &str, &str)| Mode {
        id: (*id).to_owned(),
        name: (*name).to_owned(),
        description: Some((*description).to_owned()),
    };
    PERMISSION_MODES.iter().map(mode).collect()
}

/// Checks that a mode can be set in a session.
pub fn check_mode(mode: &str) -> Result<(), UnsupportedOperation> {
    if PERMISSION_MODES.iter().any(|(id, ..)| *id == mode) {
        return Ok(());
    }
    if mode == "bypassPermissions" {
        return Err(UnsupportedOperation::new("Claude Code cannot stop asking in a session that began with asking")
            .with_hint("start the session with the approval mode autoAll"));
    }
    let known: Vec<_> = PERMISSION_MODES.iter().map(|(id, ..)| *id).collect();
    Err(UnsupportedOperation::new(format!("Claude Code has no mode `{mode}`"))
        .with_hint(format!("one of {}", known.join(", "))))
}
