//! Converts actions to items, by the structure of their arguments. A server may show any agent, so tool names are not
//! standardized.

use switchboard_event::{Call, CallKind, Command, Details, FileOp, Item, Location, Plan, PlanEntry, PlanStatus, Tool};

use crate::{JsonObject, JsonView, RunRecorder};

/// Returns the item of a tool call. An edit is not a file change here, because a separate `diff` event reports the
/// change.
pub fn item(tool: &str, args: Option<JsonView<'_>>, recorder: &RunRecorder) -> Item {
    let fields = args.map(JsonView::as_object).unwrap_or_default();
    let path = ["file_path", "filePath", "path", "file"].into_iter().find_map(|key| fields.get_non_empty(key));
    let (kind, op) = nature(&fields, path.is_some());
    let call = Call {
        name: tool.to_owned(),
        kind,
        op,
        input: args.map(JsonView::to_raw),
        locations: path.iter().map(|path| Location { path: recorder.absolute_path(path), line: None }).collect(),
        ..Call::default()
    };
    Item::new(details(&fields, recorder)).with_call(call)
}

fn nature(args: &JsonObject<'_>, on_file: bool) -> (CallKind, Option<FileOp>) {
    let any = |keys: &[&str]| keys.iter().any(|key| args.contains_key(key));
    if any(&["command", "cmd"]) {
        (CallKind::Execute, None)
    } else if any(&["old_string", "oldString", "new_string", "newString", "edits"]) {
        (CallKind::Edit, Some(FileOp::Modify))
    } else if on_file && any(&["content", "contents"]) {
        (CallKind::Edit, Some(FileOp::Write))
    } else if any(&["pattern", "query"]) {
        (CallKind::Search, None)
    } else if any(&["url"]) {
        (CallKind::Fetch, None)
    } else if any(&["todos"]) {
        (CallKind::Think, None)
    } else if on_file {
        (CallKind::Read, Some(FileOp::Read))
    } else {
        (CallKind::Other, None)
    }
}

fn details(args: &JsonObject<'_>, recorder: &RunRecorder) -> Details {
    if let Some(command) = args.get_string("command").or_else(|| args.get_string("cmd")) {
        let cwd = args.get_str("cwd").map(|cwd| recorder.absolute_path(&cwd));
        return Command { command, cwd, ..Command::default() }.into();
    }
    let entries: Vec<_> = args.get_array("todos").into_iter().map(|todo| entry(&todo.as_object())).collect();
    if entries.is_empty() { Tool::default().into() } else { Plan { entries, ..Plan::default() }.into() }
}

fn entry(todo: &JsonObject<'_>) -> PlanEntry {
    PlanEntry {
        step: todo.get_string("content").or_else(|| todo.get_string("description")).unwrap_or_default(),
        status: match todo.get_str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("failed" | "cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    }
}
