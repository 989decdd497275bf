//! Calls of tools: what they were given, and what they gave back.

use serde_json::{Value, value::RawValue};
use switchboard_event::{Call, CallKind, Content, ContentType, Item, Mcp, Subagent, Tool, Unknown, WebSearch};

use super::{
    Body,
    content::{Address, Pieces},
    pile::Pile,
    value::{input, json, read, text_or_json},
};
use crate::html::{Html, code_title, element, line, link, markdown, plain, terminal, words};

/// Longer bodies are folded at first.
const LONG: u32 = 30;
/// So many results of a search are shown.
const RESULTS: usize = 50;

/// Any tool.
pub(super) fn tool(item: &Item, tool: &Tool, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
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

/// A tool of an MCP server.
pub(super) fn mcp(item: &Item, mcp: &Mcp, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
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

/// A search of the web.
pub(super) fn search(item: &Item, search: &WebSearch, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
    search.queries.iter().skip(1).take(RESULTS).for_each(|query| pile.line(element("p", "", &[line(query)])));
    match search.results.as_deref().map(|results| (results, read(results))) {
        Some((_, Some(value))) => results(&mut pile, &value),
        Some((raw, None)) => result_of(&mut pile, raw),
        None => {}
    }
    returned(&mut pile, item, address);
    let title = search.queries.first().map_or_else(|| title(item, "web search"), |query| line(query));
    folded(pile.body("search", title), true)
}

/// Another agent.
pub(super) fn subagent(item: &Item, subagent: &Subagent, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
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

/// Something that is not known.
pub(super) fn unknown(item: &Item, unknown: &Unknown, address: &Address<'_>) -> Body {
    let mut pile = Pile::default();
    given(&mut pile, item);
    if let Some(raw) = &unknown.raw {
        input(&mut pile, raw);
    }
    returned(&mut pile, item, address);
    let name = if unknown.name.is_empty() { "unknown" } else { &unknown.name };
    folded(pile.body("unknown", line(name)), true)
}

/// One line that says what a call is.
pub(super) fn title_of(call: &Call) -> Html {
    let name = code_title(&call.name);
    match call.title.as_deref().filter(|title| !title.is_empty() && *title != call.name) {
        Some(title) if call.name.is_empty() => line(title),
        Some(title) => words(&[name, line(title)]),
        None => name,
    }
}

/// The same of an item, or what it is.
pub(super) fn title(item: &Item, otherwise: &str) -> Html {
    item.call.as_deref().map_or_else(|| line(otherwise), title_of)
}

/// What the tool was given.
pub(super) fn given(pile: &mut Pile, item: &Item) {
    if let Some(given) = item.call.as_ref().and_then(|call| call.input.as_deref()) {
        input(pile, given);
    }
}

/// The text that the tool gave back, where the item itself has none.
fn texts(pile: &mut Pile, item: &Item) {
    let given = item.call.iter().flat_map(|call| &call.content).filter(|content| content.kind == ContentType::Text);
    given.filter_map(|content| content.text.as_deref()).take(RESULTS).for_each(|text| output(pile, text));
}

/// What the tool gave back beside its output.
pub(super) fn returned(pile: &mut Pile, item: &Item, address: &Address<'_>) {
    let Some(call) = &item.call else { return };
    // Text is what the details have already; images and files are only here.
    let is_more = |content: &&Content| content.kind != ContentType::Text;
    let more: Vec<Content> = call.content.iter().filter(is_more).cloned().collect();
    Pieces::new(address).show(pile, &more);
    if let Some(error) = &call.error {
        pile.add(plain(error));
    }
}

/// What a tool printed: JSON in order, anything else as a terminal shows it.
pub(super) fn output(pile: &mut Pile, text: &str) {
    match text_or_json(text) {
        Some(value) => pile.add(json(&value)),
        None => pile.add(terminal(text)),
    }
}

/// What a tool gave back as JSON. Results of MCP tools are lists of pieces, of which the text is shown.
fn result_of(pile: &mut Pile, raw: &RawValue) {
    let Some(value) = read(raw) else { return input(pile, raw) };
    let pieces = value.get("content").and_then(Value::as_array).or_else(|| value.as_array());
    let texts: Vec<&str> = pieces.into_iter().flatten().filter_map(|piece| piece.get("text")?.as_str()).collect();
    match value {
        Value::String(text) => output(pile, &text),
        _ if !texts.is_empty() => texts.iter().for_each(|text| output(pile, text)),
        _ => input(pile, raw),
    }
}

/// What a search found: links where it gives addresses.
fn results(pile: &mut Pile, value: &Value) {
    let list = ["results", "content", "links"].iter().find_map(|name| value.get(name)?.as_array());
    let list: Vec<&Value> = list.or_else(|| value.as_array()).into_iter().flatten().take(RESULTS).collect();
    let text = |value: &Value, name: &str| value.get(name).and_then(Value::as_str).map(str::to_owned);
    let found: Vec<Html> = list
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
            pile.add(crate::html::Shown { html: element("ul", "", &found), lines, cut: false });
        }
        Value::String(text) => pile.add(markdown(text)),
        value => pile.add(json(value)),
    }
}

/// Folded if it is routine or long.
pub(super) fn folded(mut body: Body, is_routine: bool) -> Body {
    body.fold = is_routine || body.size > LONG;
    body
}
