//! Requests that an agent makes beside the conversation: for a title, for a summary, to sort something into a class.
//! They get an answer that does no harm, whatever directives the conversation in them contains.

use serde_json::{Map, Value, json};

use super::answer::Answer;

/// What a request is for, if it is not the conversation.
#[derive(Clone, Debug, PartialEq)]
pub enum Side {
    /// A title for the session.
    Title,
    /// A summary of what was said.
    Summary,
    /// JSON of this schema.
    Json(Value),
    /// How many tokens a text has.
    Count,
}

impl Side {
    /// What the instructions say that it is for. Only a request without tools is looked at: no conversation is without.
    pub fn of(instructions: &str, has_tools: bool) -> Option<Self> {
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

    /// The answer.
    pub fn answer(&self) -> Answer {
        match self {
            Self::Title => Answer::text("A scripted title"),
            Self::Summary | Self::Count => Answer::text("<summary>What was said before.</summary>"),
            Self::Json(schema) => Answer::text(&example(schema).to_string()),
        }
    }
}

/// The smallest value that a schema allows, as far as schemas of agents go.
fn example(schema: &Value) -> Value {
    if let Some(first) = schema.pointer("/enum/0") {
        return first.clone();
    }
    let kind = schema.get("type").and_then(Value::as_str).unwrap_or("object").to_lowercase();
    match kind.as_str() {
        "string" => json!("scripted"),
        "number" | "integer" => json!(0),
        "boolean" => json!(false),
        "array" => json!([]),
        _ => Value::Object(fields(schema)),
    }
}

fn fields(schema: &Value) -> Map<String, Value> {
    let fields = schema.get("properties").and_then(Value::as_object);
    fields.into_iter().flatten().map(|(name, schema)| (name.clone(), example(schema))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_with_tools_is_the_conversation() {
        assert_eq!(Side::of("You write titles.", false), Some(Side::Title));
        assert_eq!(Side::of("You write titles.", true), None);
        assert_eq!(Side::of("You are an agent.", false), None);
    }

    #[test]
    fn a_schema_is_kept() {
        let schema = json!({ "type": "OBJECT", "properties": { "why": { "type": "string" },
            "choice": { "type": "string", "enum": ["small", "large"] }, "sure": { "type": "number" } } });
        let want = json!({ "why": "scripted", "choice": "small", "sure": 0 });
        assert_eq!(Side::Json(schema).answer().words(), want.to_string());
    }
}
