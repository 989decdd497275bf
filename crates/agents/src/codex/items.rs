//! Codex's items as ours. One reading for all wires: each field is looked for under all its names, and what a record
//! does not say about an item stays as it was.

use switchboard_event::{
    AgentMessage, Call, CallKind, Command, Content, ContentType, Details, FileChange, FileOp, Item, Location, Mcp,
    Plan, PlanEntry, PlanStatus, Reasoning, Status, Subagent, Tool, Unknown, UserMessage, WebSearch,
};

use super::{changes, collab, names, user};
use crate::{Json, Object, Scribe};

/// The item of a record, on top of what is known of it already.
pub fn item(kind: &str, native: Json<'_>, known: Option<&Item>, scribe: &Scribe) -> Item {
    let fields = native.object();
    let mut item = known.cloned().unwrap_or_else(|| Item::new(blank(kind, &fields)));
    let Item { details, call, .. } = &mut item;
    match details {
        Details::AgentMessage(message) => say(message, &fields),
        Details::Reasoning(reasoning) => think(reasoning, &fields),
        Details::Command(command) => run(command, &fields, scribe),
        Details::FileChange(change) => {
            if let Some(list) = fields.get("changes").filter(|list| !list.is_object()) {
                change.changes = changes::list(&list.array(), scribe);
            }
        }
        Details::Mcp(mcp) => call_mcp(mcp, call, &fields),
        Details::WebSearch(search) => search_web(search, call, &fields),
        Details::Plan(plan) => draw_plan(plan, &fields),
        Details::Subagent(subagent) if kind == "subAgentActivity" => collab::activity(subagent, call, &fields),
        Details::Subagent(subagent) => collab::call(subagent, call, &fields),
        Details::Tool(tool) if kind.starts_with("collab") => collab::talk(tool, call, &fields),
        Details::Tool(tool) => use_tool(kind, tool, call, native, scribe),
        Details::UserMessage(message) => hear(message, &fields),
        Details::Unknown(unknown) => unknown.raw = Some(native.to_raw()),
    }
    item.status = status(&fields).unwrap_or(item.status);
    if matches!(&item.details, Details::Mcp(mcp) if mcp.error.as_deref().is_some_and(is_refusal)) {
        item.status = Status::Declined;
    }
    item.duration_ms = duration(&fields).or(item.duration_ms);
    item
}

fn blank(kind: &str, fields: &Object<'_>) -> Details {
    match kind {
        "agent_message" | "agentMessage" => AgentMessage::default().into(),
        "reasoning" => Reasoning::default().into(),
        "command_execution" | "commandExecution" => Command::default().into(),
        "file_change" | "fileChange" => FileChange::default().into(),
        "mcp_tool_call" | "mcpToolCall" => Mcp::default().into(),
        "web_search" | "webSearch" => WebSearch::default().into(),
        "todo_list" | "plan" => Plan::default().into(),
        // Talking to an agent, or waiting for it, makes none.
        "collab_tool_call" | "collabToolCall" | "collabAgentToolCall" if !collab::is_spawn(fields) => {
            Tool::default().into()
        }
        "collab_tool_call" | "collabToolCall" | "collabAgentToolCall" | "subAgentActivity" => {
            Subagent::default().into()
        }
        "dynamicToolCall" | "imageView" | "imageGeneration" | "sleep" => Tool::default().into(),
        "userMessage" => UserMessage::default().into(),
        "hookPrompt" => UserMessage { synthetic: true, ..UserMessage::default() }.into(),
        other => Unknown { name: other.to_owned(), raw: None }.into(),
    }
}

/// `success` is a word of older descriptions.
fn status(fields: &Object<'_>) -> Option<Status> {
    Some(match fields.str("status")?.as_ref() {
        "completed" | "success" => Status::Completed,
        "failed" | "errored" => Status::Failed,
        "declined" => Status::Declined,
        "interrupted" | "cancelled" => Status::Interrupted,
        _ => Status::Running,
    })
}

fn duration(fields: &Object<'_>) -> Option<u64> {
    let span = || fields.u64("completedAtMs")?.checked_sub(fields.u64("startedAtMs")?).filter(|ms| *ms > 0);
    fields.u64("durationMs").or_else(span).or_else(|| took(&fields.object("duration")))
}

/// `{secs, nanos}` of a rollout.
fn took(duration: &Object<'_>) -> Option<u64> {
    duration.u64("secs")?.checked_mul(1000)?.checked_add(duration.count("nanos") / 1_000_000)
}

fn say(message: &mut AgentMessage, fields: &Object<'_>) {
    if let Some(text) = names::string(fields, &["text", "content"]) {
        message.text = text;
        message.truncated = false;
    }
    message.phase = fields.filled("phase").or(message.phase.take());
}

/// The text of `exec` is a summary; the app-server has both, in parts.
fn think(reasoning: &mut Reasoning, fields: &Object<'_>) {
    let summary = fields.string("text").or_else(|| names::lines(&fields.array("summary")));
    let text = fields.string("content").or_else(|| names::lines(&fields.array("content")));
    reasoning.truncated &= summary.is_none() && text.is_none();
    reasoning.summary = summary.or(reasoning.summary.take());
    reasoning.text = text.or(reasoning.text.take());
}

fn run(command: &mut Command, fields: &Object<'_>, scribe: &Scribe) {
    if let Some(line) = names::get(fields, &["command", "command_line"]) {
        command.command = line.str().map_or_else(|| argv(line), std::borrow::Cow::into_owned);
    }
    if let Some(output) = names::string(fields, &["aggregated_output", "aggregatedOutput"]) {
        command.output = output;
        command.truncated = false;
    }
    let code = names::get(fields, &["exit_code", "exitCode"]).and_then(Json::i64);
    command.exit_code = code.and_then(|code| code.try_into().ok()).or(command.exit_code);
    let cwd = fields.str("cwd").map(|cwd| scribe.absolute(cwd.strip_prefix("file://").unwrap_or(&cwd)));
    command.cwd = cwd.or(command.cwd.take());
}

/// A command as a list of words.
pub fn argv(words: Json<'_>) -> String {
    let words: Vec<_> = words.array().into_iter().filter_map(Json::str).collect();
    words.join(" ")
}

fn call_mcp(mcp: &mut Mcp, call: &mut Option<Box<Call>>, fields: &Object<'_>) {
    let call = call.get_or_insert_default();
    mcp.server = fields.filled("server").unwrap_or_else(|| std::mem::take(&mut mcp.server));
    if let Some(tool) = names::string(fields, &["tool", "tool_name"]) {
        call.name.clone_from(&tool);
        mcp.tool = tool;
    }
    call.input = names::get(fields, &["arguments", "tool_input"]).map(Json::to_raw).or(call.input.take());
    let result = names::get(fields, &["result", "tool_result"]).filter(|result| result.text() != "\"\"");
    mcp.result = result.map(Json::to_raw).or(mcp.result.take());
    let error =
        fields.get("error").and_then(|error| error.object().filled("message").or_else(|| fields.filled("error")));
    mcp.error = error.or(mcp.error.take());
    call.error.clone_from(&mcp.error);
}

/// A tool of an MCP server that was not allowed to run is only said to have failed; the words tell.
fn is_refusal(error: &str) -> bool {
    matches!(error, "user rejected MCP tool call" | "user cancelled MCP tool call")
        || error.starts_with("MCP tool call requires approval")
}

/// Opening a page and finding something in it are steps of a search.
fn search_web(search: &mut WebSearch, call: &mut Option<Box<Call>>, fields: &Object<'_>) {
    let call = call.get_or_insert_default();
    let action = fields.object("action");
    let mut queries = action.strings("queries");
    if queries.is_empty() {
        queries.extend(action.filled("url").or_else(|| fields.filled("query")).or_else(|| action.filled("query")));
    }
    if !queries.is_empty() {
        search.queries = queries;
    }
    search.results = fields.raw("results").or(search.results.take());
    call.name = "web_search".to_owned();
    call.kind = if action.has("url") { CallKind::Fetch } else { CallKind::Search };
    call.input = fields.raw("action").or(call.input.take());
}

/// A `todo_list` has steps, a plan that is proposed for approval has a text.
fn draw_plan(plan: &mut Plan, fields: &Object<'_>) {
    plan.text = names::string(fields, &["text", "content"]).or(plan.text.take());
    if let Some(items) = fields.get("items") {
        let entry = |todo: Object<'_>| PlanEntry {
            step: names::string(&todo, &["text", "step"]).unwrap_or_default(),
            status: if todo.is_true("completed") { PlanStatus::Completed } else { PlanStatus::Pending },
        };
        plan.entries = items.array().into_iter().map(|todo| entry(todo.object())).collect();
    }
}

fn use_tool(kind: &str, tool: &mut Tool, call: &mut Option<Box<Call>>, native: Json<'_>, scribe: &Scribe) {
    let fields = native.object();
    let call = call.get_or_insert_default();
    match kind {
        "dynamicToolCall" => {
            call.name = fields.string("tool").unwrap_or_default();
            call.input = fields.raw("arguments");
            let texts = fields.array("contentItems").into_iter().filter_map(|item| item.object().filled("text"));
            tool.output = texts.collect::<Vec<_>>().join("\n");
            tool.result = fields.raw("contentItems");
        }
        "imageView" => {
            let path = fields.str("path").map(|path| scribe.absolute(&path));
            (call.name, call.kind, call.op) = ("view_image".to_owned(), CallKind::Read, Some(FileOp::Read));
            call.locations = path.into_iter().map(|path| Location { path, line: None }).collect();
        }
        "imageGeneration" => {
            call.name = "image_generation".to_owned();
            tool.output = fields.string("revisedPrompt").unwrap_or_default();
            call.content = fields.filled("result").into_iter().map(picture).collect();
        }
        _ => kind.clone_into(&mut call.name),
    }
}

fn picture(data: String) -> Content {
    Content {
        kind: ContentType::Image,
        data: Some(data),
        media_type: Some("image/png".to_owned()),
        ..Content::default()
    }
}

fn hear(message: &mut UserMessage, fields: &Object<'_>) {
    let Some(fragments) = fields.get("fragments") else {
        message.content = user::message(fields.get("content")).content;
        return;
    };
    let texts = fragments.array().into_iter().filter_map(|fragment| fragment.object().string("text"));
    message.content = texts.map(Content::text).collect();
}
