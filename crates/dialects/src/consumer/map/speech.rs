//! Maps messages of the agent and the user.

use super::{
    super::{
        State,
        unified::{UnifiedContent, UnifiedMessage, VerbatimJson},
        wire::{AssistantMessage, Block, Delta, ServerMessage, StreamPiece, Tokens, TurnTokens, UserMessage},
    },
    content::map_blocks,
};

/// Maps a complete message, reasoning block or tool call of the agent.
pub fn map_assistant(message: &UnifiedMessage, state: &State) -> ServerMessage {
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
pub fn map_stream_event(message: &UnifiedMessage) -> ServerMessage {
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

/// Maps a user message.
pub fn map_user_message(message: &UnifiedMessage) -> ServerMessage {
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
