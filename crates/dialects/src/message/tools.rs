//! Items as tools: metadata, input, output and result.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{
    Change, Content as Piece, ContentType, Details, ErrorCode, Item, Status, Team, to_raw_json, to_raw_string,
};

use super::wire::{Content, Dropped, EndStatus, Failure, FileChange, ImageSource, TeamType, Tool};
use crate::tools;

/// Returns whether the item is shown as a tool.
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

/// Returns the metadata that identifies a tool call.
pub fn tool_metadata<'a>(id: &'a str, item: &'a Item) -> Tool<'a> {
    let call = item.call.as_deref();
    Tool {
        tool_use_id: id,
        tool_name: tools::tool_name(item),
        title: call.and_then(|call| call.title.as_deref()),
        kind: call.map(|call| call.kind),
        team_type: team_type(item),
    }
}

/// Returns the effect of a tool call on a team.
pub fn team_type(item: &Item) -> Option<TeamType> {
    Some(match item.call.as_ref()?.team? {
        Team::Message => TeamType::TeamMessage,
        Team::Task => TeamType::TeamTaskUpdate,
        Team::State => TeamType::TeamStateChange,
    })
}

/// Returns the input of a tool; always an object.
pub fn tool_input(item: &Item) -> Cow<'_, RawValue> {
    match (&item.call, &item.details) {
        (None, Details::FileChange(change)) => Cow::Owned(changes_input(&change.changes)),
        _ => tools::tool_arguments(item),
    }
}

/// Returns file changes as the input of a tool.
pub fn changes_input(changes: &[Change]) -> Box<RawValue> {
    #[derive(Serialize)]
    struct FileChangesInput<'a> {
        changes: Vec<FileChange<'a>>,
    }
    to_raw_json(&FileChangesInput { changes: file_changes(changes) })
}

/// Converts file changes without the full file contents.
pub fn file_changes(changes: &[Change]) -> Vec<FileChange<'_>> {
    changes.iter().map(FileChange::from).collect()
}

pub fn end_status(status: Status) -> EndStatus {
    match status {
        Status::Completed | Status::Running => EndStatus::Completed,
        Status::Failed => EndStatus::Failed,
        Status::Declined => EndStatus::Declined,
        Status::Interrupted | Status::Superseded => EndStatus::Interrupted,
    }
}

/// Returns the failure of a tool; empty if it succeeded.
pub fn tool_failure(item: &Item) -> Failure<'_> {
    let code = match item.status {
        Status::Declined => ErrorCode::PermissionDenied,
        Status::Interrupted | Status::Superseded => ErrorCode::Aborted,
        _ => ErrorCode::ToolFailed,
    };
    match tools::tool_error(item) {
        Some(error) if !tools::has_succeeded(item) => Failure::new(code, error),
        _ => Failure::default(),
    }
}

/// Returns the output text, and structured output in addition to it.
pub fn tool_output(item: &Item) -> (Cow<'_, str>, Option<&RawValue>) {
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

/// Returns a JSON string as text, anything else as its JSON.
fn as_text(json: Option<&RawValue>) -> Cow<'_, str> {
    let Some(json) = json else { return Cow::Borrowed("") };
    serde_json::from_str::<String>(json.get()).map_or(Cow::Borrowed(json.get()), Cow::Owned)
}

/// Returns a one-line summary of an ended tool.
pub fn end_summary(item: &Item) -> Cow<'_, str> {
    let word = match end_status(item.status) {
        EndStatus::Completed => "completed",
        EndStatus::Failed => "failed",
        EndStatus::Declined => "declined",
        EndStatus::Interrupted => "interrupted",
    };
    let title = item.call.as_ref().and_then(|call| call.title.as_deref());
    title.map_or_else(|| Cow::Owned(format!("{} {word}", tools::tool_name(item))), Cow::Borrowed)
}

/// Returns whether part of the output was dropped.
pub fn is_truncated(item: &Item) -> bool {
    matches!(&item.details, Details::Command(command) if command.truncated)
}

/// Returns the content blocks for the pieces of a message, and the dropped blocks.
pub fn content_blocks(pieces: &[Piece]) -> (Vec<Content<'_>>, Dropped<'_>) {
    let mut dropped = Dropped::default();
    let blocks = pieces.iter().map(|piece| content_block(piece, &mut dropped)).collect();
    (blocks, dropped)
}

fn content_block<'a>(piece: &'a Piece, dropped: &mut Dropped<'a>) -> Content<'a> {
    let text = piece.text.as_deref();
    match piece.kind {
        ContentType::Text => Content::from_text(text.unwrap_or_default()),
        ContentType::Code => {
            let language = piece.language.as_deref().unwrap_or_default();
            Content::Code { language, code: text.unwrap_or_default() }
        }
        ContentType::Image => image_block(piece),
        ContentType::File => Content::from_text(text.or(piece.url.as_deref()).unwrap_or_default()),
        ContentType::Other => {
            let text = text.unwrap_or_default();
            drop_block(block_type(text), raw_json(text), dropped)
        }
    }
}

/// Records a block without a protocol type and returns the empty text that replaces it.
pub fn drop_block<'a>(kind: Cow<'a, str>, block: Cow<'a, RawValue>, dropped: &mut Dropped<'a>) -> Content<'a> {
    dropped.types.push(kind);
    dropped.blocks.push(block);
    Content::from_text("")
}

/// Converts an image. The protocol only supports embedded images; others are represented by their URL.
fn image_block(piece: &Piece) -> Content<'_> {
    let url = piece.url.as_deref().unwrap_or_default();
    let bytes = match &piece.data {
        Some(data) => Some((piece.media_type.as_deref().unwrap_or("image/png"), data.as_str())),
        None => url.strip_prefix("data:").and_then(|url| url.split_once(";base64,")),
    };
    match bytes {
        Some((media_type, data)) => Content::Image { source: ImageSource::Base64 { media_type, data } },
        None => Content::from_text(piece.text.as_deref().unwrap_or(url)),
    }
}

fn raw_json(text: &str) -> Cow<'_, RawValue> {
    serde_json::from_str::<&RawValue>(text).map_or_else(|_| Cow::Owned(to_raw_string(text)), Cow::Borrowed)
}

/// Returns the `type` of a block given as JSON.
fn block_type(text: &str) -> Cow<'static, str> {
    #[derive(Deserialize)]
    struct TypedBlock {
        #[serde(rename = "type")]
        kind: String,
    }
    serde_json::from_str::<TypedBlock>(text).map_or(Cow::Borrowed("other"), |tagged| Cow::Owned(tagged.kind))
}
