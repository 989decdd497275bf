//! Items as tool calls: title, kind, places, and what there is to see.

use std::borrow::Cow;

use switchboard_event::{CallKind, Change, ChangeKind, Details, Item};

use super::{
    diffs::diffs,
    wire::{Content, Location, ToolContent, ToolFields, ToolKind, ToolStatus, text},
};
use crate::{output, tools};

/// The item is shown as a tool call. A list of things to do is not: the plan shows it.
pub fn is_card(item: &Item) -> bool {
    match &item.details {
        Details::Plan(plan) => item.call.is_some() && plan.entries.is_empty(),
        _ => tools::is_work(item),
    }
}

/// One line for people. Of a command it is the command itself: nobody should agree to a description of it.
pub fn title(item: &Item) -> Cow<'_, str> {
    let said = item.call.as_ref().and_then(|call| call.title.as_deref()).filter(|title| !title.is_empty());
    match &item.details {
        Details::Command(command) if !command.command.is_empty() => Cow::Borrowed(&command.command),
        _ if said.is_some() => Cow::Borrowed(said.unwrap_or_default()),
        Details::FileChange(change) if !change.changes.is_empty() => Cow::Owned(changed(&change.changes)),
        Details::Mcp(mcp) if !mcp.server.is_empty() => Cow::Owned(format!("{}: {}", mcp.server, tools::name(item))),
        Details::WebSearch(search) if !search.queries.is_empty() => Cow::Owned(search.queries.join(", ")),
        Details::Subagent(agent) if !agent.label.is_empty() => Cow::Borrowed(&agent.label),
        Details::Subagent(agent) if !agent.name.is_empty() => Cow::Borrowed(&agent.name),
        _ => Cow::Borrowed(tools::name(item)),
    }
}

/// What is done to files, in a line.
pub fn changed(changes: &[Change]) -> String {
    let Some(first) = changes.first() else { return String::new() };
    let verb = match first.kind {
        ChangeKind::Add => "Write",
        ChangeKind::Modify => "Edit",
        ChangeKind::Delete => "Delete",
        ChangeKind::Move => "Move",
    };
    match changes.len() {
        1 => format!("{verb} {}", first.path),
        many => format!("{verb} {} and {} more", first.path, many - 1),
    }
}

/// What sort of tool it is.
pub fn kind(item: &Item) -> ToolKind {
    match item.call.as_ref().map(|call| call.kind) {
        Some(kind) if kind != CallKind::Other => kind_of(kind),
        _ => match &item.details {
            Details::Command(_) => ToolKind::Execute,
            Details::FileChange(change) => change.changes.first().map_or(ToolKind::Edit, kind_of_change),
            Details::WebSearch(_) => ToolKind::Search,
            Details::Subagent(_) | Details::Plan(_) => ToolKind::Think,
            _ => ToolKind::Other,
        },
    }
}

fn kind_of_change(change: &Change) -> ToolKind {
    match change.kind {
        ChangeKind::Add | ChangeKind::Modify => ToolKind::Edit,
        ChangeKind::Delete => ToolKind::Delete,
        ChangeKind::Move => ToolKind::Move,
    }
}

/// The kind of a call in the protocol's words.
pub fn kind_of(kind: CallKind) -> ToolKind {
    match kind {
        CallKind::Read => ToolKind::Read,
        CallKind::Edit => ToolKind::Edit,
        CallKind::Delete => ToolKind::Delete,
        CallKind::Move => ToolKind::Move,
        CallKind::Search => ToolKind::Search,
        CallKind::Execute => ToolKind::Execute,
        CallKind::Think => ToolKind::Think,
        CallKind::Fetch => ToolKind::Fetch,
        CallKind::Mode => ToolKind::SwitchMode,
        CallKind::Other => ToolKind::Other,
    }
}

/// The places in files that it is about.
pub fn locations(item: &Item) -> Option<Vec<Location<'_>>> {
    let said = item.call.iter().flat_map(|call| call.locations.iter());
    let mut places: Vec<_> = said
        .map(|place| Location { path: &place.path, line: place.line.and_then(|line| u32::try_from(line).ok()) })
        .collect();
    if let (true, Details::FileChange(change)) = (places.is_empty(), &item.details) {
        places = places_of(&change.changes);
    }
    places.retain(|place| !place.path.is_empty());
    (!places.is_empty()).then_some(places)
}

/// The files that change.
pub fn places_of(changes: &[Change]) -> Vec<Location<'_>> {
    let paths = changes.iter().flat_map(|change| [Some(&change.path), change.to.as_ref()]);
    paths.flatten().map(|path| Location { path, line: None }).collect()
}

/// What is known when a tool is called.
pub fn begun(item: &Item) -> ToolFields<'_> {
    ToolFields {
        name: Some(tools::name(item)),
        kind: Some(kind(item)),
        status: Some(ToolStatus::InProgress),
        content: filled(planned(item)),
        locations: locations(item),
        raw_input: Some(tools::arguments(item)),
        ..ToolFields::default()
    }
}

/// What is known when it is over.
pub fn ended(item: &Item) -> ToolFields<'_> {
    let status = if tools::succeeded(item) { ToolStatus::Completed } else { ToolStatus::Failed };
    ToolFields {
        status: Some(status),
        content: filled(result(item)),
        locations: locations(item),
        raw_output: tools::result(item).filter(|output| output.get() != "\"\""),
        ..ToolFields::default()
    }
}

fn filled(content: Vec<ToolContent<'_>>) -> Option<Vec<ToolContent<'_>>> {
    (!content.is_empty()).then_some(content)
}

/// What there is to see before it ran: the changes that it makes, or the plan that it proposes.
pub fn planned(item: &Item) -> Vec<ToolContent<'_>> {
    match &item.details {
        Details::FileChange(change) => shown_changes(&change.changes),
        Details::Plan(plan) => plan.text.iter().filter(|plan| !plan.is_empty()).map(|plan| block(&**plan)).collect(),
        _ => Vec::new(),
    }
}

/// Changes of files.
pub fn shown_changes(changes: &[Change]) -> Vec<ToolContent<'_>> {
    changes.iter().flat_map(diffs).map(ToolContent::Diff).collect()
}

/// A text to see.
pub fn block<'a>(said: impl Into<Cow<'a, str>>) -> ToolContent<'a> {
    ToolContent::Content { content: text(said) }
}

/// What there is to see when it is over: changes, what it gave back, or why it failed.
fn result(item: &Item) -> Vec<ToolContent<'_>> {
    let mut content = if tools::ran(item) { planned(item) } else { Vec::new() };
    let said = match &item.details {
        // The changes say it, or the plan does.
        Details::FileChange(_) | Details::Plan(_) if tools::succeeded(item) && !content.is_empty() => Cow::Borrowed(""),
        _ => output::text_or_why(item),
    };
    if !said.is_empty() {
        let verbatim = matches!(kind(item), ToolKind::Execute | ToolKind::Read);
        content.push(block(if verbatim { Cow::Owned(fenced(&said, "")) } else { said }));
    }
    let pieces = item.call.iter().flat_map(|call| &call.content);
    content.extend(pieces.filter_map(Content::of).map(|content| ToolContent::Content { content }));
    content
}

/// Text that is shown as it is, in a language, and not read as Markdown.
pub fn fenced(said: &str, language: &str) -> String {
    let ticks = said.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks.max(2) + 1);
    let end = if said.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{said}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::fenced;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fenced("a\n", ""), "```\na\n```");
        assert_eq!(fenced("a", "rust"), "```rust\na\n```");
        assert_eq!(fenced("```x```", ""), "````\n```x```\n````");
    }
}
