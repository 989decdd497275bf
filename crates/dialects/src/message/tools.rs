//! Items as tools: what is told when they begin, go on and end.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Change, Details, ErrorCode, Item, Status, Team, raw};

use super::wire::{EndStatus, Failure, FileChange, TeamType, Tool};
use crate::tools;

/// The item is shown as a tool.
pub fn is_tool(item: &Item) -> bool {
    match &item.details {
        Details::Command(_)
        | Details::FileChange(_)
        | Details::Mcp(_)
        | Details::WebSearch(_)
        | Details::Subagent(_)
        | Details::Tool(_) => true,
        Details::Plan(_) | Details::Unknown(_) => item.call.is_some(),
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => false,
    }
}

/// Which tool it is.
pub fn tool<'a>(id: &'a str, item: &'a Item) -> Tool<'a> {
    let call = item.call.as_deref();
    Tool {
        tool_use_id: id,
        tool_name: tools::name(item),
        title: call.and_then(|call| call.title.as_deref()),
        kind: call.map(|call| call.kind),
        team_type: team_type(item),
    }
}

/// What it does in a team.
pub fn team_type(item: &Item) -> Option<TeamType> {
    Some(match item.call.as_ref()?.team? {
        Team::Message => TeamType::TeamMessage,
        Team::Task => TeamType::TeamTaskUpdate,
        Team::State => TeamType::TeamStateChange,
    })
}

/// What it was given; always an object.
pub fn input(item: &Item) -> Cow<'_, RawValue> {
    match (&item.call, &item.details) {
        (None, Details::FileChange(change)) => Cow::Owned(changes(&change.changes)),
        _ => tools::arguments(item),
    }
}

/// Changes of files as the input of a tool.
pub fn changes(changes: &[Change]) -> Box<RawValue> {
    #[derive(Serialize)]
    struct Changes<'a> {
        changes: Vec<FileChange<'a>>,
    }
    raw(&Changes { changes: file_changes(changes) })
}

/// Changes of files without what the files were and are.
pub fn file_changes(changes: &[Change]) -> Vec<FileChange<'_>> {
    changes.iter().map(FileChange::from).collect()
}

/// How it ended.
pub fn end_status(status: Status) -> EndStatus {
    match status {
        Status::Completed | Status::Running => EndStatus::Completed,
        Status::Failed => EndStatus::Failed,
        Status::Declined => EndStatus::Declined,
        Status::Interrupted | Status::Superseded => EndStatus::Interrupted,
    }
}

/// What went wrong.
pub fn failure(item: &Item) -> Failure<'_> {
    let code = match item.status {
        Status::Declined => ErrorCode::PermissionDenied,
        Status::Interrupted | Status::Superseded => ErrorCode::Aborted,
        _ => ErrorCode::ToolFailed,
    };
    match tools::error(item) {
        Some(error) if !tools::succeeded(item) => Failure::new(code, error),
        _ => Failure::default(),
    }
}

/// What it gave back as text, and what it gave back beside that.
pub fn output(item: &Item) -> (Cow<'_, str>, Option<&RawValue>) {
    match &item.details {
        Details::Command(command) => (Cow::Borrowed(&command.output), None),
        Details::FileChange(change) => (Cow::Borrowed(change.output.as_deref().unwrap_or_default()), None),
        Details::Subagent(subagent) => (Cow::Borrowed(subagent.result.as_deref().unwrap_or_default()), None),
        Details::Plan(plan) => (Cow::Borrowed(plan.output.as_deref().unwrap_or_default()), None),
        Details::Mcp(mcp) => (as_text(mcp.result.as_deref()), None),
        Details::WebSearch(search) => (as_text(search.results.as_deref()), None),
        Details::Unknown(unknown) => (as_text(unknown.raw.as_deref()), None),
        Details::Tool(tool) if tool.output.is_empty() => (as_text(tool.result.as_deref()), None),
        Details::Tool(tool) => (Cow::Borrowed(&tool.output), tool.result.as_deref()),
        _ => (Cow::Borrowed(""), None),
    }
}

/// A string is itself, all else its JSON.
fn as_text(json: Option<&RawValue>) -> Cow<'_, str> {
    let Some(json) = json else { return Cow::Borrowed("") };
    serde_json::from_str::<String>(json.get()).map_or(Cow::Borrowed(json.get()), Cow::Owned)
}

/// One line about how it ended.
pub fn summary(item: &Item) -> Cow<'_, str> {
    let word = match end_status(item.status) {
        EndStatus::Completed => "completed",
        EndStatus::Failed => "failed",
        EndStatus::Declined => "declined",
        EndStatus::Interrupted => "interrupted",
    };
    let title = item.call.as_ref().and_then(|call| call.title.as_deref());
    title.map_or_else(|| Cow::Owned(format!("{} {word}", tools::name(item))), Cow::Borrowed)
}

/// Some of its output is not kept.
pub fn truncated(item: &Item) -> bool {
    matches!(&item.details, Details::Command(command) if command.truncated)
}
