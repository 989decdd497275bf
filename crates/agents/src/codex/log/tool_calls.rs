//! Tool calls of the model as items, their results as the model sees them, and the events that report their ends.

use std::borrow::Cow;

use switchboard_event::{
    Call, CallKind, Change, ChangeKind, Command, Details, FileChange, FileOp, Id, Item, Mcp, Notice, Status, Subagent,
    Tool, Topic,
};

use super::messages;
use crate::{
    JsonObject, JsonView, RunRecorder,
    codex::{first_str, first_string, items, tool_calls},
    diff,
};

const MAX_HEADER_LINES: usize = 8;

/// Parses `function_call`, `custom_tool_call`, `local_shell_call` or `tool_search_call`: the id that its output refers
/// to, and the item.
pub fn parse_call(kind: &str, native: &JsonObject<'_>, recorder: &RunRecorder) -> Option<(Id, Item)> {
    let id = Id::from(first_str(native, &["call_id", "id"])?);
    let item = match kind {
        "local_shell_call" => local_shell_item(&native.get_object("action")),
        "tool_search_call" => {
            let call = Call { name: "tool_search".to_owned(), kind: CallKind::Search, ..Call::default() };
            Item::new(Tool::default()).with_call(Call { input: native.get_raw("arguments"), ..call })
        }
        _ => function_item(native, recorder),
    };
    Some((id, item))
}

fn local_shell_item(action: &JsonObject<'_>) -> Item {
    let command = Command {
        command: action.get("command").map(items::join_argv).unwrap_or_default(),
        cwd: action.get_non_empty("working_directory"),
        ..Command::default()
    };
    Item::new(command).with_call(Call { name: "local_shell".to_owned(), kind: CallKind::Execute, ..Call::default() })
}

fn function_item(native: &JsonObject<'_>, recorder: &RunRecorder) -> Item {
    let mut item = tool_calls::parse_function_call(native);
    let Some(call) = &mut item.call else { return item };
    call.locations.iter_mut().for_each(|location| location.path = recorder.absolute_path(&location.path));
    let written = first_string(native, &["arguments", "input"]).unwrap_or_default();
    let args = JsonView::parse(&written).map(JsonView::as_object).unwrap_or_default();
    let server = native.get_non_empty("namespace").and_then(|name| name.strip_prefix("mcp__").map(str::to_owned));
    match (call.name.as_str(), server) {
        (_, Some(server)) => item.details = Mcp { server, tool: call.name.clone(), ..Mcp::default() }.into(),
        ("apply_patch", _) => {
            let text = first_string(&args, &["input", "patch"]).unwrap_or(written);
            item.details = FileChange { changes: parse_patch(&text, recorder), output: None }.into();
        }
        ("spawn_agent", _) => item.details = parse_spawned_agent(&args).into(),
        ("view_image", _) => {
            (call.kind, call.op) = (CallKind::Read, Some(FileOp::Read));
        }
        (name, None) => {
            // Before functions had namespaces, the name contained the server.
            let full = name.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
            if let Some((server, tool)) = full.map(|(server, tool)| (server.to_owned(), tool.to_owned())) {
                item.details = Mcp { server, tool, ..Mcp::default() }.into();
            }
        }
    }
    item
}

fn parse_spawned_agent(args: &JsonObject<'_>) -> Subagent {
    let prompt = first_string(args, &["message", "prompt"]);
    let label = prompt.as_deref().and_then(|prompt| prompt.lines().next());
    Subagent {
        name: args.get_non_empty("agent_type").unwrap_or_else(|| "agent".to_owned()),
        label: label.unwrap_or_default().chars().take(80).collect(),
        prompt,
        background: true,
        ..Subagent::default()
    }
}

/// Reads a `*_output` item, which completes the call that it names. Details from earlier events are kept.
pub fn complete_call(kind: &str, native: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let Some(id) = native.get_non_empty("call_id") else {
        return recorder.write_notice(Notice::new(Topic::Control).with_name(kind));
    };
    let Some(mut item) = recorder.open_item(&id).cloned() else {
        return recorder.write_notice_about(Some(Id::from(id)), Notice::new(Topic::Late).with_name(kind));
    };
    let output = RolloutToolOutput::parse(native);
    let told = Some(item.status).filter(|status| *status != Status::Running);
    item.status = told.or(output.status).or_else(|| answer_status(native)).unwrap_or(Status::Completed);
    item.duration_ms = item.duration_ms.or(output.duration_ms);
    apply_output(&mut item, &output, native);
    recorder.item_completed(&Id::from(id), item);
}

/// Returns the status of the output itself; current versions have none.
fn answer_status(native: &JsonObject<'_>) -> Option<Status> {
    match &*native.get_str("status")? {
        "completed" => Some(Status::Completed),
        "incomplete" => Some(Status::Interrupted),
        "failed" | "error" => Some(Status::Failed),
        _ => None,
    }
}

fn apply_output(item: &mut Item, output: &RolloutToolOutput<'_>, native: &JsonObject<'_>) {
    let failed = matches!(item.status, Status::Failed | Status::Declined);
    match &mut item.details {
        Details::Command(command) => {
            command.exit_code = command.exit_code.or(output.exit_code);
            if command.output.is_empty() {
                command.output = output.text.clone().into_owned();
            }
        }
        Details::FileChange(change) => change.output = Some(output.text.clone().into_owned()),
        Details::Plan(plan) => plan.output = Some(output.text.clone().into_owned()),
        Details::Subagent(subagent) => {
            let answer = JsonView::parse(&output.text).map(JsonView::as_object).unwrap_or_default();
            subagent.thread = subagent.thread.take().or(answer.get_non_empty("agent_id").map(Id::from));
            subagent.result = subagent.result.take().or_else(|| Some(output.text.clone().into_owned()));
        }
        Details::Mcp(mcp) if mcp.result.is_none() && mcp.error.is_none() => {
            if failed {
                mcp.error = Some(output.text.clone().into_owned());
            } else {
                mcp.result = native.get_raw("output");
            }
        }
        Details::Tool(tool) => {
            tool.output = output.text.clone().into_owned();
            tool.result = native.get_raw("output").filter(|raw| raw.get().starts_with(['{', '[']));
        }
        _ => {}
    }
    let is_command = matches!(item.details, Details::Command(_));
    if let Some(call) = item.call.as_mut().filter(|_| !is_command) {
        call.exit_code = call.exit_code.or(output.exit_code);
    }
    if let (true, Some(call)) = (failed, &mut item.call) {
        call.error = call.error.take().or_else(|| Some(output.text.clone().into_owned()));
    }
}

pub struct RolloutToolEnd<'a> {
    pub id: Id,
    /// Kind, by its name in the app-server protocol.
    pub kind: String,
    pub native: JsonView<'a>,
}

/// Parses the item of `item_completed`. `CommandExecution` is `commandExecution` in the app-server protocol.
pub fn parse_completed_item<'a>(native: JsonView<'a>) -> Option<RolloutToolEnd<'a>> {
    let fields = native.as_object();
    let (id, name) = (fields.get_non_empty("id")?, fields.get_str("type")?);
    let kind = name.char_indices().map(|(at, c)| if at == 0 { c.to_ascii_lowercase() } else { c }).collect();
    Some(RolloutToolEnd { id: id.into(), kind, native })
}

/// Parses an end event of a legacy history.
pub fn parse_end_event<'a>(event: &str, native: JsonView<'a>) -> Option<RolloutToolEnd<'a>> {
    let kind = match event {
        "patch_apply_end" => "fileChange",
        "mcp_tool_call_end" => "mcpToolCall",
        "exec_command_end" => "commandExecution",
        "web_search_end" => "webSearch",
        "view_image_tool_call" => "imageView",
        "image_generation_end" => "imageGeneration",
        _ => return None,
    };
    let id = native.as_object().get_non_empty("call_id")?;
    Some(RolloutToolEnd { id: id.into(), kind: kind.to_owned(), native })
}

/// Applies a tool end. An open call stays open until the model gets its result; a tool that the model did not call ends
/// here.
pub fn apply_tool_end(end: &RolloutToolEnd<'_>, reply: Option<Id>, recorder: &mut RunRecorder) {
    let fields = end.native.as_object();
    let known = recorder.open_item(&end.id).cloned();
    let mut item = items::parse_item(&end.kind, end.native, known.as_ref(), recorder);
    enrich_item(&mut item, known.as_ref(), &fields, recorder);
    if let Some(open) = recorder.item_mut(&end.id) {
        *open = item;
        return recorder.write_notice_about(Some(end.id.clone()), Notice::new(Topic::Echo).with_name("item_completed"));
    }
    item.reply = reply;
    let status = if item.status == Status::Running { Status::Completed } else { item.status };
    recorder.item_completed(&end.id, item.with_status(status));
}

fn enrich_item(item: &mut Item, known: Option<&Item>, fields: &JsonObject<'_>, recorder: &RunRecorder) {
    if item.status == Status::Running {
        item.status = match fields.get("success").and_then(JsonView::as_bool) {
            Some(false) => Status::Failed,
            _ => Status::Completed,
        };
    }
    match (&mut item.details, known.map(|known| &known.details)) {
        // The command as the model requested it is clearer than the one that Codex ran.
        (Details::Command(now), Some(Details::Command(before))) if !before.command.is_empty() => {
            now.command.clone_from(&before.command);
        }
        (Details::FileChange(change), _) => {
            if let Some(by_path) = fields.get("changes").filter(|changes| changes.is_object()) {
                change.changes = items::parse_changes_by_path(&by_path.as_object(), recorder);
            }
            let printed = [fields.get_non_empty("stdout"), fields.get_non_empty("stderr")];
            change.output = Some(printed.into_iter().flatten().collect::<String>()).filter(|text| !text.is_empty());
        }
        (Details::Mcp(mcp), _) => {
            let invocation = fields.get_object("invocation");
            mcp.server = invocation.get_non_empty("server").unwrap_or_else(|| std::mem::take(&mut mcp.server));
            mcp.tool = invocation.get_non_empty("tool").unwrap_or_else(|| std::mem::take(&mut mcp.tool));
            let result = fields.get_object("result");
            mcp.result = result.get_raw("Ok").or(mcp.result.take());
            mcp.error = first_string(&result, &["Err"]).or(mcp.error.take());
            if let Some(call) = item.call.as_mut().filter(|call| call.name.is_empty()) {
                call.name.clone_from(&mcp.tool);
                call.input = call.input.take().or_else(|| invocation.get_raw("arguments"));
            }
            if mcp.error.is_some() {
                (item.status, mcp.result) = (Status::Failed, None);
            }
        }
        _ => {}
    }
}

#[derive(Debug, Default, PartialEq)]
pub struct RolloutToolOutput<'a> {
    /// Printed or returned text.
    pub text: Cow<'a, str>,
    pub exit_code: Option<i32>,
    pub duration_ms: Option<u64>,
    /// How the tool ended, if the result has it.
    pub status: Option<Status>,
}

impl<'a> RolloutToolOutput<'a> {
    /// Parses the `output` field of a `*_output` item.
    pub fn parse(native: &JsonObject<'a>) -> Self {
        let Some(output) = native.get("output") else { return Self::default() };
        if output.is_object() {
            let fields = output.as_object();
            let status = fields.get("success").and_then(JsonView::as_bool).map(status_of_success);
            return Self { status, ..Self::parse_text(messages::message_text(&fields)) };
        }
        if let Some(text) = output.as_str() {
            return Self::parse_text(text);
        }
        let texts = messages::part_texts(&output.as_array());
        if texts.is_empty() { Self::parse_text(output.display_text()) } else { Self::parse_text(texts.concat().into()) }
    }

    fn parse_text(text: Cow<'a, str>) -> Self {
        let read = Self::parse_json(&text).or_else(|| Self::parse_header(&text));
        let mut read = read.unwrap_or_else(|| Self { status: refusal_status(&text), ..Self::default() });
        if read.text.is_empty() && read.exit_code.is_none() && read.duration_ms.is_none() {
            read.text = text;
        }
        read
    }

    /// Parses `{"output":…,"metadata":{"exit_code":…,"duration_seconds":…}}`.
    fn parse_json(text: &str) -> Option<Self> {
        let fields = JsonView::parse(text.trim()).filter(|json| json.is_object())?.as_object();
        let about = fields.get("metadata")?.as_object();
        let exit_code = about.get_i32("exit_code");
        Some(Self {
            text: fields.get_string("output")?.into(),
            exit_code,
            duration_ms: about.get_f64("duration_seconds").and_then(seconds_to_millis),
            status: exit_code.map(|code| status_of_success(code == 0)),
        })
    }

    /// Parses a header of lines such as "Exit code: 0", "Wall time: 0.1 seconds" and "Process exited with code 0",
    /// which ends with "Output:".
    fn parse_header(text: &str) -> Option<Self> {
        let mut read = Self::default();
        let mut rest = text;
        for _ in 0..MAX_HEADER_LINES {
            let (line, after) = rest.split_once('\n').unwrap_or((rest, ""));
            if let Some(code) = strip_any_prefix(line, &["Exit code: ", "Process exited with code "]) {
                read.exit_code = Some(code.trim().parse().ok()?);
            } else if let Some(time) = strip_any_prefix(line, &["Wall time: ", "Wall time "]) {
                read.duration_ms =
                    time.strip_suffix(" seconds").and_then(|time| time.parse().ok()).and_then(seconds_to_millis);
            } else if line == "Output:" {
                read.text = after.to_owned().into();
                read.status = read.exit_code.map(|code| status_of_success(code == 0));
                return Some(read);
            }
            rest = after;
        }
        // Without output, the header is all there is.
        let told = read.exit_code.is_some() || read.duration_ms.is_some();
        let status = read.exit_code.map(|code| status_of_success(code == 0)).or_else(|| refusal_status(text));
        told.then(|| Self { text: text.to_owned().into(), status, ..read })
    }
}

fn strip_any_prefix<'a>(line: &'a str, beginnings: &[&str]) -> Option<&'a str> {
    beginnings.iter().find_map(|beginning| line.strip_prefix(beginning))
}

fn status_of_success(well: bool) -> Status {
    if well { Status::Completed } else { Status::Failed }
}

/// A tool that did not run is recognizable only by these words.
fn refusal_status(text: &str) -> Option<Status> {
    match text.trim_end() {
        text if text.ends_with("aborted by user") || text == "aborted" => Some(Status::Interrupted),
        text if text.ends_with("rejected by user") => Some(Status::Declined),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate, and that is wanted")]
fn seconds_to_millis(seconds: f64) -> Option<u64> {
    (seconds >= 0.0).then(|| (seconds * 1000.0).round() as u64)
}

pub fn parse_patch(patch: &str, recorder: &RunRecorder) -> Vec<Change> {
    let mut found = Vec::new();
    let mut lines = patch.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((kind, path)) = parse_file_header(line) else { continue };
        let mut body = Vec::new();
        while let Some(line) =
            lines.next_if(|line| parse_file_header(line).is_none() && !line.starts_with("*** End Patch"))
        {
            body.push(line);
        }
        found.push(build_change(kind, recorder.absolute_path(path), &body, recorder));
    }
    found
}

fn parse_file_header(line: &str) -> Option<(ChangeKind, &str)> {
    let path = |beginning| line.strip_prefix(beginning).map(str::trim);
    path("*** Add File: ")
        .map(|path| (ChangeKind::Add, path))
        .or_else(|| path("*** Delete File: ").map(|path| (ChangeKind::Delete, path)))
        .or_else(|| path("*** Update File: ").map(|path| (ChangeKind::Modify, path)))
}

fn build_change(kind: ChangeKind, path: String, body: &[&str], recorder: &RunRecorder) -> Change {
    match kind {
        ChangeKind::Add => {
            let lines = body.iter().filter_map(|line| line.strip_prefix('+'));
            diff::change_from_sides(path, None, Some(lines.flat_map(|line| [line, "\n"]).collect()))
        }
        ChangeKind::Modify | ChangeKind::Move => {
            let to = body.iter().find_map(|line| line.strip_prefix("*** Move to: "));
            let to = to.map(|to| recorder.absolute_path(to.trim()));
            let kind = if to.is_some() { ChangeKind::Move } else { ChangeKind::Modify };
            let diff = body.iter().filter(|line| !line.starts_with("*** ")).flat_map(|line| [*line, "\n"]).collect();
            Change { path, kind, to, diff, ..Change::default() }
        }
        ChangeKind::Delete => Change { path, kind, ..Change::default() },
    }
}

#[cfg(test)]
mod tests {

    use switchboard_event::Status;

    use super::RolloutToolOutput;
    use crate::JsonView;

    fn check_output(
        native: &str,
        text: &str,
        exit_code: Option<i32>,
        duration_ms: Option<u64>,
        status: Option<Status>,
    ) {
        let object = JsonView::parse(native).unwrap().as_object();
        let output = RolloutToolOutput::parse(&object);
        assert_eq!((&*output.text, output.exit_code, output.duration_ms), (text, exit_code, duration_ms), "{native}");
        assert_eq!(output.status, status, "{native}");
    }

    #[test]
    fn all_shapes_of_an_answer() {
        let unified = r#"{"output":"Chunk ID: 1e31b1\nWall time: 0.25 seconds\nProcess exited with code 3\nOriginal token count: 2\nOutput:\nhi\nOutput:\n"}"#;
        check_output(unified, "hi\nOutput:\n", Some(3), Some(250), Some(Status::Failed));
        let json = r#"{"output":"{\"output\":\"hi\\n\",\"metadata\":{\"exit_code\":0,\"duration_seconds\":0.5}}"}"#;
        check_output(json, "hi\n", Some(0), Some(500), Some(Status::Completed));
        let parts = r#"{"output":[{"type":"input_text","text":"Script completed\nWall time 0.3 seconds\nOutput:\n"},{"type":"input_text","text":"hi"}]}"#;
        check_output(parts, "hi", None, Some(300), None);
        check_output(
            r#"{"output":{"content":"no such tool","success":false}}"#,
            "no such tool",
            None,
            None,
            Some(Status::Failed),
        );
        check_output(r#"{"output":"Plan updated"}"#, "Plan updated", None, None, None);
        check_output(
            r#"{"output":"patch rejected by user"}"#,
            "patch rejected by user",
            None,
            None,
            Some(Status::Declined),
        );
        let cut = "Wall time: 2.2 seconds\naborted by user";
        check_output(&format!("{{\"output\":{cut:?}}}"), cut, None, Some(2200), Some(Status::Interrupted));
        check_output(r#"{"output":"{\"agent_id\":\"x\"}"}"#, r#"{"agent_id":"x"}"#, None, None, None);
        check_output(r#"{"output":[]}"#, "[]", None, None, None);
        check_output(r#"{"output":null}"#, "", None, None, None);
    }
}
