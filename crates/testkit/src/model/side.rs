//! Requests outside of the conversation: for a title, a summary, a classification. They get a harmless answer, whatever
//! directives the conversation in them contains.

use serde_json::{Map, Value, json};

use super::answer::ModelAnswer;

/// The purpose of a request outside of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum SideRequest {
    Title,
    Summary,
    /// JSON of this schema.
    Json(Value),
    /// A token count.
    Count,
}

impl SideRequest {
    /// Classifies a request by its instructions. Conversations always have tools, so only requests without tools
    /// qualify.
    pub fn classify(instructions: &str, has_tools: bool) -> Option<Self> {
        if has_tools {
            return None;
        }
        let instructions: String = instructions.chars().take(1_000).collect::<String>().to_lowercase();
        let says = |words: &[&str]| words.iter().any(|word| instructions.contains(word));
        match () {
            () if says(&["title"]) => Some(Self::Title),
            () if says(&["summar", "compact"]) => Some(Self::Summary),
            () => None,
        }
    }

    pub fn scripted_answer(&self) -> ModelAnswer {
        match self {
            Self::Title => ModelAnswer::from_text("A scripted title"),
            Self::Summary | Self::Count => ModelAnswer::from_text("<summary>What was said before.</summary>"),
            Self::Json(schema) => ModelAnswer::from_text(&minimal_value(schema).to_string()),
        }
    }
}

/// Returns the smallest value that a schema allows, as far as agents' schemas go.
fn minimal_value(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("object").to_lowercase();
    match kind.as_str() {
        "string" => json!("scripted"),
        "number" | "integer" => json!(0),
        "boolean" => json!(false),
        "array" => json!([]),
        _ => Value::Object(minimal_fields(schema)),
    }
}

fn minimal_fields(schema: &Value) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten().map(|(name, schema)| (name.clone(), minimal_value(schema))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_tools_is_the_conversation() {
        assert_eq!(SideRequest::classify("You write titles.", false), Some(SideRequest::Title));
        assert_eq!(SideRequest::classify("You write titles.", true), None);
        assert_eq!(SideRequest::classify("You are an agent.", false), None);
    }

    #[test]
    fn a_schema_is_kept() {
        let schema = json!({ "type": "OBJECT", "properties": { "why": { "type": "string" },
            "choice": { "type": "string", "enum": ["small", "large"] }, "sure": { "type": "number" } } });
        let want = json!({ "why": "scripted", "choice": "small", "sure": 0 });
        assert_eq!(SideRequest::Json(schema).scripted_answer().joined_text(), want.to_string());
    }
}
