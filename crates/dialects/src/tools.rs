//! Items as tool calls, for dialects without item types: names, arguments, results, output and errors.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use switchboard_event::{
    Change, ChangeKind, Command, Details, Item, Plan, PlanEntry, PlanStatus, Status, to_raw_json, to_raw_string,
};

/// Returns whether the item is the work of a tool, named or not.
pub fn is_work(item: &Item) -> bool {
    match &item.details {
        Details::FileChange(_) => true,
        _ => is_tool(item),
    }
}

/// Returns whether the item is shown as a tool from its start. A file change without a tool name is only shown as a
/// change.
pub fn is_tool(item: &Item) -> bool {
    match &item.details {
        Details::Command(_) | Details::Mcp(_) | Details::WebSearch(_) | Details::Subagent(_) | Details::Tool(_) => true,
        Details::FileChange(_) | Details::Plan(_) | Details::Unknown(_) => item.call.is_some(),
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => false,
    }
}

/// Returns the agent's name for the tool, or else the item type.
pub fn tool_name(item: &Item) -> &str {
    match (&item.call, &item.details) {
        (Some(call), _) if !call.name.is_empty() => &call.name,
        (_, Details::Mcp(mcp)) if !mcp.tool.is_empty() => &mcp.tool,
        (_, details) => details.type_tag(),
    }
}

/// Returns the arguments of a tool; always an object.
pub fn tool_arguments(item: &Item) -> Cow<'_, RawValue> {
    let input = item.call.as_ref().and_then(|call| call.input.as_deref());
    match (input, &item.details) {
        (Some(input), _) if input.get().starts_with('{') => Cow::Borrowed(input),
        (Some(input), _) => Cow::Owned(to_raw_json(&WrappedToolInput { input })),
        (None, Details::Command(command)) => Cow::Owned(to_raw_json(&CommandToolInput::from(command))),
        (None, Details::WebSearch(search)) => Cow::Owned(to_raw_json(&SearchQueriesInput { queries: &search.queries })),
        (None, Details::Subagent(subagent)) => {
            Cow::Owned(to_raw_json(&SubagentInput { label: &subagent.label, prompt: subagent.prompt.as_deref() }))
        }
        (None, Details::FileChange(change)) => {
            Cow::Owned(to_raw_json(&ChangedPathsInput::from_changes(&change.changes)))
        }
        (None, Details::Plan(plan)) => Cow::Owned(to_raw_json(&PlanEntriesInput { entries: &plan.entries })),
        _ => Cow::Owned(to_raw_json(&EmptyToolInput {})),
    }
}

/// Returns the result of a tool, if any.
pub fn tool_result(item: &Item) -> Option<Cow<'_, RawValue>> {
    match &item.details {
        Details::Command(command) => {
            Some(Cow::Owned(to_raw_json(&CommandToolResult { output: &command.output, exit_code: command.exit_code })))
        }
        Details::Mcp(mcp) => mcp.result.as_deref().map(Cow::Borrowed),
        Details::WebSearch(search) => search.results.as_deref().map(Cow::Borrowed),
        Details::Subagent(subagent) => subagent.result.as_deref().map(|text| Cow::Owned(to_raw_string(text))),
        Details::FileChange(change) => change.output.as_deref().map(|text| Cow::Owned(to_raw_string(text))),
        Details::Plan(plan) => plan.output.as_deref().map(|text| Cow::Owned(to_raw_string(text))),
        Details::Tool(tool) => match &tool.result {
            Some(result) => Some(Cow::Borrowed(&**result)),
            None => Some(Cow::Owned(to_raw_string(&tool.output))),
        },
        Details::Unknown(unknown) => unknown.raw.as_deref().map(Cow::Borrowed),
        _ => None,
    }
}

/// Returns whether the tool succeeded: it completed, and a command exited with zero.
pub fn has_succeeded(item: &Item) -> bool {
    let exit_code = match &item.details {
        Details::Command(Command { exit_code, .. }) => exit_code.unwrap_or(0),
        _ => 0,
    };
    item.status == Status::Completed && exit_code == 0
}

/// Returns whether the tool ran, successfully or not; otherwise it was declined or interrupted.
pub fn has_run(item: &Item) -> bool {
    matches!(item.status, Status::Completed | Status::Failed | Status::Running)
}

/// Returns the error reported by the agent or the tool.
pub fn reported_error(item: &Item) -> Option<&str> {
    let called = item.call.as_ref().and_then(|call| call.error.as_deref());
    called.or(match &item.details {
        Details::Mcp(mcp) => mcp.error.as_deref(),
        _ => None,
    })
}

/// Returns the reported error, or else a description of the failure.
pub fn tool_error(item: &Item) -> Option<String> {
    let said = reported_error(item).map(str::to_owned);
    let said = said.or_else(|| match &item.details {
        Details::Command(Command { exit_code: Some(code), .. }) if *code != 0 => Some(format!("exit code {code}")),
        _ => None,
    });
    said.or_else(|| {
        let word = match item.status {
            Status::Failed => "failed",
            Status::Declined => "declined",
            Status::Interrupted => "interrupted",
            Status::Superseded => "superseded",
            Status::Running | Status::Completed => return None,
        };
        Some(word.to_owned())
    })
}

#[derive(Serialize)]
struct WrappedToolInput<'a> {
    input: &'a RawValue,
}

#[derive(Serialize)]
struct EmptyToolInput {}

#[derive(Serialize)]
struct ChangedPathsInput<'a> {
    changes: Vec<ChangedPath<'a>>,
}

#[derive(Serialize)]
struct ChangedPath<'a> {
    path: &'a str,
    kind: ChangeKind,
}

impl<'a> ChangedPathsInput<'a> {
    fn from_changes(changes: &'a [Change]) -> Self {
        Self { changes: changes.iter().map(|change| ChangedPath { path: &change.path, kind: change.kind }).collect() }
    }
}

#[derive(Serialize)]
struct SearchQueriesInput<'a> {
    queries: &'a [String],
}

#[derive(Serialize)]
struct PlanEntriesInput<'a> {
    entries: &'a [PlanEntry],
}

#[derive(Serialize)]
struct SubagentInput<'a> {
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
}

#[derive(Serialize)]
struct CommandToolInput<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

impl<'a> From<&'a Command> for CommandToolInput<'a> {
    fn from(command: &'a Command) -> Self {
        Self { command: &command.command, cwd: command.cwd.as_deref() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandToolResult<'a> {
    output: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}

/// Returns the complete output of a tool as text; empty if there is none.
pub fn output_text(item: &Item) -> Cow<'_, str> {
    match &item.details {
        Details::Command(command) => Cow::Borrowed(&command.output),
        Details::FileChange(change) => match &change.output {
            Some(output) => Cow::Borrowed(output),
            // Changes that were not applied are not output.
            None if item.status != Status::Completed => Cow::Borrowed(""),
            None => Cow::Owned(changes_text(&change.changes)),
        },
        Details::Mcp(mcp) => mcp.result.as_deref().map(readable_json).unwrap_or_default(),
        Details::WebSearch(search) => search.results.as_deref().map(readable_json).unwrap_or_default(),
        Details::Subagent(subagent) => Cow::Borrowed(subagent.result.as_deref().unwrap_or_default()),
        Details::Tool(tool) => match &tool.result {
            Some(result) if tool.output.is_empty() => readable_json(result),
            _ => Cow::Borrowed(&tool.output),
        },
        Details::Plan(plan) => Cow::Owned(plan_text(plan)),
        Details::Unknown(unknown) => Cow::Borrowed(unknown.raw.as_deref().map_or("", RawValue::get)),
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => Cow::Borrowed(""),
    }
}

/// Returns the output of a tool, or the error if it has no output. If the tool did not run, only the error is returned.
pub fn output_or_error(item: &Item) -> Cow<'_, str> {
    let text = output_text(item);
    let failed = !has_succeeded(item) && (text.is_empty() || !has_run(item));
    tool_error(item).filter(|_| failed).map_or(text, Cow::Owned)
}

/// Formats file changes, one per line.
pub fn changes_text(changes: &[Change]) -> String {
    changes.iter().map(change_line).collect::<Vec<_>>().join("\n")
}

fn change_line(change: &Change) -> String {
    let verb = match change.kind {
        ChangeKind::Add => "added",
        ChangeKind::Modify => "changed",
        ChangeKind::Delete => "deleted",
        ChangeKind::Move => "moved",
    };
    match &change.to {
        Some(to) => format!("{verb} {} to {to}", change.path),
        None => format!("{verb} {}", change.path),
    }
}

/// Converts JSON to readable text: the content of a string, the joined text of text blocks as returned by MCP servers,
/// or else the JSON itself. Nothing is dropped.
pub fn readable_json(json: &RawValue) -> Cow<'_, str> {
    let text = json.get();
    let read = match text.as_bytes().first() {
        Some(b'"') => serde_json::from_str(text).ok().map(|JsonText(text)| text),
        Some(b'[') => serde_json::from_str(text).ok().map(join_blocks),
        Some(b'{') => serde_json::from_str(text).ok().map(|ContentBlocks { content }| join_blocks(content)),
        _ => None,
    };
    read.unwrap_or(Cow::Borrowed(text))
}

fn join_blocks(mut blocks: Vec<TextContentBlock<'_>>) -> Cow<'_, str> {
    if blocks.len() == 1 {
        return blocks.pop().map(|block| block.text).unwrap_or_default();
    }
    Cow::Owned(blocks.iter().map(|block| &*block.text).collect::<Vec<_>>().join("\n"))
}

#[derive(Deserialize)]
struct JsonText<'a>(#[serde(borrow)] Cow<'a, str>);

#[derive(Deserialize)]
struct ContentBlocks<'a> {
    #[serde(borrow)]
    content: Vec<TextContentBlock<'a>>,
}

#[derive(Deserialize)]
struct TextContentBlock<'a> {
    #[serde(borrow)]
    text: Cow<'a, str>,
}

/// Returns whether the plan is in effect. A plan made by a tool is in effect once the tool has completed.
pub fn is_plan_in_effect(item: &Item) -> bool {
    match item.status {
        Status::Running => item.call.is_none(),
        Status::Completed => true,
        Status::Failed | Status::Declined | Status::Interrupted | Status::Superseded => item.call.is_none(),
    }
}

/// Returns the plan's text followed by its steps and their status.
pub fn plan_text(plan: &Plan) -> String {
    let steps = plan.entries.iter().map(|entry| {
        let mark = match entry.status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[~]",
            PlanStatus::Completed => "[x]",
            PlanStatus::Failed => "[!]",
        };
        format!("{mark} {}", entry.step)
    });
    plan.text.iter().cloned().chain(steps).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::readable_json;

    #[test]
    fn json_becomes_text_without_loss() {
        for (json, text) in [
            (r#""plain \"é\"""#, "plain \"é\""),
            (r#"{"content":[{"type":"text","text":"one"},{"type":"text","text":"two"}]}"#, "one\ntwo"),
            (r#"[{"type":"text","text":"one"}]"#, "one"),
            (
                r#"[{"type":"text","text":"one"},{"type":"image","data":"x"}]"#,
                r#"[{"type":"text","text":"one"},{"type":"image","data":"x"}]"#,
            ),
            (r#"{"n":1}"#, r#"{"n":1}"#),
            ("null", "null"),
        ] {
            assert_eq!(readable_json(serde_json::from_str(json).unwrap()), text);
        }
    }
}
