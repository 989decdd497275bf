//! What is said: answers, plans and thoughts, and what another Switchboard marks as none of these by its channel.

use switchboard_event::{AgentMessage, Id, Item, Level, Notice, Plan, Reasoning, Topic, UserMessage};

use crate::{Object, Scribe};

/// A plan, or a thought.
pub fn plan(id: &Id, payload: &Object<'_>, scribe: &mut Scribe) {
    let text = payload.string("message");
    let item = match payload.str("channel").as_deref() {
        Some("reasoning") => Item::new(Reasoning { text, ..Reasoning::default() }),
        _ => Item::new(Plan { text, ..Plan::default() }),
    };
    scribe.item_completed(id, item);
}

/// A line: of the answer, unless it says otherwise.
pub fn log(id: &Id, payload: &Object<'_>, scribe: &mut Scribe) {
    let line = payload.string("line").unwrap_or_default();
    let topic = match payload.str("channel").as_deref() {
        None | Some("subagent") => return scribe.item_completed(id, Item::new(AgentMessage::text(line))),
        Some("user") => return scribe.item_completed(id, Item::new(UserMessage::text(line))),
        Some("stdout") => Topic::Stdout,
        Some("stderr") => Topic::Stderr,
        Some("notice") => Topic::Warning,
        Some(_) => Topic::Status,
    };
    scribe.notice(Notice::new(topic).with_level(level(payload)).with_text(line));
}

fn level(payload: &Object<'_>) -> Level {
    match payload.str("level").as_deref() {
        Some("error") => Level::Error,
        Some("warning") => Level::Warning,
        Some("debug") => Level::Debug,
        _ => Level::Info,
    }
}
