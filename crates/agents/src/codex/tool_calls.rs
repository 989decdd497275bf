//! Calls of functions and subagents. Codex runs the functions of the model's API itself; the calls appear only in older
//! documentation and in rollouts.

use switchboard_event::{
    Call, CallKind, Command, Details, FileOp, Id, Item, Location, Notice, Plan, PlanEntry, PlanStatus, Status,
    Subagent, Tool, Topic,
};

use super::{first_field, first_str, first_string, items};
use crate::{JsonObject, JsonView, RunRecorder};

/// Verbs in tool names, by the operation on the file that the tool gets.
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

/// Reads `function_call`. Its arguments are complete when it is done, and often earlier.
pub fn start_call(native: &JsonObject<'_>, done: bool, recorder: &mut RunRecorder) {
    let Some(id) = first_str(native, &["call_id", "id"]).map(Id::from) else { return };
    let item = parse_function_call(native);
    if recorder.item_is_open(&id) {
        return recorder.item_set(&id, item);
    }
    if done || item.call.as_ref().is_some_and(|call| call.input.is_some()) {
        recorder.item_started(&id, item);
    }
}

/// Reads `function_call_output`.
pub fn complete_call(native: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let Some(id) = first_str(native, &["call_id", "id"]) else { return };
    let Some(mut item) = recorder.open_item(&id).cloned() else {
        return recorder
            .write_notice_about(Some(Id::from(id)), Notice::new(Topic::Late).with_name("function_call_output"));
    };
    let output = native.get("output").map(|output| output.display_text().into_owned()).unwrap_or_default();
    // The output of a shell is JSON in a string: `{"output":…,"metadata":{"exit_code":…}}`.
    let shell = JsonView::parse(&output).map(JsonView::as_object).unwrap_or_default();
    match &mut item.details {
        Details::Command(command) => {
            command.exit_code = shell.get_object("metadata").get_i32("exit_code");
            command.output = shell.get_string("output").unwrap_or(output);
        }
        Details::Tool(tool) => {
            (tool.output, tool.result) =
                (output, native.get_raw("output").filter(|raw| raw.get().starts_with(['{', '['])))
        }
        _ => {}
    }
    let status = if native.str_equals("status", "incomplete") { Status::Interrupted } else { Status::Completed };
    recorder.item_completed(&Id::from(id), item.with_status(status));
}

/// Returns whether a call has no output yet.
pub fn has_open_calls(recorder: &RunRecorder) -> bool {
    let open = recorder.open_items(None);
    open.iter().filter_map(|id| recorder.open_item(id)).any(|item| item.call.is_some())
}

/// Converts the call to an item, by Codex's function names.
pub fn parse_function_call(native: &JsonObject<'_>) -> Item {
    let name = native.get_string("name").unwrap_or_default();
    let written = first_string(native, &["arguments", "input"]).unwrap_or_default();
    let input = JsonView::parse(&written);
    let args = input.map(JsonView::as_object).unwrap_or_default();
    let (kind, details) = match name.as_str() {
        "shell" | "shell_command" | "local_shell" | "exec_command" | "container.exec" => {
            (CallKind::Execute, Details::from(parse_command(&args)))
        }
        "update_plan" => (CallKind::Think, parse_plan(&args).into()),
        "apply_patch" => (CallKind::Edit, Tool::default().into()),
        "web_search" => (CallKind::Search, Tool::default().into()),
        _ => (CallKind::Other, Tool::default().into()),
    };
    let raw = input
        .map(JsonView::to_raw)
        .or_else(|| (!written.is_empty()).then(|| switchboard_event::to_raw_string(&written)));
    let path = args.get_non_empty("file_path").or_else(|| args.get_non_empty("path"));
    let op = path.as_ref().and_then(|_| infer_file_op(&name, &args));
    let locations = path.into_iter().map(|path| Location { path, line: None }).collect();
    Item::new(details).with_call(Call { name, kind, op, input: raw, locations, ..Call::default() })
}

/// Infers the operation on the file from the tool's name, else from the other arguments.
fn infer_file_op(name: &str, args: &JsonObject<'_>) -> Option<FileOp> {
    let words: Vec<String> = split_words(name);
    let by_name = FILE_VERBS.iter().find(|(_, verbs)| words.iter().any(|word| verbs.contains(&word.as_str())));
    let by_argument = || FILE_ARGUMENTS.iter().find(|(_, keys)| keys.iter().any(|key| args.contains_key(key)));
    by_name.or_else(by_argument).map(|(op, _)| *op)
}

/// Splits a name in `snake_case`, `kebab-case` or `camelCase` into words.
fn split_words(name: &str) -> Vec<String> {
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

fn parse_command(args: &JsonObject<'_>) -> Command {
    let line = first_field(args, &["cmd", "command"]);
    Command {
        command: line
            .map(|line| line.as_str().map_or_else(|| items::join_argv(line), |text| text.into_owned()))
            .unwrap_or_default(),
        cwd: first_string(args, &["workdir", "cwd"]),
        ..Command::default()
    }
}

fn parse_plan(args: &JsonObject<'_>) -> Plan {
    let entries =
        args.get_array("plan").into_iter().map(JsonView::as_object).map(|step| parse_plan_entry(&step)).collect();
    Plan { entries, explanation: args.get_non_empty("explanation"), ..Plan::default() }
}

/// Parses `{step, status}`, in both spellings of the status.
pub fn parse_plan_entry(step: &JsonObject<'_>) -> PlanEntry {
    let status = match step.get_str("status").as_deref() {
        Some("completed") => PlanStatus::Completed,
        Some("in_progress" | "inProgress") => PlanStatus::InProgress,
        _ => PlanStatus::Pending,
    };
    PlanEntry { step: step.get_string("step").unwrap_or_default(), status }
}

/// Reads `collab_tool_call` of `exec` and `collabAgentToolCall` of the app-server.
pub fn update_spawned_agent(subagent: &mut Subagent, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let tool = to_snake_case(&fields.get_str("tool").unwrap_or_default());
    subagent.thread = receiver_threads(fields).first().map(Id::from).or(subagent.thread.take());
    subagent.name = "agent".to_owned();
    subagent.prompt = fields.get_non_empty("prompt").or(subagent.prompt.take());
    subagent.label = match &subagent.prompt {
        Some(prompt) => first_line(prompt),
        None => tool.replace('_', " "),
    };
    subagent.background = tool == "spawn_agent";
    subagent.result = agent_messages(fields).or(subagent.result.take());
    name_call(call.get_or_insert_default(), tool);
}

/// Keeps an existing name, because the model may call the tool differently: `wait_agent` for `wait`.
fn name_call(call: &mut Call, tool: String) {
    if call.name.is_empty() {
        call.name = tool;
    }
}

/// Reads a call that concerns existing agents.
pub fn update_collab_call(tool: &mut Tool, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let call = call.get_or_insert_default();
    name_call(call, to_snake_case(&fields.get_str("tool").unwrap_or_default()));
    call.title = fields.get_non_empty("prompt").map(|find_prompt| first_line(&find_prompt)).or(call.title.take());
    tool.output = agent_messages(fields).unwrap_or_else(|| std::mem::take(&mut tool.output));
}

/// Reads `subAgentActivity`: news of an agent that runs in parallel.
pub fn update_agent_activity(subagent: &mut Subagent, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let path = fields.get_str("agentPath").unwrap_or_default();
    subagent.thread = fields.get_non_empty("agentThreadId").map(Id::from).or(subagent.thread.take());
    subagent.name = path.rsplit('/').next().unwrap_or_default().to_owned();
    subagent.label = fields.get_string("kind").unwrap_or_default();
    call.get_or_insert_default().name = "subagent".to_owned();
}

/// Returns the threads that a call addresses; after a spawn, the new one.
pub fn receiver_threads(fields: &JsonObject<'_>) -> Vec<String> {
    let many = fields.get_array("receiver_thread_ids").into_iter().chain(fields.get_array("receiverThreadIds"));
    let mut threads: Vec<_> = many.filter_map(|id| id.as_str().map(std::borrow::Cow::into_owned)).collect();
    // Older documentation of the app-server has a single id per field.
    threads.extend(first_string(fields, &["newThreadId", "receiverThreadId"]));
    threads
}

pub fn is_spawn_call(fields: &JsonObject<'_>) -> bool {
    matches!(fields.get_str("tool").as_deref(), Some("spawn_agent" | "spawnAgent"))
}

fn agent_messages(fields: &JsonObject<'_>) -> Option<String> {
    let states = first_field(fields, &["agents_states", "agentsStates"]).map(JsonView::as_object)?;
    let said: Vec<_> = states.iter().filter_map(|(_, state)| state.as_object().get_non_empty("message")).collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

/// Converts `spawnAgent` to `spawn_agent`, the name that the model uses.
fn to_snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}

#[cfg(test)]
mod tests {

    use switchboard_event::FileOp;

    use super::parse_function_call;
    use crate::JsonView;

    #[test]
    fn the_file_is_in_the_arguments_of_any_tool() {
        let file = |name: &str, arguments: &str| {
            let native = format!(r#"{{"name":{name:?},"arguments":{arguments:?}}}"#);
            let call = parse_function_call(&JsonView::parse(&native).unwrap().as_object()).call.unwrap();
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
