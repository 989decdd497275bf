//! Items as tool calls, shared by several dialects: which items are tools, their names, arguments and results.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Change, ChangeKind, Command, Details, Item, PlanEntry, Status, to_raw_json, to_raw_string};

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
