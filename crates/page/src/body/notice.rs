//! Notices that are relevant to users.

use switchboard_event::{Level, Notice, Topic};

use super::{EntryBody, pile::BodyBuilder};
use crate::html::{element, line, terminal};

/// Renders a notice; `None` for the many that are irrelevant to users.
#[must_use]
pub fn notice(notice: &Notice) -> Option<EntryBody> {
    let is_bad = matches!(notice.level, Level::Warning | Level::Error);
    let shown = match notice.topic {
        _ if is_bad || notice.error.is_some() => true,
        Topic::Hook => notice.status.as_deref() == Some("failed"),
        Topic::Stdout | Topic::Stderr => notice.text.as_deref().is_some_and(|text| !text.trim().is_empty()),
        Topic::Task | Topic::ToolSummary => notice.text.is_some(),
        topic => ALWAYS_SHOWN_TOPICS.contains(&topic),
    };
    shown.then(|| body(notice, is_bad))
}

/// Topics that are shown regardless of the level.
const ALWAYS_SHOWN_TOPICS: &[Topic] = &[
    Topic::Retry,
    Topic::Warning,
    Topic::Compaction,
    Topic::Interrupt,
    Topic::ModelChanged,
    Topic::Auth,
    Topic::Retracted,
];

fn body(notice: &Notice, is_bad: bool) -> EntryBody {
    let mut pile = BodyBuilder::default();
    let mut title = name(notice.topic);
    let text = notice.text.as_deref().or(notice.name.as_deref()).map(str::trim).filter(|text| !text.is_empty());
    let is_output = matches!(notice.topic, Topic::Stdout | Topic::Stderr);
    match text {
        Some(text) if is_output || text.contains('\n') || text.len() > 200 => pile.add(terminal(text)),
        Some(text) => pile.line(element("p", "", &[line(text)])),
        None => {}
    }
    if let Some(error) = notice.error.as_ref().filter(|error| text != Some(error.message.as_str())) {
        pile.add(terminal(&error.message));
    }
    if title.is_empty() {
        title = "Notice";
    }
    let mut body = pile.body("notice", line(title));
    body.label = notice.status.clone();
    body.fold = !is_bad && (is_output || notice.topic == Topic::ToolSummary || body.size > 10);
    body
}

fn name(topic: Topic) -> &'static str {
    match topic {
        Topic::Retry => "Trying again",
        Topic::RateLimit => "Rate limit",
        Topic::Warning => "Warning",
        Topic::Hook => "Hook",
        Topic::Auth => "Logging in",
        Topic::Compaction => "Context made smaller",
        Topic::Interrupt => "Interrupted",
        Topic::Retracted => "Taken back",
        Topic::Late => "Late news",
        Topic::Task => "Background task",
        Topic::ToolSummary => "Summary",
        Topic::ModelChanged => "Model changed",
        Topic::Stdout => "Standard output",
        Topic::Stderr => "Standard error",
        Topic::Status => "Status",
        Topic::Control
        | Topic::Echo
        | Topic::Step
        | Topic::Snapshot
        | Topic::Commands
        | Topic::Heartbeat
        | Topic::Unknown => "",
    }
}
