//! Notices: what is a message, what is a log line, and what is only kept.

use std::borrow::Cow;

use switchboard_event::{Level, Notice, Topic};

use super::{
    project::Sink,
    wire::{Channel, EventType, Role, Tool},
};

/// Writes a notice. Signs of life, echoes and talk between host and agent are no occurrences, like the pieces in which
/// text comes.
pub fn write(notice: &Notice, sink: &mut Sink<'_>) {
    let talk = matches!(notice.topic, Topic::Status | Topic::Control) && notice.level == Level::Debug;
    if talk || matches!(notice.topic, Topic::Heartbeat | Topic::Echo) {
        return;
    }
    let (kind, channel) = nature(notice);
    let text = words(notice);
    let (item, text) = (sink.event.item.as_deref(), text.as_deref());
    sink.send(kind, channel, |line| {
        line.what.text = text;
        if is_local(notice) {
            line.what.role = Role::Cli;
        }
        line.tool = item.map(|item| Tool { call_id: Some(item), ..Tool::default() });
    });
}

/// A command that the agent answers itself printed it.
fn is_local(notice: &Notice) -> bool {
    notice.topic == Topic::Stdout && notice.name.as_deref() == Some("local_command")
}

fn nature(notice: &Notice) -> (EventType, Channel) {
    let says = notice.text.is_some() || notice.error.is_some();
    match notice.topic {
        Topic::Stdout | Topic::Stderr => (EventType::Log, Channel::Terminal),
        Topic::Hook => (EventType::Log, Channel::System),
        Topic::Snapshot => (EventType::FileSnapshot, Channel::Filesystem),
        Topic::Compaction | Topic::Status if is_summary(notice) => (EventType::SessionSummary, Channel::System),
        Topic::Compaction if says => (EventType::SystemMessage, Channel::System),
        Topic::Warning
        | Topic::Retry
        | Topic::RateLimit
        | Topic::Auth
        | Topic::Interrupt
        | Topic::Retracted
        | Topic::ModelChanged
            if says =>
        {
            (EventType::SystemMessage, Channel::System)
        }
        _ if notice.error.is_some() => (EventType::SystemMessage, Channel::System),
        _ => (EventType::Meta, Channel::System),
    }
}

/// The session in short, in the model's words.
fn is_summary(notice: &Notice) -> bool {
    let status = notice.status.as_deref();
    notice.text.is_some()
        && (status == Some("summary") || notice.topic == Topic::Compaction && status != Some("failed"))
}

/// What a person reads: the text, or what went wrong, or the name of what happened. A hook has all of them.
fn words(notice: &Notice) -> Option<Cow<'_, str>> {
    let said = notice.text.as_deref().or(notice.error.as_ref().map(|error| error.message.as_str()));
    match (notice.topic, notice.name.as_deref()) {
        (Topic::Hook, Some(name)) => {
            let status = notice.status.as_deref().unwrap_or("ran");
            Some(said.map_or_else(|| format!("{name} {status}"), |said| format!("{name} {status}: {said}")).into())
        }
        (Topic::Snapshot, _) => Some(said.unwrap_or("snapshot of files").into()),
        (_, name) => said.or(name).map(Cow::Borrowed),
    }
}
