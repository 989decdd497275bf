//! Converts tool calls to items, by their kind and the structure of their input. Tool names are not standardized.

use switchboard_event::{
    Call, CallKind, ChangeKind, Command, Content, ContentType, Details, FileChange, FileOp, Item, Location, Mcp, Plan,
    PlanEntry, Subagent, Tool, WebSearch,
};

use super::{
    call::{ToolCall, parsed},
    changes, names,
    updates::plan_status,
};
use crate::{JsonObject, JsonView, RunRecorder};

/// Returns the item of a call in its known state.
pub fn item(call: &ToolCall, recorder: &RunRecorder) -> Item {
    let kind = kind(call);
    let name = call.name.clone().unwrap_or_else(|| names::kind_name(kind).to_owned());
    let locations = locations(call, recorder);
    let details = details(call, &name, &locations, recorder);
    let others = |content: &Content| content.kind != ContentType::Text;
    let op = op(kind, &details);
    let item = Item { reply: call.reply.clone(), ..Item::new(details) };
    item.with_call(Call {
        op,
        name,
        title: call.title.clone(),
        kind,
        input: call.input.clone(),
        locations,
        content: call.pieces().into_iter().filter(others).collect(),
        ..Call::default()
    })
}

/// Returns the kind of a tool. A web search is not a file search: it leaves the machine.
fn kind(call: &ToolCall) -> CallKind {
    let web = || call.name.as_deref().is_some_and(|name| name.to_lowercase().contains("web"));
    match call.kind.unwrap_or_default() {
        CallKind::Search if web() => CallKind::Fetch,
        kind => kind,
    }
}

fn op(kind: CallKind, details: &Details) -> Option<FileOp> {
    let new = |edit: &FileChange| {
        !edit.changes.is_empty() && edit.changes.iter().all(|change| change.kind == ChangeKind::Add)
    };
    match (kind, details) {
        (CallKind::Read, _) => Some(FileOp::Read),
        (CallKind::Edit, Details::FileChange(change)) if new(change) => Some(FileOp::Create),
        (CallKind::Edit, _) => Some(FileOp::Modify),
        (CallKind::Delete, _) => Some(FileOp::Delete),
        (CallKind::Move, _) => Some(FileOp::Move),
        _ => None,
    }
}

fn locations(call: &ToolCall, recorder: &RunRecorder) -> Vec<Location> {
    let list = parsed(call.locations.as_deref()).map(JsonView::as_array).unwrap_or_default();
    let location = |entry: JsonView<'_>| {
        let entry = entry.as_object();
        Some(Location { path: recorder.absolute_path(&entry.get_str("path")?), line: entry.get_u64("line") })
    };
    list.into_iter().filter_map(location).collect()
}

fn details(call: &ToolCall, name: &str, places: &[Location], recorder: &RunRecorder) -> Details {
    let input = parsed(call.input.as_deref()).map(JsonView::as_object).unwrap_or_default();
    let kind = call.kind.unwrap_or_default();
    if let Some(details) = by_shape(call, name, &input, recorder) {
        return details;
    }
    if kind == CallKind::Execute {
        return command(call, &input, recorder).into();
    }
    let changes = changes::of(call, places, &input, recorder);
    let edits = matches!(kind, CallKind::Edit | CallKind::Delete | CallKind::Move) || !changes.is_empty();
    if !edits {
        return tool(call, recorder).into();
    }
    let output = Some(call.text(recorder)).filter(|text| !text.is_empty());
    FileChange { changes, output }.into()
}

/// Recognizes tools by the structure of their input, whatever the agent calls them.
fn by_shape(call: &ToolCall, name: &str, input: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Details> {
    let kind = kind(call);
    let titled = || call.title.as_deref().and_then(names::mcp_title);
    if let Some((server, tool)) = names::mcp(name).or_else(titled) {
        let result = call.output.clone().or_else(|| call.content.clone());
        return Some(Mcp { server: server.to_owned(), tool: tool.to_owned(), result, error: None }.into());
    }
    let todos = input.get_array("todos");
    if !todos.is_empty() {
        let entry = |todo: JsonView<'_>| {
            let todo = todo.as_object();
            PlanEntry { step: todo.get_string("content").unwrap_or_default(), status: plan_status(&todo) }
        };
        return Some(Plan { entries: todos.into_iter().map(entry).collect(), ..Plan::default() }.into());
    }
    if let (Some(prompt), Some(label)) = (input.get_non_empty("prompt"), input.get_non_empty("description")) {
        let name = input.get_non_empty("subagent_type").unwrap_or_default();
        let result = Some(call.text(recorder)).filter(|text| !text.is_empty());
        return Some(Subagent { name, label, prompt: Some(prompt), result, ..Subagent::default() }.into());
    }
    let query = input.get_non_empty("query").filter(|_| kind == CallKind::Fetch)?;
    Some(WebSearch { queries: vec![query], results: call.output.clone() }.into())
}

fn command(call: &ToolCall, input: &JsonObject<'_>, recorder: &RunRecorder) -> Command {
    let given = input.get("command").or_else(|| input.get("cmd")).and_then(names::command_line);
    // Without an input, the title is the command.
    let titled = || call.title.as_deref().map(|title| title.trim_matches('`').to_owned());
    let cwd = input.get_str("cwd").or_else(|| input.get_str("workdir")).map(|cwd| recorder.absolute_path(&cwd));
    let output = parsed(call.output.as_deref()).map(JsonView::as_object).unwrap_or_default();
    let more = output.get_object("metadata");
    let code =
        |fields: &JsonObject<'_>| ["exit_code", "exitCode", "exit"].into_iter().find_map(|key| fields.get_i32(key));
    Command {
        command: given.or_else(|| call.run.clone()).or_else(titled).unwrap_or_default(),
        cwd: cwd.or_else(|| recorder.working_directory().map(str::to_owned)),
        exit_code: call.exit.or_else(|| code(&output)).or_else(|| code(&more)),
        output: call.text(recorder),
        truncated: call.is_cut(recorder) || output.is_true("truncated") || more.is_true("truncated"),
        background: false,
    }
}

fn tool(call: &ToolCall, recorder: &RunRecorder) -> Tool {
    let output = call.text(recorder);
    let result = call.output.clone().filter(|raw| output.is_empty() && !raw.get().starts_with('"'));
    Tool { output, result }
}
