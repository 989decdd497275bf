//! Tools that the model calls, as items; and what they gave back.

use switchboard_event::{
    Call, CallKind, Command, Details, FileChange, FileOp, Id, Item, Mcp, Notice, Status, Subagent, Tool, Topic,
};

use super::{
    super::{functions, items, names},
    output::Output,
    patch,
};
use crate::{Json, Object, Scribe};

/// `function_call`, `custom_tool_call`, `local_shell_call`, `tool_search_call`: the id that its answer names, and the item.
pub fn called(kind: &str, native: &Object<'_>, scribe: &Scribe) -> Option<(Id, Item)> {
    let id = Id::from(names::text(native, &["call_id", "id"])?);
    let item = match kind {
        "local_shell_call" => local_shell(&native.object("action")),
        "tool_search_call" => {
            let call = Call { name: "tool_search".to_owned(), kind: CallKind::Search, ..Call::default() };
            Item::new(Tool::default()).with_call(Call { input: native.raw("arguments"), ..call })
        }
        _ => function(native, scribe),
    };
    Some((id, item))
}

fn local_shell(action: &Object<'_>) -> Item {
    let command = Command {
        command: action.get("command").map(items::argv).unwrap_or_default(),
        cwd: action.filled("working_directory"),
        ..Command::default()
    };
    Item::new(command).with_call(Call { name: "local_shell".to_owned(), kind: CallKind::Execute, ..Call::default() })
}

fn function(native: &Object<'_>, scribe: &Scribe) -> Item {
    let mut item = functions::item(native);
    let Some(call) = &mut item.call else { return item };
    call.locations.iter_mut().for_each(|location| location.path = scribe.absolute(&location.path));
    let written = names::string(native, &["arguments", "input"]).unwrap_or_default();
    let args = Json::parse(&written).map(Json::object).unwrap_or_default();
    let server = native.filled("namespace").and_then(|name| name.strip_prefix("mcp__").map(str::to_owned));
    match (call.name.as_str(), server) {
        (_, Some(server)) => item.details = Mcp { server, tool: call.name.clone(), ..Mcp::default() }.into(),
        ("apply_patch", _) => {
            let text = names::string(&args, &["input", "patch"]).unwrap_or(written);
            item.details = FileChange { changes: patch::changes(&text, scribe), output: None }.into();
        }
        ("spawn_agent", _) => item.details = spawned(&args).into(),
        ("view_image", _) => {
            (call.kind, call.op) = (CallKind::Read, Some(FileOp::Read));
        }
        (name, None) => {
            // Before functions had namespaces, the server was in the name.
            let full = name.strip_prefix("mcp__").and_then(|name| name.split_once("__"));
            if let Some((server, tool)) = full.map(|(server, tool)| (server.to_owned(), tool.to_owned())) {
                item.details = Mcp { server, tool, ..Mcp::default() }.into();
            }
        }
    }
    item
}

fn spawned(args: &Object<'_>) -> Subagent {
    let prompt = names::string(args, &["message", "prompt"]);
    let label = prompt.as_deref().and_then(|prompt| prompt.lines().next());
    Subagent {
        name: args.filled("agent_type").unwrap_or_else(|| "agent".to_owned()),
        label: label.unwrap_or_default().chars().take(80).collect(),
        prompt,
        background: true,
        ..Subagent::default()
    }
}

/// `*_output`: ends the call that it names. What an event said of it before, it keeps.
pub fn answered(kind: &str, native: &Object<'_>, scribe: &mut Scribe) {
    let Some(id) = native.filled("call_id") else {
        return scribe.notice(Notice::new(Topic::Control).with_name(kind));
    };
    let Some(mut item) = scribe.item(&id).cloned() else {
        return scribe.notice_about(Some(Id::from(id)), Notice::new(Topic::Late).with_name(kind));
    };
    let output = Output::of(native);
    let told = Some(item.status).filter(|status| *status != Status::Running);
    item.status = told.or(output.status).or_else(|| own_status(native)).unwrap_or(Status::Completed);
    item.duration_ms = item.duration_ms.or(output.duration_ms);
    fill(&mut item, &output, native);
    scribe.item_completed(&Id::from(id), item);
}

/// The status that an answer has itself; those of today have none.
fn own_status(native: &Object<'_>) -> Option<Status> {
    match &*native.str("status")? {
        "completed" => Some(Status::Completed),
        "incomplete" => Some(Status::Interrupted),
        "failed" | "error" => Some(Status::Failed),
        _ => None,
    }
}

fn fill(item: &mut Item, output: &Output<'_>, native: &Object<'_>) {
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
            let answer = Json::parse(&output.text).map(Json::object).unwrap_or_default();
            subagent.thread = subagent.thread.take().or(answer.filled("agent_id").map(Id::from));
            subagent.result = subagent.result.take().or_else(|| Some(output.text.clone().into_owned()));
        }
        Details::Mcp(mcp) if mcp.result.is_none() && mcp.error.is_none() => {
            if failed {
                mcp.error = Some(output.text.clone().into_owned());
            } else {
                mcp.result = native.raw("output");
            }
        }
        Details::Tool(tool) => {
            tool.output = output.text.clone().into_owned();
            tool.result = native.raw("output").filter(|raw| raw.get().starts_with(['{', '[']));
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
