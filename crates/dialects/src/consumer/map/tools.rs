//! Maps tool messages.

use super::{
    super::{
        unified::{UnifiedContent, UnifiedMessage, VerbatimFields, VerbatimJson},
        wire::{ServerMessage, ToolProgress, ToolUseSummary},
    },
    content::map_blocks,
};

/// Reads the tool name under any of its known keys.
fn tool_name(about: &VerbatimFields) -> Option<String> {
    about.first_text(&["tool_name", "tool", "kind"])
}

/// Reads the tool call id under any of its known keys.
fn tool_use_id(about: &VerbatimFields) -> Option<String> {
    about.first_text(&["tool_use_id", "part_id"])
}

/// Maps the progress of a tool.
pub fn map_progress(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::ToolProgress(Box::new(ToolProgress {
        tool_use_id: tool_use_id(about).unwrap_or_else(|| "unknown".to_owned()),
        tool_name: tool_name(about).unwrap_or_else(|| "tool".to_owned()),
        elapsed_time_seconds: about.read("elapsed_time_seconds").unwrap_or_default(),
        status: about.get_text("status"),
        title: about.get_text("title"),
        kind: about.get_text("kind"),
        input: about.get("input").cloned(),
        progress: about.read("progress"),
        text: about.get_text("text"),
        output_delta: about.get_text("output_delta"),
        team_type: about.get_text("team_type"),
        parent_tool_use_id: message.parent_tool_use_id(),
    }))
}

/// Maps the end of a tool call, or a summary of several.
pub fn map_summary(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    let is_result = |content: &&UnifiedContent| matches!(content, UnifiedContent::ToolResult { .. });
    let rest: Vec<UnifiedContent> = match tool_use_id(about) {
        Some(_) => message.content.iter().filter(|content| !is_result(content)).cloned().collect(),
        // The summary of several calls is the text itself.
        None => Vec::new(),
    };
    let (content, kinds, _) = map_blocks(&rest);
    let told: Vec<String> = about.get_list("dropped_content_block_types");
    let (summary, ids) = (about.get_text("summary").unwrap_or_else(|| message.joined_text()), tool_use_ids(message));
    ServerMessage::ToolUseSummary(Box::new(ToolUseSummary {
        summary,
        tool_use_ids: ids,
        tool_use_id: tool_use_id(about),
        tool_name: tool_use_id(about).and_then(|_| tool_name(about)),
        status: about.get_text("status"),
        is_error: about.read("is_error"),
        input: about.get("input").cloned(),
        output: about.get("output").cloned().or_else(|| tool_output(message)),
        content,
        error: about.first_text(&["error", "error_message"]),
        error_code: about.get_text("error_code"),
        title: about.get_text("title"),
        kind: about.get_text("kind"),
        exit_code: about.read("exit_code"),
        duration_ms: about.read("duration_ms"),
        changes: about.get_list("changes"),
        truncated: about.is_true("truncated"),
        team_type: about.get_text("team_type"),
        parent_tool_use_id: message.parent_tool_use_id(),
        dropped_content_block_types: told.into_iter().chain(kinds).collect(),
    }))
}

fn tool_use_ids(message: &UnifiedMessage) -> Vec<String> {
    let told: Vec<String> = message.metadata.get_list("tool_use_ids");
    if told.is_empty() { tool_use_id(&message.metadata).into_iter().collect() } else { told }
}

/// Returns the tool result contained in the message.
fn tool_output(message: &UnifiedMessage) -> Option<VerbatimJson> {
    message.content.iter().find_map(|content| match content {
        UnifiedContent::ToolResult { content, .. } => Some(content.clone()),
        _ => None,
    })
}
