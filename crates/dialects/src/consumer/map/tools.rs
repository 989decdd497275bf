//! What tools do.

use super::{
    super::{
        unified::{Content, Fields, Json, Unified},
        wire::{ServerMessage, ToolProgress, ToolUseSummary},
    },
    content::blocks,
};

/// The tool, by any name that is in use.
fn name(about: &Fields) -> Option<String> {
    about.first_text(&["tool_name", "tool", "kind"])
}

/// The call, by any name that is in use.
fn call(about: &Fields) -> Option<String> {
    about.first_text(&["tool_use_id", "part_id"])
}

/// A tool is going on.
pub fn progress(message: &Unified) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::ToolProgress(Box::new(ToolProgress {
        tool_use_id: call(about).unwrap_or_else(|| "unknown".to_owned()),
        tool_name: name(about).unwrap_or_else(|| "tool".to_owned()),
        elapsed_time_seconds: about.read("elapsed_time_seconds").unwrap_or_default(),
        status: about.text("status"),
        title: about.text("title"),
        kind: about.text("kind"),
        input: about.get("input").cloned(),
        progress: about.read("progress"),
        text: about.text("text"),
        output_delta: about.text("output_delta"),
        team_type: about.text("team_type"),
        parent_tool_use_id: message.parent_tool(),
    }))
}

/// A tool came to its end, or several in a few words.
pub fn summary(message: &Unified) -> ServerMessage {
    let about = &message.metadata;
    let is_result = |content: &&Content| matches!(content, Content::ToolResult { .. });
    let rest: Vec<Content> = match call(about) {
        Some(_) => message.content.iter().filter(|content| !is_result(content)).cloned().collect(),
        // A summary of several is the text itself.
        None => Vec::new(),
    };
    let (content, kinds, _) = blocks(&rest);
    let told: Vec<String> = about.list("dropped_content_block_types");
    let (summary, ids) = (about.text("summary").unwrap_or_else(|| message.text()), ids(message));
    ServerMessage::ToolUseSummary(Box::new(ToolUseSummary {
        summary,
        tool_use_ids: ids,
        tool_use_id: call(about),
        tool_name: call(about).and_then(|_| name(about)),
        status: about.text("status"),
        is_error: about.read("is_error"),
        input: about.get("input").cloned(),
        output: about.get("output").cloned().or_else(|| output(message)),
        content,
        error: about.first_text(&["error", "error_message"]),
        error_code: about.text("error_code"),
        title: about.text("title"),
        kind: about.text("kind"),
        exit_code: about.read("exit_code"),
        duration_ms: about.read("duration_ms"),
        changes: about.list("changes"),
        truncated: about.is_true("truncated"),
        team_type: about.text("team_type"),
        parent_tool_use_id: message.parent_tool(),
        dropped_content_block_types: told.into_iter().chain(kinds).collect(),
    }))
}

fn ids(message: &Unified) -> Vec<String> {
    let told: Vec<String> = message.metadata.list("tool_use_ids");
    if told.is_empty() { call(&message.metadata).into_iter().collect() } else { told }
}

/// What the tool gave back, as it is in the message.
fn output(message: &Unified) -> Option<Json> {
    message.content.iter().find_map(|content| match content {
        Content::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    })
}
