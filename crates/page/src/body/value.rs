//! Renders JSON: an object as a table of names and values, anything else as code.

use serde_json::{Map, Value, value::RawValue};

use super::pile::BodyBuilder;
use crate::html::{HtmlFragment, SafeHtml, asked, code, element, line, plain};

/// Longer JSON is shown verbatim.
const MAX_PARSED_BYTES: usize = 1 << 20;
/// Objects with more fields are shown as code.
const MAX_TABLE_FIELDS: usize = 30;
/// Longer values are shown as a block.
const MAX_INLINE_BYTES: usize = 200;

/// Renders a text.
type TextRenderer = fn(&str) -> HtmlFragment;

/// Adds the input of a tool.
pub(super) fn input(pile: &mut BodyBuilder, raw: &RawValue) {
    value(pile, raw, plain, |text| code(text, "json"));
}

/// Adds the input that a tool would get, without cuts.
pub(super) fn asked_input(pile: &mut BodyBuilder, raw: &RawValue) {
    value(pile, raw, |text| asked(text, ""), |text| asked(text, "json"));
}

fn value(pile: &mut BodyBuilder, raw: &RawValue, text: TextRenderer, json: TextRenderer) {
    match read(raw) {
        Some(Value::Object(fields)) if fields.is_empty() => {}
        Some(Value::Object(fields)) if fields.len() <= MAX_TABLE_FIELDS => pile.add(fields_of(&fields, text, json)),
        Some(Value::String(string)) => pile.add(text(&string)),
        Some(Value::Null) => {}
        Some(value) => pile.add(json(&pretty(&value))),
        None => pile.add(json(raw.get())),
    }
}

/// Parses a value, unless it is too long.
pub(super) fn read(raw: &RawValue) -> Option<Value> {
    (raw.get().len() <= MAX_PARSED_BYTES).then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Renders a value as code.
pub(super) fn json(value: &Value) -> HtmlFragment {
    code(&pretty(value), "json")
}

fn pretty(value: &Value) -> String {
    serde_json::to_string_pretty(value).unwrap_or_default()
}

/// Parses a text that may be a JSON object or array.
pub(super) fn text_or_json(text: &str) -> Option<Value> {
    let begins = text.trim_start().starts_with(['{', '[']);
    (begins && text.len() <= MAX_PARSED_BYTES).then(|| serde_json::from_str(text).ok()).flatten()
}

fn fields_of(fields: &Map<String, Value>, text: TextRenderer, json: TextRenderer) -> HtmlFragment {
    let mut pile = BodyBuilder::default();
    let rows: Vec<SafeHtml> = fields.iter().map(|(name, value)| row(&mut pile, (name, value), text, json)).collect();
    let rows = HtmlFragment { html: element("table", "kv", &[element("tbody", "", &rows)]), ..pile.shown() };
    HtmlFragment { lines: rows.lines.max(1), ..rows }
}

/// Renders one row; the pile only counts its lines.
fn row(pile: &mut BodyBuilder, (name, value): (&str, &Value), text: TextRenderer, json: TextRenderer) -> SafeHtml {
    let shown = match value {
        Value::String(string) if string.len() > MAX_INLINE_BYTES || string.contains('\n') => text(string),
        Value::String(string) => one_line(string),
        Value::Object(_) | Value::Array(_) => json(&pretty(value)),
        other => one_line(&other.to_string()),
    };
    let html = shown.html.clone();
    pile.add(shown);
    element("tr", "", &[element("th", "", &[line(name)]), element("td", "", &[html])])
}

fn one_line(text: &str) -> HtmlFragment {
    HtmlFragment { html: element("code", "", &[line(text)]), lines: 1, cut: false }
}
