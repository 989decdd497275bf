//! The seven types of content, read from whoever wrote them.

use super::{Fields, Json};

/// A piece of a message.
#[derive(Clone, Debug, PartialEq)]
pub enum Content {
    /// Text.
    Text(String),
    /// A call of a tool.
    ToolUse {
        /// Its id.
        id: String,
        /// The tool.
        name: String,
        /// What it is given.
        input: Json,
    },
    /// What a tool gave back.
    ToolResult {
        /// The call.
        tool_use_id: String,
        /// A text, or pieces.
        content: Json,
        /// It failed.
        is_error: bool,
    },
    /// Code.
    Code {
        /// In which language.
        language: String,
        /// The code.
        code: String,
    },
    /// The bytes of an image.
    Image {
        /// What kind.
        media_type: String,
        /// As base64.
        data: String,
    },
    /// Thoughts.
    Thinking {
        /// The thoughts.
        thinking: String,
        /// How many tokens they may take.
        budget_tokens: Option<u64>,
    },
    /// The model refused.
    Refusal(String),
    /// A type that the protocol does not have.
    Other {
        /// Its type.
        kind: String,
        /// All of it.
        block: Json,
    },
}

/// The types of content, in the order of the specification.
pub const CONTENT_TYPES: [&str; 7] = ["text", "tool_use", "tool_result", "thinking", "refusal", "code", "image"];

impl Content {
    /// Reads a piece; a bare string is text.
    #[must_use]
    pub fn read(block: &Json) -> Self {
        if let Some(text) = block.read::<String>() {
            return Self::Text(text);
        }
        let fields: Fields = block.read().unwrap_or_default();
        let text = |name: &str| fields.text(name).unwrap_or_default();
        match text("type").as_str() {
            "text" => Self::Text(text("text")),
            "tool_use" => Self::ToolUse { id: text("id"), name: text("name"), input: input(&fields) },
            "tool_result" => Self::ToolResult {
                tool_use_id: text("tool_use_id"),
                content: fields.get("content").cloned().unwrap_or_else(|| Json::of(&"")),
                is_error: fields.is_true("is_error"),
            },
            "code" => Self::Code { language: text("language"), code: text("code") },
            "image" => image(&fields, block),
            "thinking" => Self::Thinking { thinking: text("thinking"), budget_tokens: fields.read("budget_tokens") },
            "refusal" => Self::Refusal(text("refusal")),
            kind => Self::other(kind, block),
        }
    }

    fn other(kind: &str, block: &Json) -> Self {
        let kind = if kind.is_empty() { "unknown" } else { kind };
        Self::Other { kind: kind.to_owned(), block: block.clone() }
    }
}

/// What a tool is given is an object.
fn input(fields: &Fields) -> Json {
    fields.get("input").filter(|input| input.is_object()).cloned().unwrap_or_else(Json::empty)
}

fn image(fields: &Fields, block: &Json) -> Content {
    let source: Fields = fields.read("source").unwrap_or_else(|| fields.clone());
    match (source.text("media_type"), source.text("data")) {
        (Some(media_type), Some(data)) => Content::Image { media_type, data },
        _ => Content::other("image", block),
    }
}
