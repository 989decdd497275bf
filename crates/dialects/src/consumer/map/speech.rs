//! What is said.

use super::{
    super::{
        State,
        unified::{Content, Json, Unified},
        wire::{AssistantMessage, Block, Delta, ServerMessage, StreamPiece, Tokens, TurnTokens, UserMessage},
    },
    content::blocks,
};

/// What the agent said, thought or called.
pub fn assistant(message: &Unified, state: &State) -> ServerMessage {
    let about = &message.metadata;
    let (content, kinds, dropped) = blocks(&message.content);
    let (told_kinds, told) = (about.list("dropped_content_block_types"), about.list::<Json>("dropped_content_blocks"));
    // A subagent may use another model than the session.
    let usual = about.text("thread_id").is_none().then(|| state.model.clone());
    ServerMessage::Assistant {
        message: Box::new(AssistantMessage {
            id: message.id.clone(),
            kind: "message",
            role: "assistant",
            model: about.first_text(&["model", "model_id"]).or(usual).unwrap_or_default(),
            content,
            stop_reason: about.text("stop_reason"),
            usage: Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()),
            item_id: about.text("item_id"),
            status: about.text("status"),
            phase: about.text("phase"),
            summary: about.text("summary"),
            redacted: about.is_true("redacted"),
            truncated: about.is_true("truncated"),
            team_type: about.text("team_type"),
            dropped_content_block_types: told_kinds.into_iter().chain(kinds).collect(),
            dropped_content_blocks: told.into_iter().chain(dropped).collect(),
        }),
        parent_tool_use_id: message.parent_tool(),
    }
}

/// A piece of what the agent is saying or thinking: our own, or the agent's event as it is.
pub fn stream_event(message: &Unified) -> ServerMessage {
    let about = &message.metadata;
    ServerMessage::StreamEvent {
        event: about
            .get("event")
            .filter(|event| event.is_object())
            .cloned()
            .unwrap_or_else(|| Json::of(&piece(message))),
        parent_tool_use_id: message.parent_tool(),
        item_id: about.text("item_id"),
    }
}

fn piece(message: &Unified) -> StreamPiece {
    let thoughts = message.content.iter().find_map(|content| match content {
        Content::Thinking { thinking, .. } => Some(thinking.clone()),
        _ => None,
    });
    let delta = match thoughts {
        Some(thinking) => Delta::ThinkingDelta { thinking },
        None => Delta::TextDelta { text: message.text() },
    };
    StreamPiece { kind: "content_block_delta", index: 0, delta }
}

/// What the user said.
pub fn user_message(message: &Unified) -> ServerMessage {
    let about = &message.metadata;
    let (blocks, ..) = blocks(&message.content);
    let is_text = matches!(blocks.as_slice(), [] | [Block::Text { .. }]);
    ServerMessage::UserMessage(UserMessage {
        content: message.text(),
        blocks: if is_text { Vec::new() } else { blocks },
        item_id: about.text("item_id"),
        is_synthetic: about.is_true("is_synthetic"),
        queued: about.is_true("queued"),
        parent_tool_use_id: message.parent_tool(),
    })
}
