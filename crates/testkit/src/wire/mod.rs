//! What every dialect promises, checked on the messages that it gives: they are JSON on one line, fit the
//! dialect's schema, keep its rules, and are the same whenever the same events are projected.

mod pattern;
mod rules;

use anyhow::Context as _;
use jsonschema::Validator;
use serde_json::Value;
use switchboard_agents::Json;
use switchboard_dialects::{DIALECTS, Dialect};
use switchboard_event::Event;

pub use rules::{Rules, Text, rules_file};

use crate::{
    ledger::{Broken, must},
    play::{messages, stored},
    text::Answer,
};

/// A dialect and what its messages are held against.
pub struct Wire {
    /// The dialect.
    pub dialect: &'static Dialect,
    schema: Validator,
    rules: Rules,
}

/// All dialects.
///
/// # Errors
/// If a schema is not one, or a file of rules cannot be read.
pub fn wires() -> anyhow::Result<Vec<Wire>> {
    DIALECTS.iter().map(Wire::new).collect()
}

impl Wire {
    fn new(dialect: &'static Dialect) -> anyhow::Result<Self> {
        let schema = (dialect.schema)(&switchboard_agents::agents());
        let schema = jsonschema::options()
            .should_validate_formats(true)
            .build(&schema)
            .with_context(|| format!("the schema of {} is not one", dialect.name))?;
        Ok(Self { dialect, schema, rules: Rules::of(dialect.name)? })
    }

    /// Checks the messages that a session's events give. The answer is what the text must add up to.
    ///
    /// # Errors
    /// If a promise is not kept.
    pub fn check(&self, events: &[Event], answer: &Answer) -> Result<(), Broken> {
        let messages = messages(&mut *(self.dialect.projection)(), events);
        let values = messages.iter().map(|message| self.value(message)).collect::<Result<Vec<_>, _>>()?;
        self.rules.check(&values, answer).map_err(|broken| self.name(&broken))
    }

    /// The message as JSON, if it fits the schema.
    fn value(&self, message: &[u8]) -> Result<Value, Broken> {
        let name = self.dialect.name;
        must!(!message.contains(&b'\n'), "a message is one line", "{name}: {}", show(message));
        let value = str::from_utf8(message).ok().and_then(Json::parse).map(|json| lenient(json, 0));
        let Some(value) = value else {
            must!(false, "a message is JSON", "{name}: {}", show(message));
            return Ok(Value::Null);
        };
        if let Err(error) = self.schema.validate(&value) {
            let at = error.instance_path();
            must!(false, "a message fits its schema", "{name}: {error} at `{at}` in {}", show(message));
        }
        Ok(value)
    }

    /// Events that were stored and read again, and a projection that was copied on the way, give the same bytes.
    ///
    /// # Errors
    /// If they do not.
    pub fn check_replay(&self, events: &[Event], cut: usize) -> Result<(), Broken> {
        let name = self.dialect.name;
        let whole = messages(&mut *(self.dialect.projection)(), events);
        let (before, after) = events.split_at(cut.min(events.len()));
        let mut projection = (self.dialect.projection)();
        let mut pieces = messages(&mut *projection, before);
        let mut copy = projection.snapshot();
        // The original goes its own way: the copy must not notice.
        messages(&mut *projection, after);
        pieces.extend(messages(&mut *copy, after));
        must!(
            pieces == whole,
            "a copied projection goes on the same way",
            "{name}: cut at {cut}: {}",
            differ(&whole, &pieces)
        );
        let again = messages(&mut *(self.dialect.projection)(), &read_again(events)?);
        must!(again == whole, "stored events give the same messages", "{name}: {}", differ(&whole, &again));
        Ok(())
    }

    fn name(&self, broken: &Broken) -> Broken {
        Broken { rule: broken.rule, why: format!("{}: {}", self.dialect.name, broken.why) }
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

fn read_again(events: &[Event]) -> Result<Vec<Event>, Broken> {
    let read = |text: &String| {
        Event::from_json(text).map_err(|error| Broken {
            rule: "a stored event can be read",
            why: format!("{error}: {}", show(text.as_bytes())),
        })
    };
    stored(events).iter().map(read).collect()
}

/// The first message that two lists do not share.
fn differ(want: &[Vec<u8>], got: &[Vec<u8>]) -> String {
    let at = want.iter().zip(got).position(|(a, b)| a != b).unwrap_or(want.len().min(got.len()));
    let side = |list: &[Vec<u8>]| list.get(at).map_or("nothing".to_owned(), |message| show(message));
    format!("message {at} is {}, not {}", side(got), side(want))
}

fn show(message: &[u8]) -> String {
    String::from_utf8_lossy(message).chars().take(600).collect()
}
