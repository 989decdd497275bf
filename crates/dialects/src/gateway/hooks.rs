//! Hooks: which are shown, and which end belongs to which beginning.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, Notice};

/// How many hooks can be under way. A hook whose end never comes must not be remembered for ever.
const OPEN: usize = 64;

/// The hooks under way, by name, with the id they were given.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Hooks {
    open: VecDeque<(String, String)>,
}

impl Hooks {
    /// The id of this run of the hook: its own, or that of its beginning, or the event's.
    pub fn id(&mut self, notice: &Notice, event: &Event) -> String {
        if let Some(id) = own_id(notice) {
            return id;
        }
        let name = notice.name.as_deref().unwrap_or_default();
        if notice.status.as_deref() == Some("started") {
            let id = event.id().to_string();
            self.open.push_back((name.to_owned(), id.clone()));
            if self.open.len() > OPEN {
                self.open.pop_front();
            }
            return id;
        }
        let begun = self.open.iter().position(|(open, _)| open == name).and_then(|at| self.open.remove(at));
        begun.map_or_else(|| event.id().to_string(), |(_, id)| id)
    }
}

fn own_id(notice: &Notice) -> Option<String> {
    #[derive(serde::Deserialize)]
    struct Detail {
        id: String,
    }
    serde_json::from_str::<Detail>(notice.detail.as_ref()?.get()).ok().map(|detail| detail.id)
}

/// The hooks of a session's life concern the agent's host and nobody else. A name may say more after a colon.
pub fn is_lifecycle(name: &str) -> bool {
    let event = name.split(':').next().unwrap_or_default();
    let letters = |text: &str| text.chars().filter(char::is_ascii_alphabetic).collect::<String>().to_ascii_lowercase();
    ["sessionstart", "stop", "notification"].contains(&letters(event).as_str())
}

#[cfg(test)]
mod tests {
    use super::is_lifecycle;

    #[test]
    fn three_hooks_are_lifecycle() {
        for (name, expected) in [
            ("SessionStart", true),
            ("SessionStart:startup", true),
            ("session_start", true),
            ("Stop", true),
            ("Notification", true),
            ("SubagentStop", false),
            ("PreToolUse:Stop", false),
            ("PreCommit", false),
            ("", false),
        ] {
            assert_eq!(is_lifecycle(name), expected, "{name}");
        }
    }
}
