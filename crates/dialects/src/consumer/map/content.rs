//! Content as consumers get it.

use super::super::{
    unified::{Content, Json},
    wire::Block,
};

/// The blocks of some content; what the protocol has no type for is an empty text, told apart.
pub fn blocks(content: &[Content]) -> (Vec<Block>, Vec<String>, Vec<Json>) {
    let (mut kinds, mut dropped) = (Vec::new(), Vec::new());
    let blocks = content.iter().map(|content| match content {
        Content::Other { kind, block } => {
            kinds.push(kind.clone());
            dropped.push(block.clone());
            Block::Text { text: String::new() }
        }
        known => block(known),
    });
    (blocks.collect(), kinds, dropped)
}

fn block(content: &Content) -> Block {
    match content.clone() {
        Content::Text(text) => Block::Text { text },
        Content::ToolUse { id, name, input } => Block::ToolUse { id, name, input },
        Content::ToolResult { tool_use_id, content, is_error } => {
            Block::ToolResult { tool_use_id, content: result(content), is_error }
        }
        Content::Code { language, code } => Block::Code { language, code },
        Content::Image { media_type, data } => Block::Image { media_type, data },
        Content::Thinking { thinking, budget_tokens } => Block::Thinking { thinking, budget_tokens },
        Content::Refusal(refusal) => Block::Refusal { refusal },
        Content::Other { .. } => Block::Text { text: String::new() },
    }
}

/// What a tool gave back is a text or blocks; anything else is told as its JSON.
fn result(content: Json) -> Json {
    if content.read::<String>().is_some() {
        return content;
    }
    match content.read::<Vec<Json>>() {
        Some(pieces) => {
            let pieces: Vec<Content> = pieces.iter().map(Content::read).collect();
            Json::of(&blocks(&pieces).0)
        }
        None => Json::of(&content.0.get()),
    }
}
