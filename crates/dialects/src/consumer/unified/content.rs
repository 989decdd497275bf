//! The seven content types, parsed from any source.

use super::{VerbatimFields, VerbatimJson};

/// A piece of message content.
#[derive(Clone, Debug, PartialEq)]
pub enum UnifiedContent {
    /// Plain text.
    Text(String),
    /// A tool call.
    ToolUse {
        /// The call id.
        id: String,
        /// The tool name.
        name: String,
        /// The tool input.
        input: VerbatimJson,
    },
    /// A tool result.
    ToolResult {
        /// The id of the call.
        tool_use_id: String,
        /// Text or content blocks.
        content: VerbatimJson,
        /// The tool failed.
        is_error: bool,
    },
    /// A code block.
    Code {
        /// The programming language.
        language: String,
        /// The source code.
        code: String,
    },
    /// An embedded image.
    Image {
        /// The media type.
        media_type: String,
        /// The bytes as base64.
        data: String,
    },
    /// Reasoning.
    Thinking {
        /// The reasoning text.
        thinking: String,
        /// The token budget for reasoning.
        budget_tokens: Option<u64>,
    },
    /// A refusal of the model.
    Refusal(String),
    /// A type that is not part of the protocol.
    Other {
        /// The type name.
        kind: String,
        /// The complete block.
        block: VerbatimJson,
    },
}

/// The content types in the order of the specification.
pub const CONTENT_TYPES: [&str; 7] = ["text", "tool_use", "tool_result", "thinking", "refusal", "code", "image"];

impl UnifiedContent {
    /// Reads a block; a bare string is text.
    #[must_use]
    pub fn read(block: &VerbatimJson) -> Self {
        if let Some(text) = block.read::<String>() {
            return Self::Text(text);
        }
        let fields: VerbatimFields = block.read().unwrap_or_default();
        let text = |name: &str| fields.get_text(name).unwrap_or_default();
        match text("type").as_str() {
            "text" => Self::Text(text("text")),
            "tool_use" => Self::ToolUse { id: text("id"), name: text("name"), input: tool_input(&fields) },
            "tool_result" => Self::ToolResult {
                tool_use_id: text("tool_use_id"),
                content: fields.get("content").cloned().unwrap_or_else(|| VerbatimJson::from_value(&"")),
                is_error: fields.is_true("is_error"),
            },
            "code" => Self::Code { language: text("language"), code: text("code") },
            "image" => read_image(&fields, block),
            "thinking" => Self::Thinking { thinking: text("thinking"), budget_tokens: fields.read("budget_tokens") },
            "refusal" => Self::Refusal(text("refusal")),
            kind => Self::unknown_block(kind, block),
        }
    }

    fn unknown_block(kind: &str, block: &VerbatimJson) -> Self {
        let kind = if kind.is_empty() { "unknown" } else { kind };
        Self::Other { kind: kind.to_owned(), block: block.clone() }
    }
}

/// Returns the tool input, which must be an object.
fn tool_input(fields: &VerbatimFields) -> VerbatimJson {
    fields.get("input").filter(|input| input.is_object()).cloned().unwrap_or_else(VerbatimJson::empty_object)
}

fn read_image(fields: &VerbatimFields, block: &VerbatimJson) -> UnifiedContent {
    let source: VerbatimFields = fields.read("source").unwrap_or_else(|| fields.clone());
    match (source.get_text("media_type"), source.get_text("data")) {
        (Some(media_type), Some(data)) => UnifiedContent::Image { media_type, data },
        _ => UnifiedContent::unknown_block("image", block),
    }
}
