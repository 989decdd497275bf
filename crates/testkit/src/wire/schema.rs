//! A dialect's schema: the form of a single message.

use std::collections::{BTreeMap, HashSet};

use anyhow::Context as _;
use jsonschema::Validator;
use serde::Deserialize;
use serde_json::Value;
use switchboard_agents::JsonView;
use switchboard_dialects::Dialect;

use super::messages::truncate_message;
use crate::ledger::{InvariantViolation, must};

pub struct DialectSchema {
    validator: Validator,
    /// The names of all its fields: clients cannot know any others.
    fields: HashSet<String>,
}

impl DialectSchema {
    pub fn compile(dialect: &Dialect) -> anyhow::Result<Self> {
        let schema = (dialect.schema)(&switchboard_agents::agent_names());
        let mut fields = HashSet::new();
        collect_fields(&schema, &mut fields);
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&schema).with_context(|| format!("the schema of {} is not one", dialect.name))?;
        Ok(Self { validator, fields })
    }

    /// Parses a message that must be one line and match the schema.
    pub fn parse_message(&self, message: &[u8]) -> Result<Value, InvariantViolation> {
        must!(!message.contains(&b'\n'), "a message is one line", "{}", truncate_message(message));
        let value = str::from_utf8(message).ok().and_then(JsonView::parse).map(|json| lenient_value(json, 0));
        must!(value.is_some(), "a message is JSON", "{}", truncate_message(message));
        let value = value.unwrap_or_default();
        if let Err(error) = self.validator.validate(&value) {
            let at = error.instance_path();
            must!(false, "a message fits its schema", "{error} at `{at}` in {}", truncate_message(message));
        }
        let unknown = value.as_object().and_then(|fields| fields.keys().find(|key| !self.fields.contains(*key)));
        must!(unknown.is_none(), "the schema names every field", "{unknown:?} in {}", truncate_message(message));
        Ok(value)
    }
}

/// Collects the names in all `properties` of a schema.
fn collect_fields(schema: &Value, names: &mut HashSet<String>) {
    match schema {
        Value::Object(parts) => {
            if let Some(Value::Object(properties)) = parts.get("properties") {
                names.extend(properties.keys().cloned());
            }
            parts.values().for_each(|part| collect_fields(part, names));
        }
        Value::Array(parts) => parts.iter().for_each(|part| collect_fields(part, names)),
        _ => {}
    }
}

/// Parses as much of a value as possible. A native record may be JSON that is not a [`Value`] (half a surrogate pair,
/// very deep nesting), and messages may repeat it.
fn lenient_value(json: JsonView<'_>, depth: usize) -> Value {
    if let Ok(value) = serde_json::from_str(json.raw_text()) {
        return value;
    }
    if depth > 64 {
        return Value::Null;
    }
    if json.is_object() {
        let fields = json.as_object();
        return fields.iter().map(|(key, field)| (key.to_owned(), lenient_value(field, depth + 1))).collect();
    }
    match json.as_str() {
        Some(text) => Value::String(text.into_owned()),
        None => json.as_array().into_iter().map(|element| lenient_value(element, depth + 1)).collect(),
    }
}

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
