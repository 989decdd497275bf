//! Tool calls of the model as items, and their results.

use switchboard_event::{
    Call, CallKind, Command, Details, FileChange, FileOp, Id, Item, Mcp, Notice, Status, Subagent, Tool, Topic,
};

use super::{output::RolloutToolOutput, patch};
use crate::{
    JsonObject, JsonView, RunRecorder,
    codex::{functions, items, names},
};

/// Parses `function_call`, `custom_tool_call`, `local_shell_call` or `tool_search_call`: the id that its output refers
/// to, and the item.
pub fn parse_call(kind: &str, native: &JsonObject<'_>, recorder: &RunRecorder) -> Option<(Id, Item)> {
    let id = Id::from(names::first_str(native, &["call_id", "id"])?);
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
    let mut item = functions::parse_function_call(native);
    let Some(call) = &mut item.call else { return item };
    call.locations.iter_mut().for_each(|location| location.path = recorder.absolute_path(&location.path));
    let written = names::first_string(native, &["arguments", "input"]).unwrap_or_default();
    let args = JsonView::parse(&written).map(JsonView::as_object).unwrap_or_default();
    let server = native.get_non_empty("namespace").and_then(|name| name.strip_prefix("mcp__").map(str::to_owned));
    match (call.name.as_str(), server) {
        (_, Some(server)) => item.details = Mcp { server, tool: call.name.clone(), ..Mcp::default() }.into(),
        ("apply_patch", _) => {
            let text = names::first_string(&args, &["input", "patch"]).unwrap_or(written);
            item.details = FileChange { changes: patch::parse_patch(&text, recorder), output: None }.into();
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
    let prompt = names::first_string(args, &["message", "prompt"]);
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
