//! A dialect's schema: what a single message must look like.

use std::collections::HashSet;

use anyhow::Context as _;
use jsonschema::Validator;
use serde_json::Value;
use switchboard_agents::Json;
use switchboard_dialects::Dialect;

use super::messages::show;
use crate::ledger::{Broken, must};

/// A dialect's schema.
pub struct Schema {
    validator: Validator,
    /// The names of all its fields: what it does not name, a client cannot know.
    fields: HashSet<String>,
}

impl Schema {
    pub fn of(dialect: &Dialect) -> anyhow::Result<Self> {
        let schema = (dialect.schema)(&switchboard_agents::agents());
        let mut fields = HashSet::new();
        collect_fields(&schema, &mut fields);
        let options = jsonschema::options().should_validate_formats(true);
        let validator = options.build(&schema).with_context(|| format!("the schema of {} is not one", dialect.name))?;
        Ok(Self { validator, fields })
    }

    /// A message as JSON, if it is one line that fits the schema.
    pub fn read(&self, message: &[u8]) -> Result<Value, Broken> {
        must!(!message.contains(&b'\n'), "a message is one line", "{}", show(message));
        let value = str::from_utf8(message).ok().and_then(Json::parse).map(|json| lenient(json, 0));
        must!(value.is_some(), "a message is JSON", "{}", show(message));
        let value = value.unwrap_or_default();
        if let Err(error) = self.validator.validate(&value) {
            let at = error.instance_path();
            must!(false, "a message fits its schema", "{error} at `{at}` in {}", show(message));
        }
        let unknown = value.as_object().and_then(|fields| fields.keys().find(|key| !self.fields.contains(*key)));
        must!(unknown.is_none(), "the schema names every field", "{unknown:?} in {}", show(message));
        Ok(value)
    }
}

/// The names in all `properties` of a schema.
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

/// A value as far as it can be looked into. A native record may be JSON that is not a [`Value`] (half a surrogate
/// pair, very deep nesting), and a message that repeats it is right to do so.
fn lenient(json: Json<'_>, depth: usize) -> Value {
    if let Ok(value) = serde_json::from_str(json.text()) {
        return value;
    }
    if depth > 64 {
        return Value::Null;
    }
    if json.is_object() {
        let fields = json.object();
        return fields.iter().map(|(key, field)| (key.to_owned(), lenient(field, depth + 1))).collect();
    }
    match json.str() {
        Some(text) => Value::String(text.into_owned()),
        None => json.array().into_iter().map(|element| lenient(element, depth + 1)).collect(),
    }
}
