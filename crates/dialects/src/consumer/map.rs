//! The consumer mapper: converts a unified message for consumers. Every message type is handled; some types are never
//! sent.

use super::{
    ConsumerState,
    unified::{UnifiedContent, UnifiedMessage, UnifiedMessageType, VerbatimFields, VerbatimJson},
    wire::{
        AssistantMessage, AuthStatus, Block, Delta, Permission, PermissionCancelled, ResultData, ResultSubtype,
        ServerMessage, Stream, StreamPiece, Tokens, ToolProgress, ToolUseSummary, TurnTokens, UserMessage,
    },
};

/// Maps a message for consumers; none if its type is not sent. `state` already includes the message.
#[must_use]
pub fn map_message(message: &UnifiedMessage, state: &ConsumerState) -> Option<ServerMessage> {
    match message.kind {
        UnifiedMessageType::Assistant => Some(map_assistant(message, state)),
        UnifiedMessageType::StreamEvent => Some(map_stream_event(message)),
        UnifiedMessageType::UserMessage => Some(map_user_message(message)),
        UnifiedMessageType::Result => Some(map_result(message, state)),
        UnifiedMessageType::PermissionRequest => Some(map_permission_request(message)),
        UnifiedMessageType::PermissionResponse => Some(map_permission_cancelled(message)),
        UnifiedMessageType::ToolProgress => Some(map_progress(message)),
        UnifiedMessageType::ToolUseSummary => Some(map_summary(message)),
        UnifiedMessageType::AuthStatus => Some(map_auth_status(message)),
        UnifiedMessageType::ConfigurationChange => {
            let (subtype, metadata) = (message_subtype(message), message.metadata.clone());
            Some(ServerMessage::ConfigurationChange { subtype, metadata })
        }
        UnifiedMessageType::SessionLifecycle => {
            let (subtype, metadata) = (message_subtype(message), message.metadata.clone());
            Some(ServerMessage::SessionLifecycle { subtype, metadata })
        }
        UnifiedMessageType::Unknown => map_process_output(message),
        // Written by the router itself.
        UnifiedMessageType::SessionInit | UnifiedMessageType::StatusChange => None,
        // Never sent: only relevant for the state or the agent, or not a message at all.
        UnifiedMessageType::ControlResponse
        | UnifiedMessageType::Interrupt
        | UnifiedMessageType::TeamMessage
        | UnifiedMessageType::TeamTaskUpdate
        | UnifiedMessageType::TeamStateChange => None,
    }
}

/// Maps content to blocks. Types unknown to the protocol become empty text; their types and blocks are returned
/// separately.
fn map_blocks(content: &[UnifiedContent]) -> (Vec<Block>, Vec<String>, Vec<VerbatimJson>) {
    let (mut kinds, mut dropped) = (Vec::new(), Vec::new());
    let blocks = content.iter().map(|content| match content {
        UnifiedContent::Other { kind, block } => {
            kinds.push(kind.clone());
            dropped.push(block.clone());
            Block::Text { text: String::new() }
        }
        known => map_block(known),
    });
    (blocks.collect(), kinds, dropped)
}

fn map_block(content: &UnifiedContent) -> Block {
    match content.clone() {
        UnifiedContent::Text(text) => Block::Text { text },
        UnifiedContent::ToolUse { id, name, input } => Block::ToolUse { id, name, input },
        UnifiedContent::ToolResult { tool_use_id, content, is_error } => {
            Block::ToolResult { tool_use_id, content: map_tool_result(content), is_error }
        }
        UnifiedContent::Code { language, code } => Block::Code { language, code },
        UnifiedContent::Image { media_type, data } => Block::Image { media_type, data },
        UnifiedContent::Thinking { thinking, budget_tokens } => Block::Thinking { thinking, budget_tokens },
        UnifiedContent::Refusal(refusal) => Block::Refusal { refusal },
        UnifiedContent::Other { .. } => Block::Text { text: String::new() },
    }
}

/// Maps a tool result to text or blocks; anything else becomes its JSON text.
fn map_tool_result(content: VerbatimJson) -> VerbatimJson {
    if content.read::<String>().is_some() {
        return content;
    }
    match content.read::<Vec<VerbatimJson>>() {
        Some(pieces) => {
            let pieces: Vec<UnifiedContent> = pieces.iter().map(UnifiedContent::read).collect();
            VerbatimJson::from_value(&map_blocks(&pieces).0)
        }
        None => VerbatimJson::from_value(&content.0.get()),
    }
}

/// Returns the subtype of a message.
fn message_subtype(message: &UnifiedMessage) -> String {
    message.metadata.get_text("subtype").unwrap_or_else(|| "unknown".to_owned())
}

/// Maps the result of a turn.
fn map_result(message: &UnifiedMessage, state: &ConsumerState) -> ServerMessage {
    let about = &message.metadata;
    let (is_error, error_code) = (about.is_true("is_error"), about.get_text("error_code"));
    ServerMessage::Result {
        data: Box::new(ResultData {
            subtype: result_subtype(is_error, error_code.as_deref()),
            is_error,
            result: about.get_text("result"),
            errors: about.get_list("errors"),
            duration_ms: about.read("duration_ms").unwrap_or_default(),
            duration_api_ms: about.read("duration_api_ms").unwrap_or_default(),
            num_turns: about.read("num_turns").unwrap_or_default(),
            total_cost_usd: state.total_cost_usd,
            cost_usd: about.read("cost_usd"),
            stop_reason: about.get_text("stop_reason"),
            usage: Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()),
            error_code,
            error_message: about.first_text(&["error", "error_message"]),
            status: about.get_text("status"),
            turn: about.read("turn"),
            model: about.first_text(&["model", "model_id"]),
            permission_denials: about.get_list("permission_denials"),
        }),
    }
}

fn result_subtype(is_error: bool, code: Option<&str>) -> ResultSubtype {
    match code {
        Some("max_turns") => ResultSubtype::ErrorMaxTurns,
        Some("max_budget") => ResultSubtype::ErrorMaxBudgetUsd,
        // An interrupted turn has an error code but is not an error.
        Some(_) => ResultSubtype::ErrorDuringExecution,
        None if is_error => ResultSubtype::ErrorDuringExecution,
        None => ResultSubtype::Success,
    }
}

/// Maps a request of the agent. Per the specification only tool requests are permission requests; other requests also
/// need an answer and have a separate type.
fn map_permission_request(message: &UnifiedMessage) -> ServerMessage {
    let request = Box::new(map_permission(message));
    match request.subtype.as_str() {
        "can_use_tool" => ServerMessage::PermissionRequest { request },
        _ => ServerMessage::AgentRequest { request },
    }
}

/// Reads the request in a message.
#[must_use]
pub fn map_permission(message: &UnifiedMessage) -> Permission {
    let about = &message.metadata;
    Permission {
        request_id: about.get_text("request_id").unwrap_or_default(),
        subtype: about.get_text("subtype").unwrap_or_else(|| "can_use_tool".to_owned()),
        tool_name: about.get_text("tool_name").unwrap_or_default(),
        input: about.get("input").filter(|input| input.is_object()).cloned().unwrap_or_default(),
        description: about.get_text("description"),
        tool_use_id: about.get_text("tool_use_id").unwrap_or_default(),
        agent_id: about.first_text(&["agent_id", "thread_id"]),
        timestamp: message.timestamp,
        about: about.get_text("about"),
        title: about.get_text("title"),
        command: about.get_text("command"),
        cwd: about.get_text("cwd"),
        changes: about.get_list("changes"),
        questions: about.get_list("questions"),
        options: about.get_list("options"),
        expires_at: about.read("expires_at"),
    }
}

/// Maps a request that no longer needs an answer.
fn map_permission_cancelled(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::PermissionCancelled(PermissionCancelled {
        request_id: about.get_text("request_id").unwrap_or_default(),
        outcome: about.get_text("outcome"),
        by: about.get_text("by"),
        behavior: about.get_text("behavior"),
        message: about.get_text("message"),
    })
}

/// Maps an authentication status.
fn map_auth_status(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    let error = about.first_text(&["error", "error_message"]);
    let stage = about.get_text("stage").unwrap_or_default();
    let goes_on = matches!(stage.as_str(), "started" | "running" | "pending" | "in_progress");
    let mut output: Vec<String> = about.get_list("output");
    output.extend(about.get_text("text"));
    ServerMessage::AuthStatus(AuthStatus {
        is_authenticating: about.read("isAuthenticating").unwrap_or(goes_on && error.is_none()),
        output,
        error,
        validation_link: about.first_text(&["validationLink", "url"]),
        metadata: about.clone(),
    })
}

/// Maps a line that the agent's process printed outside its protocol.
fn map_process_output(message: &UnifiedMessage) -> Option<ServerMessage> {
    let about = &message.metadata;
    let stream = match about.get_text("subtype").as_deref() {
        Some("stdout") => Stream::Stdout,
        Some("stderr") => Stream::Stderr,
        _ => return None,
    };
    Some(ServerMessage::ProcessOutput { stream, data: printed_text(about)? })
}

fn printed_text(about: &VerbatimFields) -> Option<String> {
    about.get_text("text").or_else(|| about.get("detail").and_then(VerbatimJson::read))
}

/// Maps a complete message, reasoning block or tool call of the agent.
fn map_assistant(message: &UnifiedMessage, state: &ConsumerState) -> ServerMessage {
    let about = &message.metadata;
    let (content, kinds, dropped) = map_blocks(&message.content);
    let (told_kinds, told) =
        (about.get_list("dropped_content_block_types"), about.get_list::<VerbatimJson>("dropped_content_blocks"));
    // A subagent may use another model than the session.
    let usual = about.get_text("thread_id").is_none().then(|| state.model.clone());
    ServerMessage::Assistant {
        message: Box::new(AssistantMessage {
            id: message.id.clone(),
            kind: "message",
            role: "assistant",
            model: about.first_text(&["model", "model_id"]).or(usual).unwrap_or_default(),
            content,
            stop_reason: about.get_text("stop_reason"),
            usage: Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()),
            item_id: about.get_text("item_id"),
            status: about.get_text("status"),
            phase: about.get_text("phase"),
            summary: about.get_text("summary"),
            redacted: about.is_true("redacted"),
            truncated: about.is_true("truncated"),
            team_type: about.get_text("team_type"),
            dropped_content_block_types: told_kinds.into_iter().chain(kinds).collect(),
            dropped_content_blocks: told.into_iter().chain(dropped).collect(),
        }),
        parent_tool_use_id: message.parent_tool_use_id(),
    }
}

/// Maps a stream event: the agent's native event if present, else our own delta.
fn map_stream_event(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::StreamEvent {
        event: about
            .get("event")
            .filter(|event| event.is_object())
            .cloned()
            .unwrap_or_else(|| VerbatimJson::from_value(&stream_piece(message))),
        parent_tool_use_id: message.parent_tool_use_id(),
        item_id: about.get_text("item_id"),
    }
}

fn stream_piece(message: &UnifiedMessage) -> StreamPiece {
    let thoughts = message.content.iter().find_map(|content| match content {
        UnifiedContent::Thinking { thinking, .. } => Some(thinking.clone()),
        _ => None,
    });
    let delta = match thoughts {
        Some(thinking) => Delta::ThinkingDelta { thinking },
        None => Delta::TextDelta { text: message.joined_text() },
    };
    StreamPiece { kind: "content_block_delta", index: 0, delta }
}

fn map_user_message(message: &UnifiedMessage) -> ServerMessage {
    let about = &message.metadata;
    let (blocks, ..) = map_blocks(&message.content);
    let is_text = matches!(blocks.as_slice(), [] | [Block::Text { .. }]);
    ServerMessage::UserMessage(UserMessage {
        content: message.joined_text(),
        blocks: if is_text { Vec::new() } else { blocks },
        item_id: about.get_text("item_id"),
        is_synthetic: about.is_true("is_synthetic"),
        queued: about.is_true("queued"),
        parent_tool_use_id: message.parent_tool_use_id(),
    })
}

/// Reads the tool name under any of its known keys.
fn tool_name(about: &VerbatimFields) -> Option<String> {
    about.first_text(&["tool_name", "tool", "kind"])
}

/// Reads the tool call id under any of its known keys.
fn tool_use_id(about: &VerbatimFields) -> Option<String> {
    about.first_text(&["tool_use_id", "part_id"])
}

/// Maps the progress of a tool.
fn map_progress(message: &UnifiedMessage) -> ServerMessage {
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
fn map_summary(message: &UnifiedMessage) -> ServerMessage {
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
