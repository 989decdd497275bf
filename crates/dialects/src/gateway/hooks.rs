//! Hooks: filters lifecycle hooks and pairs the start and end of the others.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, Notice};

/// Maximum number of open hooks. A hook that never ends must not be remembered forever.
const MAX_OPEN_HOOKS: usize = 64;

/// The open hooks by name, with their assigned ids.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OpenHooks {
    open: VecDeque<(String, String)>,
}

impl OpenHooks {
    /// Returns the id of this hook run: its own, that of its start, or the event's.
    pub fn run_id(&mut self, notice: &Notice, event: &Event) -> String {
        if let Some(id) = own_id(notice) {
            return id;
        }
        let name = notice.name.as_deref().unwrap_or_default();
        if notice.status.as_deref() == Some("started") {
            let id = event.id().to_string();
            self.open.push_back((name.to_owned(), id.clone()));
            if self.open.len() > MAX_OPEN_HOOKS {
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
    struct HookDetail {
        id: String,
    }
    serde_json::from_str::<HookDetail>(notice.detail.as_ref()?.get()).ok().map(|detail| detail.id)
}

/// Returns whether a hook belongs to the session lifecycle, which only concerns the agent's host. The name may have a
/// suffix after a colon.
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
