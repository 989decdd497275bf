//! Tool calls: their input and their results.

use serde_json::{Value, value::RawValue};
use switchboard_event::{Call, CallKind, Content, ContentType, Item, Mcp, Subagent, Tool, Unknown, WebSearch};

use super::{
    EntryBody,
    content::{ContentRenderer, ImageUrlFn},
    pile::BodyBuilder,
    value::{input, json, read, text_or_json},
};
use crate::html::{SafeHtml, code_title, element, line, link, markdown, plain, terminal, words};

/// Longer bodies are initially folded.
const MAX_UNFOLDED_LINES: u32 = 30;
/// The maximum number of search results to show.
const MAX_RESULTS: usize = 50;

pub(super) fn tool(item: &Item, tool: &Tool, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    given(&mut pile, item);
    match (&tool.result, tool.output.is_empty()) {
        (Some(result), true) => result_of(&mut pile, result),
        (_, false) => output(&mut pile, &tool.output),
        (None, true) => texts(&mut pile, item),
    }
    returned(&mut pile, item, address);
    let is_routine = item.call.as_ref().is_some_and(|call| matches!(call.kind, CallKind::Read | CallKind::Search));
    folded(pile.body("tool", title(item, "tool")), is_routine)
}

pub(super) fn mcp(item: &Item, mcp: &Mcp, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    given(&mut pile, item);
    match &mcp.result {
        Some(result) => result_of(&mut pile, result),
        None => texts(&mut pile, item),
    }
    pile.note(mcp.error.as_deref());
    returned(&mut pile, item, address);
    let name = [mcp.server.as_str(), mcp.tool.as_str()].join(" · ");
    folded(pile.body("mcp", code_title(name.trim_matches([' ', '·']))), false)
}

pub(super) fn search(item: &Item, search: &WebSearch, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    search.queries.iter().skip(1).take(MAX_RESULTS).for_each(|query| pile.line(element("p", "", &[line(query)])));
    match search.results.as_deref().map(|results| (results, read(results))) {
        Some((_, Some(value))) => results(&mut pile, &value),
        Some((raw, None)) => result_of(&mut pile, raw),
        None => {}
    }
    returned(&mut pile, item, address);
    let title = search.queries.first().map_or_else(|| title(item, "web search"), |query| line(query));
    folded(pile.body("search", title), true)
}

pub(super) fn subagent(item: &Item, subagent: &Subagent, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    if let Some(prompt) = &subagent.prompt {
        pile.folded("Prompt", markdown(prompt));
    }
    if let Some(result) = &subagent.result {
        pile.add(markdown(result));
    }
    returned(&mut pile, item, address);
    let name = element("strong", "", &[line(if subagent.name.is_empty() { "agent" } else { &subagent.name })]);
    let title = words(&[name, line(&subagent.label)]);
    let mut body = pile.body("subagent", title);
    body.label = subagent.background.then(|| "in the background".to_owned());
    body
}

pub(super) fn unknown(item: &Item, unknown: &Unknown, address: &ImageUrlFn<'_>) -> EntryBody {
    let mut pile = BodyBuilder::default();
    given(&mut pile, item);
    if let Some(raw) = &unknown.raw {
        input(&mut pile, raw);
    }
    returned(&mut pile, item, address);
    let name = if unknown.name.is_empty() { "unknown" } else { &unknown.name };
    folded(pile.body("unknown", line(name)), true)
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

pub(super) fn given(pile: &mut BodyBuilder, item: &Item) {
    if let Some(given) = item.call.as_ref().and_then(|call| call.input.as_deref()) {
        input(pile, given);
    }
}

/// Adds the text results of the call, where the item itself has none.
fn texts(pile: &mut BodyBuilder, item: &Item) {
    let given = item.call.iter().flat_map(|call| &call.content).filter(|content| content.kind == ContentType::Text);
    given.filter_map(|content| content.text.as_deref()).take(MAX_RESULTS).for_each(|text| output(pile, text));
}

/// Adds the results of the call other than text, and its error.
pub(super) fn returned(pile: &mut BodyBuilder, item: &Item, address: &ImageUrlFn<'_>) {
    let Some(call) = &item.call else { return };
    // The item's details already contain the text; images and files are only here.
    let is_more = |content: &&Content| content.kind != ContentType::Text;
    let more: Vec<Content> = call.content.iter().filter(is_more).cloned().collect();
    ContentRenderer::new(address).show(pile, &more);
    if let Some(error) = &call.error {
        pile.add(plain(error));
    }
}

/// Adds the output of a tool: formatted if it is JSON, otherwise as a terminal shows it.
pub(super) fn output(pile: &mut BodyBuilder, text: &str) {
    match text_or_json(text) {
        Some(value) => pile.add(json(&value)),
        None => pile.add(terminal(text)),
    }
}

/// Adds a JSON result. Results of MCP tools are lists of content, of which the text is shown.
fn result_of(pile: &mut BodyBuilder, raw: &RawValue) {
    let Some(value) = read(raw) else { return input(pile, raw) };
    let pieces = value.get("content").and_then(Value::as_array).or_else(|| value.as_array());
    let texts: Vec<&str> = pieces.into_iter().flatten().filter_map(|piece| piece.get("text")?.as_str()).collect();
    match value {
        Value::String(text) => output(pile, &text),
        _ if !texts.is_empty() => texts.iter().for_each(|text| output(pile, text)),
        _ => input(pile, raw),
    }
}

/// Adds search results, as links where they have URLs.
fn results(pile: &mut BodyBuilder, value: &Value) {
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
            pile.add(crate::html::HtmlFragment { html: element("ul", "", &found), lines, cut: false });
        }
        Value::String(text) => pile.add(markdown(text)),
        value => pile.add(json(value)),
    }
}

/// Folds a body if it is routine or long.
pub(super) fn folded(mut body: EntryBody, is_routine: bool) -> EntryBody {
    body.fold = is_routine || body.size > MAX_UNFOLDED_LINES;
    body
}
