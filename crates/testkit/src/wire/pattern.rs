//! Patterns that select messages.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

/// Conditions on a message, by JSON pointer. A list matches any of its values, `null` a missing value.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(transparent)]
pub struct MessagePattern(BTreeMap<String, Value>);

impl MessagePattern {
    pub fn matches(&self, message: &Value) -> bool {
        self.0.iter().all(|(pointer, want)| {
            let got = message.pointer(pointer).unwrap_or(&Value::Null);
            match want {
                Value::Array(any) => any.contains(got),
                one => one == got,
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::MessagePattern;

    #[test]
    fn a_list_is_any_and_null_is_nothing() {
        let pattern: MessagePattern = serde_json::from_value(json!({"/type": ["a", "b"], "/x/y": null})).unwrap();
        for (message, fits) in [
            (json!({"type": "a"}), true),
            (json!({"type": "b", "x": {}}), true),
            (json!({"type": "b", "x": {"y": 1}}), false),
            (json!({"type": "c"}), false),
        ] {
            assert_eq!(pattern.matches(&message), fits, "{message}");
        }
    }
}
