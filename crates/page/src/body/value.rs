//! JSON for people: an object is a list of names and values, anything else is code.

use serde_json::{Map, Value, value::RawValue};

use super::pile::Pile;
use crate::html::{Html, Shown, asked, code, element, line, plain};

/// Longer JSON is shown as it came.
const READ: usize = 1 << 20;
/// Objects with more fields are shown as code.
const FIELDS: usize = 30;
/// Longer values are shown as a block.
const SHORT: usize = 200;

/// How a text is shown.
type Way = fn(&str) -> Shown;

/// What a tool was given.
pub(super) fn input(pile: &mut Pile, raw: &RawValue) {
    value(pile, raw, plain, |text| code(text, "json"));
}

/// What a tool would be given: all of it.
pub(super) fn asked_input(pile: &mut Pile, raw: &RawValue) {
    value(pile, raw, |text| asked(text, ""), |text| asked(text, "json"));
}

fn value(pile: &mut Pile, raw: &RawValue, text: Way, json: Way) {
    match read(raw) {
        Some(Value::Object(fields)) if fields.is_empty() => {}
        Some(Value::Object(fields)) if fields.len() <= FIELDS => pile.add(fields_of(&fields, text, json)),
        Some(Value::String(string)) => pile.add(text(&string)),
        Some(Value::Null) => {}
        Some(value) => pile.add(json(&pretty(&value))),
        None => pile.add(json(raw.get())),
    }
}

/// The value, if it can be read and is not too long.
pub(super) fn read(raw: &RawValue) -> Option<Value> {
    (raw.get().len() <= READ).then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// A value as code.
pub(super) fn json(value: &Value) -> Shown {
    code(&pretty(value), "json")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// A text that may be JSON.
pub(super) fn text_or_json(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    (begins && text.len() <= READ).then(|| serde_json::from_str(text).ok()).flatten()
}

fn fields_of(fields: &Map<String, Value>, text: Way, json: Way) -> Shown {
    let mut pile = Pile::default();
    let rows: Vec<Html> = fields.iter().map(|(name, value)| row(&mut pile, (name, value), text, json)).collect();
    let rows = Shown { html: element("table", "kv", &[element("tbody", "", &rows)]), ..pile.shown() };
    Shown { lines: rows.lines.max(1), ..rows }
}

/// One row; the pile only counts.
fn row(pile: &mut Pile, (name, value): (&str, &Value), text: Way, json: Way) -> Html {
    let shown = match value {
        Value::String(string) if string.len() > SHORT || string.contains('\n') => text(string),
        Value::String(string) => one_line(string),
        Value::Object(_) | Value::Array(_) => json(&pretty(value)),
        other => one_line(&other.to_string()),
    };
    let html = shown.html.clone();
    pile.add(shown);
    element("tr", "", &[element("th", "", &[line(name)]), element("td", "", &[html])])
}

fn one_line(text: &str) -> Shown {
    Shown { html: element("code", "", &[line(text)]), lines: 1, cut: false }
}
