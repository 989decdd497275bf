//! The seven content types, as sent to consumers.

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::Serialize;

use super::super::unified::VerbatimJson;

/// A piece of a message.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[expect(missing_docs, reason = "the fields say what they are")]
pub enum Block {
    /// Text.
    Text { text: String },
    /// A call of a tool.
    ToolUse {
        id: String,
        name: String,
        #[schemars(with = "serde_json::Map<String, serde_json::Value>")]
        input: VerbatimJson,
    },
    /// What a tool gave back.
    ToolResult {
        tool_use_id: String,
        #[schemars(schema_with = "text_or_blocks")]
        content: VerbatimJson,
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        is_error: bool,
    },
    /// Thoughts.
    Thinking {
        thinking: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        budget_tokens: Option<u64>,
    },
    /// Code.
    Code { language: String, code: String },
    /// The bytes of an image, as base64.
    Image { media_type: String, data: String },
    /// The model refused.
    Refusal { refusal: String },
}

fn text_or_blocks(generator: &mut SchemaGenerator) -> Schema {
    let blocks = generator.subschema_for::<Vec<Block>>();
    json_schema!({"oneOf": [{"type": "string"}, blocks]})
}
