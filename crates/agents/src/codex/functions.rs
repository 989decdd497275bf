//! Function calls of the model's API as items. Codex itself runs them; only older descriptions show them.

use switchboard_event::{
    Call, CallKind, Command, Details, FileOp, Id, Item, Location, Notice, Plan, PlanEntry, PlanStatus, Status, Tool,
    Topic,
};

use super::{items, names};
use crate::{Json, Object, Scribe};

/// `function_call`. Its arguments are whole when it is done, often before.
pub fn called(native: &Object<'_>, done: bool, scribe: &mut Scribe) {
    let Some(id) = names::text(native, &["call_id", "id"]).map(Id::from) else { return };
    let item = item(native);
    if scribe.item_is_open(&id) {
        return scribe.item_set(&id, item);
    }
    if done || item.call.as_ref().is_some_and(|call| call.input.is_some()) {
        scribe.item_started(&id, item);
    }
}

/// `function_call_output`.
pub fn answered(native: &Object<'_>, scribe: &mut Scribe) {
    let Some(id) = names::text(native, &["call_id", "id"]) else { return };
    let Some(mut item) = scribe.item(&id).cloned() else {
        return scribe.notice_about(Some(Id::from(id)), Notice::new(Topic::Late).with_name("function_call_output"));
    };
    let output = native.get("output").map(|output| output.display().into_owned()).unwrap_or_default();
    // What a shell gives back is JSON in a text: `{"output":…,"metadata":{"exit_code":…}}`.
    let shell = Json::parse(&output).map(Json::object).unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => {
            command.exit_code = shell.object("metadata").i32("exit_code");
            command.output = shell.string("output").unwrap_or(output);
        }
        Details::Tool(tool) => {
            (tool.output, tool.result) = (output, native.raw("output").filter(|raw| raw.get().starts_with(['{', '['])))
        }
        _ => {}
    }
    let status = if native.is("status", "incomplete") { Status::Interrupted } else { Status::Completed };
    scribe.item_completed(&Id::from(id), item.with_status(status));
}

/// A function was called and has not answered.
pub fn are_open(scribe: &Scribe) -> bool {
    let open = scribe.open_items(None);
    open.iter().filter_map(|id| scribe.item(id)).any(|item| item.call.is_some())
}

/// The call as an item, by the names that Codex gives its functions.
pub fn item(native: &Object<'_>) -> Item {
    let name = native.string("name").unwrap_or_default();
    let written = names::string(native, &["arguments", "input"]).unwrap_or_default();
    let input = Json::parse(&written);
    let args = input.map(Json::object).unwrap_or_default();
    let (kind, details) = match name.as_str() {
        "shell" | "shell_command" | "local_shell" | "exec_command" | "container.exec" => {
            (CallKind::Execute, Details::from(command(&args)))
        }
        "update_plan" => (CallKind::Think, plan(&args).into()),
        "apply_patch" => (CallKind::Edit, Tool::default().into()),
        "web_search" => (CallKind::Search, Tool::default().into()),
        _ => (CallKind::Other, Tool::default().into()),
    };
    let raw =
        input.map(Json::to_raw).or_else(|| (!written.is_empty()).then(|| switchboard_event::raw_string(&written)));
    let path = args.filled("file_path").or_else(|| args.filled("path"));
    let op = path.as_ref().and_then(|_| infer_file_op(&name, &args));
    let locations = path.into_iter().map(|path| Location { path, line: None }).collect();
    Item::new(details).with_call(Call { name, kind, op, input: raw, locations, ..Call::default() })
}

/// Verbs in the names of tools, and what such tools do to the file that they are given.
const FILE_VERBS: &[(FileOp, &[&str])] = &[
    (FileOp::Modify, &["apply", "append", "edit", "insert", "modify", "patch", "replace", "update"]),
    (FileOp::Delete, &["delete", "remove", "rm", "unlink"]),
    (FileOp::Move, &["move", "mv", "rename"]),
    (FileOp::Create, &["create", "mkdir", "touch"]),
    (FileOp::Write, &["save", "write"]),
    (FileOp::Read, &["cat", "find", "get", "glob", "grep", "list", "ls", "open", "read", "search", "stat", "view"]),
];

/// Arguments besides the file that only one kind of tool takes.
const FILE_ARGUMENTS: &[(FileOp, &[&str])] = &[
    (FileOp::Modify, &["diff", "edits", "new_string", "new_str", "old_string", "old_str", "patch"]),
    (FileOp::Move, &["destination", "new_path", "to"]),
    (FileOp::Write, &["content", "contents", "file_text", "text"]),
];

/// What a tool does to the file in its arguments, by its name or else by the other arguments.
fn infer_file_op(name: &str, args: &Object<'_>) -> Option<FileOp> {
    let words: Vec<String> = words_of(name);
    let by_name = FILE_VERBS.iter().find(|(_, verbs)| words.iter().any(|word| verbs.contains(&word.as_str())));
    let by_argument = || FILE_ARGUMENTS.iter().find(|(_, keys)| keys.iter().any(|key| args.has(key)));
    by_name.or_else(by_argument).map(|(op, _)| *op)
}

/// The words of a name in `snake_case`, `kebab-case` or `camelCase`.
fn words_of(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    for letter in name.chars() {
        match words.last_mut() {
            Some(word) if letter.is_alphanumeric() && !letter.is_uppercase() => word.push(letter),
            _ if letter.is_alphanumeric() => words.push(letter.to_lowercase().collect()),
            _ => words.push(String::new()),
        }
    }
    words
}

fn command(args: &Object<'_>) -> Command {
    let line = names::get(args, &["cmd", "command"]);
    Command {
        command: line
            .map(|line| line.str().map_or_else(|| items::argv(line), |text| text.into_owned()))
            .unwrap_or_default(),
        cwd: names::string(args, &["workdir", "cwd"]),
        ..Command::default()
    }
}

fn plan(args: &Object<'_>) -> Plan {
    let entries = args.array("plan").into_iter().map(Json::object).map(|step| entry(&step)).collect();
    Plan { entries, explanation: args.filled("explanation"), ..Plan::default() }
}

/// `{step, status}`, in both spellings of the states.
pub fn entry(step: &Object<'_>) -> PlanEntry {
    let status = match step.str("status").as_deref() {
        Some("completed") => PlanStatus::Completed,
        Some("in_progress" | "inProgress") => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    PlanEntry { step: step.string("step").unwrap_or_default(), status }
}

#[cfg(test)]
mod tests {
    use switchboard_event::FileOp;

    use super::item;
    use crate::Json;

    #[test]
    fn the_file_is_in_the_arguments_of_any_tool() {
        let file = |name: &str, arguments: &str| {
            let native = format!(r#"{{"name":{name:?},"arguments":{arguments:?}}}"#);
            let call = item(&Json::parse(&native).unwrap().object()).call.unwrap();
            (call.locations.first().map(|location| location.path.clone()), call.op)
        };
        let at = |path: &str, op| (Some(path.to_owned()), op);
        assert_eq!(file("read_file", r#"{"file_path":"a.rs"}"#), at("a.rs", Some(FileOp::Read)));
        assert_eq!(file("writeFile", r#"{"path":"a.rs","content":""}"#), at("a.rs", Some(FileOp::Write)));
        assert_eq!(file("str_replace", r#"{"path":"a.rs"}"#), at("a.rs", Some(FileOp::Modify)));
        assert_eq!(file("fs-move", r#"{"path":"a.rs","to":"b.rs"}"#), at("a.rs", Some(FileOp::Move)));
        assert_eq!(file("notes", r#"{"path":"a.md","content":"x"}"#), at("a.md", Some(FileOp::Write)));
        assert_eq!(file("spread_out", r#"{"path":"a.md"}"#), at("a.md", None));
        assert_eq!(file("read_file", r#"{"other":"a.rs"}"#), (None, None));
    }
}
