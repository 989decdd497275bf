//! Tool calls: their input, their results and the JSON in both.

use serde_json::value::RawValue;
use serde_json::{Map, Value};
use switchboard_event::{Call, CallKind, Content, ContentType, Item, Mcp, Subagent, Tool, Unknown, WebSearch};

use super::messages::{ContentRenderer, ImageUrlFn};
use super::{BodyBuilder, EntryBody};
use crate::html::{
    HtmlFragment, SafeHtml, approval_text, code, code_title, element, line, link, markdown, plain, terminal, words,
};

/// Longer bodies are initially folded.
const MAX_UNFOLDED_LINES: u32 = 30;
/// The maximum number of search results to show.
const MAX_RESULTS: usize = 50;

pub(super) fn tool(item: &Item, tool: &Tool, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    given(&mut builder, item);
    match (&tool.result, tool.output.is_empty()) {
        (Some(result), true) => result_of(&mut builder, result),
        (_, false) => output(&mut builder, &tool.output),
        (None, true) => texts(&mut builder, item),
    }
    returned(&mut builder, item, address);
    let is_routine = item.call.as_ref().is_some_and(|call| matches!(call.kind, CallKind::Read | CallKind::Search));
    folded(builder.body("tool", title(item, "tool")), is_routine)
}

pub(super) fn mcp(item: &Item, mcp: &Mcp, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    given(&mut builder, item);
    match &mcp.result {
        Some(result) => result_of(&mut builder, result),
        None => texts(&mut builder, item),
    }
    builder.note(mcp.error.as_deref());
    returned(&mut builder, item, address);
    let name = [mcp.server.as_str(), mcp.tool.as_str()].join(" · ");
    folded(builder.body("mcp", code_title(name.trim_matches([' ', '·']))), false)
}

pub(super) fn search(item: &Item, search: &WebSearch, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    search.queries.iter().skip(1).take(MAX_RESULTS).for_each(|query| builder.line(element("p", "", &[line(query)])));
    match search.results.as_deref().map(|results| (results, read(results))) {
        Some((_, Some(value))) => results(&mut builder, &value),
        Some((raw, None)) => result_of(&mut builder, raw),
        None => {}
    }
    returned(&mut builder, item, address);
    let title = search.queries.first().map_or_else(|| title(item, "web search"), |query| line(query));
    folded(builder.body("search", title), true)
}

pub(super) fn subagent(item: &Item, subagent: &Subagent, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    if let Some(prompt) = &subagent.prompt {
        builder.folded("Prompt", markdown(prompt));
    }
    if let Some(result) = &subagent.result {
        builder.add(markdown(result));
    }
    returned(&mut builder, item, address);
    let name = element("strong", "", &[line(if subagent.name.is_empty() { "agent" } else { &subagent.name })]);
    let title = words(&[name, line(&subagent.label)]);
    let mut body = builder.body("subagent", title);
    body.label = subagent.background.then(|| "in the background".to_owned());
    body
}

pub(super) fn unknown(item: &Item, unknown: &Unknown, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut builder = BodyBuilder::default();
    given(&mut builder, item);
    if let Some(raw) = &unknown.raw {
        input(&mut builder, raw);
    }
    returned(&mut builder, item, address);
    let name = if unknown.name.is_empty() { "unknown" } else { &unknown.name };
    folded(builder.body("unknown", line(name)), true)
}

/// Returns a one-line description of a call.
pub(super) fn title_of(call: &Call) -> SafeHtml {
    let name = code_title(&call.name);
    match call.title.as_deref().filter(|title| !title.is_empty() && *title != call.name) {
        Some(title) if call.name.is_empty() => line(title),
        Some(title) => words(&[name, line(title)]),
        None => name,
    }
}

/// Returns the title of an item's call, or a fallback.
pub(super) fn title(item: &Item, otherwise: &str) -> SafeHtml {
    item.call.as_deref().map_or_else(|| line(otherwise), title_of)
}

fn given(builder: &mut BodyBuilder, item: &Item) {
    if let Some(given) = item.call.as_ref().and_then(|call| call.input.as_deref()) {
        input(builder, given);
    }
}

/// Adds the text results of the call, where the item itself has none.
fn texts(builder: &mut BodyBuilder, item: &Item) {
    let given = item.call.iter().flat_map(|call| &call.content).filter(|content| content.kind == ContentType::Text);
    given.filter_map(|content| content.text.as_deref()).take(MAX_RESULTS).for_each(|text| output(builder, text));
}

/// Adds the results of the call other than text, and its error.
pub(super) fn returned(builder: &mut BodyBuilder, item: &Item, address: &ImageUrlFn<'_>) {
    let Some(call) = &item.call else { return };
    // The item's details already contain the text; images and files are only here.
    let is_more = |content: &&Content| content.kind != ContentType::Text;
    let more: Vec<Content> = call.content.iter().filter(is_more).cloned().collect();
    ContentRenderer::new(address).show(builder, &more);
    if let Some(error) = &call.error {
        builder.add(plain(error));
    }
}

/// Adds the output of a tool: formatted if it is JSON, otherwise as a terminal shows it.
pub(super) fn output(builder: &mut BodyBuilder, text: &str) {
    match text_or_json(text) {
        Some(value) => builder.add(json(&value)),
        None => builder.add(terminal(text)),
    }
}

/// Adds a JSON result. Results of MCP tools are lists of content, of which the text is shown.
fn result_of(builder: &mut BodyBuilder, raw: &RawValue) {
    let Some(value) = read(raw) else { return input(builder, raw) };
    let pieces = value.get("content").and_then(Value::as_array).or_else(|| value.as_array());
    let texts: Vec<&str> = pieces.into_iter().flatten().filter_map(|piece| piece.get("text")?.as_str()).collect();
    match value {
        Value::String(text) => output(builder, &text),
        _ if !texts.is_empty() => texts.iter().for_each(|text| output(builder, text)),
        _ => input(builder, raw),
    }
}

/// Adds search results, as links where they have URLs.
fn results(builder: &mut BodyBuilder, value: &Value) {
    let list = ["results", "content", "links"].iter().find_map(|name| value.get(name)?.as_array());
    let list: Vec<&Value> = list.or_else(|| value.as_array()).into_iter().flatten().take(MAX_RESULTS).collect();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let found: Vec<SafeHtml> = list
        .iter()
        .filter_map(|result| {
            let url = text(result, "url").or_else(|| text(result, "link"))?;
            let title = text(result, "title").filter(|title| !title.is_empty()).unwrap_or_else(|| url.clone());
            Some(element("li", "", &[link(&url, &title)]))
        })
        .collect();
    match value {
        _ if !found.is_empty() => {
            let lines = u32::try_from(found.len()).unwrap_or(u32::MAX);
            builder.add(HtmlFragment { html: element("ul", "", &found), lines, cut: false });
        }
        Value::String(text) => builder.add(markdown(text)),
        value => builder.add(json(value)),
    }
}

/// Folds a body if it is routine or long.
fn folded(mut body: EntryBody, is_routine: bool) -> EntryBody {
    body.fold = is_routine || body.size > MAX_UNFOLDED_LINES;
    body
}

/// Longer JSON is shown verbatim.
const MAX_PARSED_BYTES: usize = 1 << 20;
/// Objects with more fields are shown as code.
const MAX_TABLE_FIELDS: usize = 30;
/// Longer values are shown as a block.
const MAX_INLINE_BYTES: usize = 200;

/// Renders a text.
type TextRenderer = fn(&str) -> HtmlFragment;

/// Adds the input of a tool.
pub(super) fn input(builder: &mut BodyBuilder, raw: &RawValue) {
    add_value(builder, raw, plain, |text| code(text, "json"));
}

/// Adds the input that a tool would get, without cuts.
pub(super) fn approval_input(builder: &mut BodyBuilder, raw: &RawValue) {
    add_value(builder, raw, |text| approval_text(text, ""), |text| approval_text(text, "json"));
}

fn add_value(builder: &mut BodyBuilder, raw: &RawValue, text: TextRenderer, json: TextRenderer) {
    match read(raw) {
        Some(Value::Object(fields)) if fields.is_empty() => {}
        Some(Value::Object(fields)) if fields.len() <= MAX_TABLE_FIELDS => builder.add(fields_of(&fields, text, json)),
        Some(Value::String(string)) => builder.add(text(&string)),
        Some(Value::Null) => {}
        Some(value) => builder.add(json(&pretty(&value))),
        None => builder.add(json(raw.get())),
    }
}

/// Parses a value, unless it is too long.
pub(super) fn read(raw: &RawValue) -> Option<Value> {
    (raw.get().len() <= MAX_PARSED_BYTES).then(|| serde_json::from_str(raw.get()).ok()).flatten()
}

/// Renders a value as code.
fn json(value: &Value) -> HtmlFragment {
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
    let mut builder = BodyBuilder::default();
    let rows: Vec<SafeHtml> =
        fields.iter().map(|(name, value)| add_row(&mut builder, (name, value), text, json)).collect();
    let rows = HtmlFragment { html: element("table", "kv", &[element("tbody", "", &rows)]), ..builder.shown() };
    HtmlFragment { lines: rows.lines.max(1), ..rows }
}

/// Renders one row; the builder only counts its lines.
fn add_row(
    builder: &mut BodyBuilder,
    (name, value): (&str, &Value),
    text: TextRenderer,
    json: TextRenderer,
) -> SafeHtml {
    let shown = match value {
        Value::String(string) if string.len() > MAX_INLINE_BYTES || string.contains('\n') => text(string),
        Value::String(string) => one_line(string),
        Value::Object(_) | Value::Array(_) => json(&pretty(value)),
        other => one_line(&other.to_string()),
    };
    let html = shown.html.clone();
    builder.add(shown);
    element("tr", "", &[element("th", "", &[line(name)]), element("td", "", &[html])])
}

fn one_line(text: &str) -> HtmlFragment {
    HtmlFragment { html: element("code", "", &[line(text)]), lines: 1, cut: false }
}
