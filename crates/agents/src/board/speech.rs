//! Answers, plans and reasoning, and other texts that another Switchboard marks by their channel.

use switchboard_event::{AgentMessage, Id, Item, Level, Notice, Plan, Reasoning, Topic, UserMessage};

use crate::{JsonObject, RunRecorder};

/// Reads a plan or reasoning.
pub fn plan(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let text = payload.get_string("message");
    let item = match payload.get_str("channel").as_deref() {
        Some("reasoning") => Item::new(Reasoning { text, ..Reasoning::default() }),
        _ => Item::new(Plan { text, ..Plan::default() }),
    };
    recorder.item_completed(id, item);
}

/// Reads a line, which belongs to the answer unless its channel says otherwise.
pub fn log(id: &Id, payload: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let line = payload.get_string("line").unwrap_or_default();
    let topic = match payload.get_str("channel").as_deref() {
        None | Some("subagent") => return recorder.item_completed(id, Item::new(AgentMessage::text(line))),
        Some("user") => return recorder.item_completed(id, Item::new(UserMessage::text(line))),
        Some("stdout") => Topic::Stdout,
        Some("stderr") => Topic::Stderr,
        Some("notice") => Topic::Warning,
        Some(_) => Topic::Status,
    };
    recorder.write_notice(Notice::new(topic).with_level(level(payload)).with_text(line));
}

fn level(payload: &JsonObject<'_>) -> Level {
    match payload.get_str("level").as_deref() {
        Some("error") => Level::Error,
        Some("warning") => Level::Warning,
        Some("debug") => Level::Debug,
        _ => Level::Info,
    }
}
