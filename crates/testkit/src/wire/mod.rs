//! Checks of every dialect on its messages: they are one line of JSON, match the schema, satisfy the rules, and are the
//! same whenever the same events are projected.

mod rules;

use std::collections::{BTreeMap, HashSet};

use anyhow::Context as _;
use jsonschema::Validator;
use serde::Deserialize;
use serde_json::Value;
use switchboard_agents::JsonView;
use switchboard_dialects::{DIALECTS, Dialect, Projection};
use switchboard_event::Event;

use crate::ledger::{InvariantViolation, must};
use crate::recording::{project_messages, stored_json};
use crate::stream_checker::AnswerText;

pub use rules::{DialectRules, TextRule};

/// Limits the saves of a long session; a short one is saved after every event.
const MAX_SAVE_COUNT: usize = 400;

/// A dialect with its schema and rules.
pub struct DialectChecker {
    pub dialect: &'static Dialect,
    schema: DialectSchema,
    rules: DialectRules,
}

/// Returns a checker for every dialect.
pub fn dialect_checkers() -> anyhow::Result<Vec<DialectChecker>> {
    DIALECTS.iter().map(DialectChecker::new).collect()
}

impl DialectChecker {
    fn new(dialect: &'static Dialect) -> anyhow::Result<Self> {
        Ok(Self { dialect, schema: DialectSchema::compile(dialect)?, rules: DialectRules::load(dialect.name)? })
    }

    /// Checks the messages of a session's events. Their text must add up to the answer.
    pub fn check_messages(&self, events: &[Event], answer: &AnswerText) -> Result<(), InvariantViolation> {
        let messages = self.project_events(events);
        let values = messages.iter().map(|message| self.schema.parse_message(message)).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|broken| self.with_dialect_name(&broken))?;
        self.rules.check_messages(&values, answer).map_err(|broken| self.with_dialect_name(&broken))
    }

    /// Checks that the messages report the same tokens as the events.
    pub fn check_usage(&self, events: &[Event]) -> Result<(), InvariantViolation> {
        let messages = self.project_events(events);
        let values = messages.iter().map(|message| self.schema.parse_message(message)).collect::<Result<Vec<_>, _>>();
        let values = values.map_err(|broken| self.with_dialect_name(&broken))?;
        self.rules.check_usage(&values, events).map_err(|broken| self.with_dialect_name(&broken))
    }

    /// Checks that a projection that is copied and saved after `cuts` events, its copy, and the restored one all
    /// continue unchanged, and that stored events give the same bytes.
    pub fn check_replay(&self, events: &[Event], again: &[Event], cuts: &[usize]) -> Result<(), InvariantViolation> {
        let whole = self.project_events(events);
        for cut in cuts {
            let (before, after) = events.split_at(*cut.min(&events.len()));
            let mut projection = (self.dialect.projection)();
            let mut original = project_messages(&mut *projection, before);
            let mut copy = projection.snapshot();
            let (mut restored, _) = self.save_and_restore(&*projection)?;
            let (mut copied, mut resumed) = (original.clone(), original.clone());
            original.extend(project_messages(&mut *projection, after));
            copied.extend(project_messages(&mut *copy, after));
            resumed.extend(project_messages(&mut *restored, after));
            self.check_same(&whole, &original, "a projection that was copied goes on the same way")?;
            self.check_same(&whole, &copied, "a copy of a projection goes on the same way")?;
            self.check_same(&whole, &resumed, "a projection that was saved goes on the same way")?;
        }
        self.check_same(&whole, &self.project_events(again), "stored events give the same messages")
    }

    /// Checks that a projection that is saved and restored repeatedly continues unchanged. Returns the size of the
    /// largest saved state.
    pub fn check_restored(&self, events: &[Event]) -> Result<usize, InvariantViolation> {
        let (mut projection, mut got, mut largest) = ((self.dialect.projection)(), Vec::new(), 0);
        for piece in events.chunks(events.len().div_ceil(MAX_SAVE_COUNT).max(1)) {
            got.extend(project_messages(&mut *projection, piece));
            let (restored, size) = self.save_and_restore(&*projection)?;
            (projection, largest) = (restored, largest.max(size));
        }
        self.check_same(
            &self.project_events(events),
            &got,
            "a projection that was saved and restored goes on the same way",
        )?;
        Ok(largest)
    }

    fn save_and_restore(
        &self,
        projection: &dyn Projection,
    ) -> Result<(Box<dyn Projection>, usize), InvariantViolation> {
        let broken = |why: String| InvariantViolation {
            rule: "a projection can be saved and restored",
            why: format!("{}: {why}", self.dialect.name),
        };
        let saved = projection.save().map_err(|error| broken(error.to_string()))?;
        let restored = (self.dialect.restore)(&saved).ok_or_else(|| broken(truncate_message(&saved)))?;
        Ok((restored, saved.len()))
    }

    #[must_use]
    pub fn project_events(&self, events: &[Event]) -> Vec<Vec<u8>> {
        project_messages(&mut *(self.dialect.projection)(), events)
    }

    fn check_same(&self, want: &[Vec<u8>], got: &[Vec<u8>], rule: &'static str) -> Result<(), InvariantViolation> {
        let broken =
            || InvariantViolation { rule, why: format!("{}: {}", self.dialect.name, describe_difference(want, got)) };
        if want == got { Ok(()) } else { Err(broken()) }
    }

    fn with_dialect_name(&self, broken: &InvariantViolation) -> InvariantViolation {
        InvariantViolation { rule: broken.rule, why: format!("{}: {}", self.dialect.name, broken.why) }
    }
}

/// Serializes and parses events.
pub fn reread_events(events: &[Event]) -> Result<Vec<Event>, InvariantViolation> {
    let read = |text: &String| {
        Event::from_json(text).map_err(|error| InvariantViolation {
            rule: "a stored event can be read",
            why: format!("{error}: {}", truncate_message(text.as_bytes())),
        })
    };
    stored_json(events).iter().map(read).collect()
}

/// Describes the first message that differs.
fn describe_difference(want: &[Vec<u8>], got: &[Vec<u8>]) -> String {
    let at = want.iter().zip(got).position(|(a, b)| a != b).unwrap_or(want.len().min(got.len()));
    let side = |list: &[Vec<u8>]| list.get(at).map_or("nothing".to_owned(), |message| truncate_message(message));
    format!("message {at} is {}, not {}", side(got), side(want))
}

fn truncate_message(message: &[u8]) -> String {
    String::from_utf8_lossy(message).chars().take(600).collect()
}

struct DialectSchema {
    validator: Validator,
    /// The names of all its fields: clients cannot know any others.
    fields: HashSet<String>,
}

impl DialectSchema {
    fn compile(dialect: &Dialect) -> anyhow::Result<Self> {
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
struct MessagePattern(BTreeMap<String, Value>);

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
