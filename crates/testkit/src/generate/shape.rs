//! Detects streamed pieces of text without knowing the agent: a piece has the shape of the record before it.

use std::collections::BTreeSet;

use serde_json::Value;

/// Fields whose value identifies the type of a record.
const TYPE_FIELDS: &[&str] =
    &["type", "subtype", "method", "kind", "role", "status", "event", "sessionUpdate", "field"];

/// Returns the fields of a record and their types, with the values of [`NAMING`] fields.
pub fn record_shape(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => "bool".to_owned(),
        Value::Number(_) => "number".to_owned(),
        Value::String(_) => "text".to_owned(),
        Value::Array(elements) => format!("[{}]", elements.iter().map(record_shape).collect::<Vec<_>>().join(",")),
        Value::Object(fields) => {
            let field = |(key, value): (&String, &Value)| match value {
                Value::String(name) if TYPE_FIELDS.contains(&key.as_str()) => format!("{key}={name}"),
                value => format!("{key}:{}", record_shape(value)),
            };
            format!("{{{}}}", fields.iter().map(field).collect::<Vec<_>>().join(","))
        }
    }
}

/// Collects ids: id-like values of fields whose name ends in `id`.
pub fn collect_ids(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Array(elements) => elements.iter().for_each(|element| collect_ids(element, found)),
        Value::Object(fields) => {
            for (key, field) in fields {
                match field {
                    Value::String(text) if key.to_lowercase().ends_with("id") && is_id(text) => {
                        found.insert(text.clone());
                    }
                    field => collect_ids(field, found),
                }
            }
        }
        _ => {}
    }
}

fn is_id(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:".contains(c);
    text.len() >= 6 && text.chars().all(plain) && text.chars().any(|c| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::json;

    use super::{collect_ids, record_shape};

    #[test]
    fn pieces_of_text_have_one_shape() {
        let (a, b) = (json!({"type": "piece", "text": "a"}), json!({"type": "piece", "text": "bc"}));
        assert_eq!(record_shape(&a), record_shape(&b));
        assert_ne!(record_shape(&a), record_shape(&json!({"type": "whole", "text": "abc"})));
    }

    #[test]
    fn ids_are_known_by_their_field() {
        let mut found = BTreeSet::new();
        collect_ids(
            &json!({"tool_id": "tool_0001", "text": "tool_0002", "id": "one two 3", "x": [{"ID": "abc-123"}]}),
            &mut found,
        );
        assert_eq!(found.into_iter().collect::<Vec<_>>(), ["abc-123", "tool_0001"]);
    }
}
