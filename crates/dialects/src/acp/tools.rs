//! Items as ACP tool calls: title, kind, locations and content.

use std::borrow::Cow;

use switchboard_event::{CallKind, Change, ChangeKind, Details, Item};

use super::{
    diffs::change_diffs,
    wire::{Content, Location, ToolContent, ToolFields, ToolKind, ToolStatus, text_content},
};
use crate::{output, tools};

/// Returns whether the item is shown as a tool call. A to-do list is shown as the plan instead.
pub fn is_tool_call(item: &Item) -> bool {
    match &item.details {
        Details::Plan(plan) => item.call.is_some() && plan.entries.is_empty(),
        _ => tools::is_work(item),
    }
}

/// Returns a one-line title. For a command this is the command itself, so that users approve what actually runs and not
/// a description of it.
pub fn tool_title(item: &Item) -> Cow<'_, str> {
    let said = item.call.as_ref().and_then(|call| call.title.as_deref()).filter(|title| !title.is_empty());
    match &item.details {
        Details::Command(command) if !command.command.is_empty() => Cow::Borrowed(&command.command),
        _ if said.is_some() => Cow::Borrowed(said.unwrap_or_default()),
        Details::FileChange(change) if !change.changes.is_empty() => Cow::Owned(changes_title(&change.changes)),
        Details::Mcp(mcp) if !mcp.server.is_empty() => {
            Cow::Owned(format!("{}: {}", mcp.server, tools::tool_name(item)))
        }
        Details::WebSearch(search) if !search.queries.is_empty() => Cow::Owned(search.queries.join(", ")),
        Details::Subagent(agent) if !agent.label.is_empty() => Cow::Borrowed(&agent.label),
        Details::Subagent(agent) if !agent.name.is_empty() => Cow::Borrowed(&agent.name),
        _ => Cow::Borrowed(tools::tool_name(item)),
    }
}

/// Summarizes file changes in one line.
pub fn changes_title(changes: &[Change]) -> String {
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

/// Returns the tool kind of an item.
pub fn tool_kind(item: &Item) -> ToolKind {
    match item.call.as_ref().map(|call| call.kind) {
        Some(kind) if kind != CallKind::Other => to_tool_kind(kind),
        _ => match &item.details {
            Details::Command(_) => ToolKind::Execute,
            Details::FileChange(change) => change.changes.first().map_or(ToolKind::Edit, change_tool_kind),
            Details::WebSearch(_) => ToolKind::Search,
            Details::Subagent(_) | Details::Plan(_) => ToolKind::Think,
            _ => ToolKind::Other,
        },
    }
}

fn change_tool_kind(change: &Change) -> ToolKind {
    match change.kind {
        ChangeKind::Add | ChangeKind::Modify => ToolKind::Edit,
        ChangeKind::Delete => ToolKind::Delete,
        ChangeKind::Move => ToolKind::Move,
    }
}

/// Maps the kind of a call to the protocol's tool kind.
pub fn to_tool_kind(kind: CallKind) -> ToolKind {
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

/// Returns the file locations of a tool call.
pub fn tool_locations(item: &Item) -> Option<Vec<Location<'_>>> {
    let said = item.call.iter().flat_map(|call| call.locations.iter());
    let mut places: Vec<_> = said
        .map(|place| Location { path: &place.path, line: place.line.and_then(|line| u32::try_from(line).ok()) })
        .collect();
    if let (true, Details::FileChange(change)) = (places.is_empty(), &item.details) {
        places = change_locations(&change.changes);
    }
    places.retain(|place| !place.path.is_empty());
    (!places.is_empty()).then_some(places)
}

/// Returns the locations of changed files.
pub fn change_locations(changes: &[Change]) -> Vec<Location<'_>> {
    let paths = changes.iter().flat_map(|change| [Some(&change.path), change.to.as_ref()]);
    paths.flatten().map(|path| Location { path, line: None }).collect()
}

/// Returns the fields of a tool call that starts.
pub fn started_fields(item: &Item) -> ToolFields<'_> {
    ToolFields {
        name: Some(tools::tool_name(item)),
        kind: Some(tool_kind(item)),
        status: Some(ToolStatus::InProgress),
        content: non_empty(planned_content(item)),
        locations: tool_locations(item),
        raw_input: Some(tools::tool_arguments(item)),
        ..ToolFields::default()
    }
}

/// Returns the fields of a tool call that has ended.
pub fn ended_fields(item: &Item) -> ToolFields<'_> {
    let status = if tools::has_succeeded(item) { ToolStatus::Completed } else { ToolStatus::Failed };
    ToolFields {
        status: Some(status),
        content: non_empty(tool_result(item)),
        locations: tool_locations(item),
        raw_output: tools::tool_result(item).filter(|output| output.get() != "\"\""),
        ..ToolFields::default()
    }
}

fn non_empty(content: Vec<ToolContent<'_>>) -> Option<Vec<ToolContent<'_>>> {
    (!content.is_empty()).then_some(content)
}

/// Returns the content known before the tool runs: file changes or the proposed plan.
pub fn planned_content(item: &Item) -> Vec<ToolContent<'_>> {
    match &item.details {
        Details::FileChange(change) => change_content(&change.changes),
        Details::Plan(plan) => {
            plan.text.iter().filter(|plan| !plan.is_empty()).map(|plan| text_block(&**plan)).collect()
        }
        _ => Vec::new(),
    }
}

/// Returns file changes as diff content.
pub fn change_content(changes: &[Change]) -> Vec<ToolContent<'_>> {
    changes.iter().flat_map(change_diffs).map(ToolContent::Diff).collect()
}

/// Wraps text as tool content.
pub fn text_block<'a>(said: impl Into<Cow<'a, str>>) -> ToolContent<'a> {
    ToolContent::Content { content: text_content(said) }
}

/// Returns the content of an ended tool call: changes, output, or the error.
fn tool_result(item: &Item) -> Vec<ToolContent<'_>> {
    let mut content = if tools::has_run(item) { planned_content(item) } else { Vec::new() };
    let said = match &item.details {
        // The changes or the plan are sufficient.
        Details::FileChange(_) | Details::Plan(_) if tools::has_succeeded(item) && !content.is_empty() => {
            Cow::Borrowed("")
        }
        _ => output::output_or_error(item),
    };
    if !said.is_empty() {
        let verbatim = matches!(tool_kind(item), ToolKind::Execute | ToolKind::Read);
        content.push(text_block(if verbatim { Cow::Owned(fence_text(&said, "")) } else { said }));
    }
    let pieces = item.call.iter().flat_map(|call| &call.content);
    content.extend(pieces.filter_map(Content::from_piece).map(|content| ToolContent::Content { content }));
    content
}

/// Wraps text in a Markdown code fence that is longer than any fence in the text.
pub fn fence_text(said: &str, language: &str) -> String {
    let ticks = said.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(ticks.max(2) + 1);
    let end = if said.ends_with('\n') { "" } else { "\n" };
    format!("{fence}{language}\n{said}{end}{fence}")
}

#[cfg(test)]
mod tests {
    use super::fence_text;

    #[test]
    fn a_fence_is_longer_than_what_it_holds() {
        assert_eq!(fence_text("a\n", ""), "```\na\n```");
        assert_eq!(fence_text("a", "rust"), "```rust\na\n```");
        assert_eq!(fence_text("```x```", ""), "````\n```x```\n````");
    }
}
