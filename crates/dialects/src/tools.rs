//! Items as tool calls: which of them are, their name, their arguments, what they gave back. Several dialects
//! show them so.

use std::borrow::Cow;

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Change, ChangeKind, Command, Details, Item, PlanEntry, Status, raw, raw_string};

/// The item is work of a tool, whether the agent called it by a name or not.
pub fn is_work(item: &Item) -> bool {
    match &item.details {
        Details::FileChange(_) => true,
        _ => is_tool(item),
    }
}

/// The item is shown as a tool from its start. A change of files without a tool's name is only shown as such.
pub fn is_tool(item: &Item) -> bool {
    match &item.details {
        Details::Command(_) | Details::Mcp(_) | Details::WebSearch(_) | Details::Subagent(_) | Details::Tool(_) => true,
        Details::FileChange(_) | Details::Plan(_) | Details::Unknown(_) => item.call.is_some(),
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => false,
    }
}

/// What a tool is called: by the agent's name, else by what it is.
pub fn name(item: &Item) -> &str {
    match (&item.call, &item.details) {
        (Some(call), _) if !call.name.is_empty() => &call.name,
        (_, Details::Mcp(mcp)) if !mcp.tool.is_empty() => &mcp.tool,
        (_, details) => details.tag(),
    }
}

/// What a tool was given; always an object.
pub fn arguments(item: &Item) -> Cow<'_, RawValue> {
    let input = item.call.as_ref().and_then(|call| call.input.as_deref());
    match (input, &item.details) {
        (Some(input), _) if input.get().starts_with('{') => Cow::Borrowed(input),
        (Some(input), _) => Cow::Owned(raw(&Input { input })),
        (None, Details::Command(command)) => Cow::Owned(raw(&CommandInput::from(command))),
        (None, Details::WebSearch(search)) => Cow::Owned(raw(&Queries { queries: &search.queries })),
        (None, Details::Subagent(subagent)) => {
            Cow::Owned(raw(&Prompt { label: &subagent.label, prompt: subagent.prompt.as_deref() }))
        }
        (None, Details::FileChange(change)) => Cow::Owned(raw(&Changes::of(&change.changes))),
        (None, Details::Plan(plan)) => Cow::Owned(raw(&Entries { entries: &plan.entries })),
        _ => Cow::Owned(raw(&Empty {})),
    }
}

/// What a tool gave back, if anything.
pub fn result(item: &Item) -> Option<Cow<'_, RawValue>> {
    match &item.details {
        Details::Command(command) => {
            Some(Cow::Owned(raw(&CommandResult { output: &command.output, exit_code: command.exit_code })))
        }
        Details::Mcp(mcp) => mcp.result.as_deref().map(Cow::Borrowed),
        Details::WebSearch(search) => search.results.as_deref().map(Cow::Borrowed),
        Details::Subagent(subagent) => subagent.result.as_deref().map(|text| Cow::Owned(raw_string(text))),
        Details::FileChange(change) => change.output.as_deref().map(|text| Cow::Owned(raw_string(text))),
        Details::Plan(plan) => plan.output.as_deref().map(|text| Cow::Owned(raw_string(text))),
        Details::Tool(tool) => match &tool.result {
            Some(result) => Some(Cow::Borrowed(&**result)),
            None => Some(Cow::Owned(raw_string(&tool.output))),
        },
        Details::Unknown(unknown) => unknown.raw.as_deref().map(Cow::Borrowed),
        _ => None,
    }
}

/// The tool did what it should: it ran to its end, and a command ended with zero.
pub fn succeeded(item: &Item) -> bool {
    let exit_code = match &item.details {
        Details::Command(Command { exit_code, .. }) => exit_code.unwrap_or(0),
        _ => 0,
    };
    item.status == Status::Completed && exit_code == 0
}

/// The tool ran, be it with failure. Otherwise it was declined, stopped, or died.
pub fn ran(item: &Item) -> bool {
    matches!(item.status, Status::Completed | Status::Failed | Status::Running)
}

/// Why it failed or did not run, in the words of the agent or the tool.
pub fn said_error(item: &Item) -> Option<&str> {
    let called = item.call.as_ref().and_then(|call| call.error.as_deref());
    called.or(match &item.details {
        Details::Mcp(mcp) => mcp.error.as_deref(),
        _ => None,
    })
}

/// Why it failed or did not run.
pub fn error(item: &Item) -> Option<String> {
    let said = said_error(item).map(str::to_owned);
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
struct Input<'a> {
    input: &'a RawValue,
}

#[derive(Serialize)]
struct Empty {}

#[derive(Serialize)]
struct Changes<'a> {
    changes: Vec<ChangedPath<'a>>,
}

#[derive(Serialize)]
struct ChangedPath<'a> {
    path: &'a str,
    kind: ChangeKind,
}

impl<'a> Changes<'a> {
    fn of(changes: &'a [Change]) -> Self {
        Self { changes: changes.iter().map(|change| ChangedPath { path: &change.path, kind: change.kind }).collect() }
    }
}

#[derive(Serialize)]
struct Queries<'a> {
    queries: &'a [String],
}

#[derive(Serialize)]
struct Entries<'a> {
    entries: &'a [PlanEntry],
}

#[derive(Serialize)]
struct Prompt<'a> {
    label: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt: Option<&'a str>,
}

#[derive(Serialize)]
struct CommandInput<'a> {
    command: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    cwd: Option<&'a str>,
}

impl<'a> From<&'a Command> for CommandInput<'a> {
    fn from(command: &'a Command) -> Self {
        Self { command: &command.command, cwd: command.cwd.as_deref() }
    }
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CommandResult<'a> {
    output: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exit_code: Option<i32>,
}
