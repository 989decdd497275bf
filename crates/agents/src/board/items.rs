//! Actions as items, by the shape of their arguments: a server may show any agent, so names of tools say nothing here.

use switchboard_event::{Call, CallKind, Command, Details, FileOp, Item, Location, Plan, PlanEntry, PlanStatus, Tool};

use crate::{Json, Object, Scribe};

/// The item for a call of a tool. What an edit does to its file is told by a `diff` event of its own, so an edit is
/// no change of files here: it would be told twice.
pub fn item(tool: &str, args: Option<Json<'_>>, scribe: &Scribe) -> Item {
    let fields = args.map(Json::object).unwrap_or_default();
    let path = ["file_path", "filePath", "path", "file"].into_iter().find_map(|key| fields.filled(key));
    let (kind, op) = nature(&fields, path.is_some());
    let call = Call {
        name: tool.to_owned(),
        kind,
        op,
        input: args.map(Json::to_raw),
        locations: path.iter().map(|path| Location { path: scribe.absolute(path), line: None }).collect(),
        ..Call::default()
    };
    Item::new(details(&fields, scribe)).with_call(call)
}

fn nature(args: &Object<'_>, on_file: bool) -> (CallKind, Option<FileOp>) {
    let any = |keys: &[&str]| keys.iter().any(|key| args.has(key));
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

fn details(args: &Object<'_>, scribe: &Scribe) -> Details {
    if let Some(command) = args.string("command").or_else(|| args.string("cmd")) {
        let cwd = args.str("cwd").map(|cwd| scribe.absolute(&cwd));
        return Command { command, cwd, ..Command::default() }.into();
    }
    let entries: Vec<_> = args.array("todos").into_iter().map(|todo| entry(&todo.object())).collect();
    if entries.is_empty() { Tool::default().into() } else { Plan { entries, ..Plan::default() }.into() }
}

fn entry(todo: &Object<'_>) -> PlanEntry {
    PlanEntry {
        step: todo.string("content").or_else(|| todo.string("description")).unwrap_or_default(),
        status: match todo.str("status").as_deref() {
            Some("in_progress") => PlanStatus::InProgress,
            Some("completed") => PlanStatus::Completed,
            Some("failed" | "cancelled") => PlanStatus::Failed,
            _ => PlanStatus::Pending,
        },
    }
}
