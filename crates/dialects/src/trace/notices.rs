//! Maps notices to messages, log lines and metadata.

use std::borrow::Cow;

use switchboard_event::{Level, Notice, Topic};

use super::{
    project::TraceSink,
    wire::{TraceChannel, TraceEventType, TraceRole, TraceTool},
};

/// Writes a notice. Heartbeats, echoes and communication between host and agent are omitted, like text deltas.
pub fn write_notice(notice: &Notice, sink: &mut TraceSink<'_>) {
    let talk = matches!(notice.topic, Topic::Status | Topic::Control) && notice.level == Level::Debug;
    if talk || matches!(notice.topic, Topic::Heartbeat | Topic::Echo) {
        return;
    }
    let (kind, channel) = classify_notice(notice);
    let text = notice_text(notice);
    let (item, text) = (sink.event.item.as_deref(), text.as_deref());
    sink.send(kind, channel, |line| {
        line.what.text = text;
        if is_local(notice) {
            line.what.role = TraceRole::Cli;
        }
        line.tool = item.map(|item| TraceTool { call_id: Some(item), ..TraceTool::default() });
    });
}

/// Returns whether the text is output of a command that the agent handles itself.
fn is_local(notice: &Notice) -> bool {
    notice.topic == Topic::Stdout && notice.name.as_deref() == Some("local_command")
}

fn classify_notice(notice: &Notice) -> (TraceEventType, TraceChannel) {
    let says = notice.text.is_some() || notice.error.is_some();
    match notice.topic {
        Topic::Stdout | Topic::Stderr => (TraceEventType::Log, TraceChannel::Terminal),
        Topic::Hook => (TraceEventType::Log, TraceChannel::System),
        Topic::Snapshot => (TraceEventType::FileSnapshot, TraceChannel::Filesystem),
        Topic::Compaction | Topic::Status if is_summary(notice) => {
            (TraceEventType::SessionSummary, TraceChannel::System)
        }
        Topic::Compaction if says => (TraceEventType::SystemMessage, TraceChannel::System),
        Topic::Warning
        | Topic::Retry
        | Topic::RateLimit
        | Topic::Auth
        | Topic::Interrupt
        | Topic::Retracted
        | Topic::ModelChanged
            if says =>
        {
            (TraceEventType::SystemMessage, TraceChannel::System)
        }
        _ if notice.error.is_some() => (TraceEventType::SystemMessage, TraceChannel::System),
        _ => (TraceEventType::Meta, TraceChannel::System),
    }
}

/// Returns whether the notice is a session summary written by the model.
fn is_summary(notice: &Notice) -> bool {
    let status = notice.status.as_deref();
    notice.text.is_some()
        && (status == Some("summary") || notice.topic == Topic::Compaction && status != Some("failed"))
}

/// Returns the text of a notice: its text, error or name. A hook has all of them.
fn notice_text(notice: &Notice) -> Option<Cow<'_, str>> {
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
