//! Content blocks for consumers.

use super::super::{
    unified::{UnifiedContent, VerbatimJson},
    wire::Block,
};

/// Maps content to blocks. Types unknown to the protocol become empty text; their types and blocks are returned
/// separately.
pub fn map_blocks(content: &[UnifiedContent]) -> (Vec<Block>, Vec<String>, Vec<VerbatimJson>) {
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
