//! Converts Codex's items to Switchboard's. All formats share this code: each field is looked up under all its names,
//! and fields that a record omits keep their values.

use switchboard_event::{
    AgentMessage, Call, CallKind, Command, Content, ContentType, Details, FileChange, FileOp, Item, Location, Mcp,
    Plan, PlanEntry, PlanStatus, Reasoning, Status, Subagent, Tool, Unknown, UserMessage, WebSearch,
};

use super::{changes, collab, names, user};
use crate::{JsonObject, JsonView, RunRecorder};

/// Parses an item, on top of its known state.
pub fn parse_item(kind: &str, native: JsonView<'_>, known: Option<&Item>, recorder: &RunRecorder) -> Item {
    let fields = native.as_object();
    let mut item = known.cloned().unwrap_or_else(|| Item::new(blank_details(kind, &fields)));
    let Item { details, call, .. } = &mut item;
    match details {
        Details::AgentMessage(message) => update_agent_message(message, &fields),
        Details::Reasoning(reasoning) => update_reasoning(reasoning, &fields),
        Details::Command(command) => update_command(command, &fields, recorder),
        Details::FileChange(change) => {
            if let Some(list) = fields.get("changes").filter(|list| !list.is_object()) {
                change.changes = changes::parse_changes(&list.as_array(), recorder);
            }
        }
        Details::Mcp(mcp) => update_mcp_call(mcp, call, &fields),
        Details::WebSearch(search) => update_web_search(search, call, &fields),
        Details::Plan(plan) => update_plan(plan, &fields),
        Details::Subagent(subagent) if kind == "subAgentActivity" => {
            collab::update_agent_activity(subagent, call, &fields)
        }
        Details::Subagent(subagent) => collab::update_spawned_agent(subagent, call, &fields),
        Details::Tool(tool) if kind.starts_with("collab") => collab::update_collab_call(tool, call, &fields),
        Details::Tool(tool) => update_tool_call(kind, tool, call, native, recorder),
        Details::UserMessage(message) => update_user_message(message, &fields),
        Details::Unknown(unknown) => unknown.raw = Some(native.to_raw()),
    }
    item.status = parse_status(&fields).unwrap_or(item.status);
    if matches!(&item.details, Details::Mcp(mcp) if mcp.error.as_deref().is_some_and(is_mcp_refusal)) {
        item.status = Status::Declined;
    }
    item.duration_ms = parse_duration_ms(&fields).or(item.duration_ms);
    item
}

fn blank_details(kind: &str, fields: &JsonObject<'_>) -> Details {
    match kind {
        "agent_message" | "agentMessage" => AgentMessage::default().into(),
        "reasoning" => Reasoning::default().into(),
        "command_execution" | "commandExecution" => Command::default().into(),
        "file_change" | "fileChange" => FileChange::default().into(),
        "mcp_tool_call" | "mcpToolCall" => Mcp::default().into(),
        "web_search" | "webSearch" => WebSearch::default().into(),
        "todo_list" | "plan" => Plan::default().into(),
        // Messaging an agent, or waiting for it, spawns none.
        "collab_tool_call" | "collabToolCall" | "collabAgentToolCall" if !collab::is_spawn_call(fields) => {
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

/// `success` occurs in older documentation.
fn parse_status(fields: &JsonObject<'_>) -> Option<Status> {
    Some(match fields.get_str("status")?.as_ref() {
        "completed" | "success" => Status::Completed,
        "failed" | "errored" => Status::Failed,
        "declined" => Status::Declined,
        "interrupted" | "cancelled" => Status::Interrupted,
        _ => Status::Running,
    })
}

fn parse_duration_ms(fields: &JsonObject<'_>) -> Option<u64> {
    let span = || fields.get_u64("completedAtMs")?.checked_sub(fields.get_u64("startedAtMs")?).filter(|ms| *ms > 0);
    fields.get_u64("durationMs").or_else(span).or_else(|| duration_object_ms(&fields.get_object("duration")))
}

/// Parses `{secs, nanos}` of a rollout.
fn duration_object_ms(duration: &JsonObject<'_>) -> Option<u64> {
    duration.get_u64("secs")?.checked_mul(1000)?.checked_add(duration.get_count("nanos") / 1_000_000)
}

fn update_agent_message(message: &mut AgentMessage, fields: &JsonObject<'_>) {
    if let Some(text) = names::first_string(fields, &["text", "content"]) {
        message.text = text;
        message.truncated = false;
    }
    message.phase = fields.get_non_empty("phase").or(message.phase.take());
}

/// The text of `exec` is a summary; the app-server has both, in parts.
fn update_reasoning(reasoning: &mut Reasoning, fields: &JsonObject<'_>) {
    let summary = fields.get_string("text").or_else(|| names::join_lines(&fields.get_array("summary")));
    let text = fields.get_string("content").or_else(|| names::join_lines(&fields.get_array("content")));
    reasoning.truncated &= summary.is_none() && text.is_none();
    reasoning.summary = summary.or(reasoning.summary.take());
    reasoning.text = text.or(reasoning.text.take());
}

fn update_command(command: &mut Command, fields: &JsonObject<'_>, recorder: &RunRecorder) {
    if let Some(line) = names::first_field(fields, &["command", "command_line"]) {
        command.command = line.as_str().map_or_else(|| join_argv(line), std::borrow::Cow::into_owned);
    }
    if let Some(output) = names::first_string(fields, &["aggregated_output", "aggregatedOutput"]) {
        command.output = output;
        command.truncated = false;
    }
    let code = names::first_field(fields, &["exit_code", "exitCode"]).and_then(JsonView::as_i64);
    command.exit_code = code.and_then(|code| code.try_into().ok()).or(command.exit_code);
    let cwd = fields.get_str("cwd").map(|cwd| recorder.absolute_path(cwd.strip_prefix("file://").unwrap_or(&cwd)));
    command.cwd = cwd.or(command.cwd.take());
}

/// Joins the words of a command.
pub fn join_argv(words: JsonView<'_>) -> String {
    let words: Vec<_> = words.as_array().into_iter().filter_map(JsonView::as_str).collect();
    words.join(" ")
}

fn update_mcp_call(mcp: &mut Mcp, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let call = call.get_or_insert_default();
    mcp.server = fields.get_non_empty("server").unwrap_or_else(|| std::mem::take(&mut mcp.server));
    if let Some(tool) = names::first_string(fields, &["tool", "tool_name"]) {
        call.name.clone_from(&tool);
        mcp.tool = tool;
    }
    call.input = names::first_field(fields, &["arguments", "tool_input"]).map(JsonView::to_raw).or(call.input.take());
    let result = names::first_field(fields, &["result", "tool_result"]).filter(|result| result.raw_text() != "\"\"");
    mcp.result = result.map(JsonView::to_raw).or(mcp.result.take());
    let error = fields
        .get("error")
        .and_then(|error| error.as_object().get_non_empty("message").or_else(|| fields.get_non_empty("error")));
    mcp.error = error.or(mcp.error.take());
    call.error.clone_from(&mcp.error);
}

/// Codex reports an MCP tool that was not allowed to run as failed; only the message tells.
fn is_mcp_refusal(error: &str) -> bool {
    matches!(error, "user rejected MCP tool call" | "user cancelled MCP tool call")
        || error.starts_with("MCP tool call requires approval")
}

/// Opening a page and finding text in it are steps of a search.
fn update_web_search(search: &mut WebSearch, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let call = call.get_or_insert_default();
    let action = fields.get_object("action");
    let mut queries = action.get_strings("queries");
    if queries.is_empty() {
        queries.extend(
            action
                .get_non_empty("url")
                .or_else(|| fields.get_non_empty("query"))
                .or_else(|| action.get_non_empty("query")),
        );
    }
    if !queries.is_empty() {
        search.queries = queries;
    }
    search.results = fields.get_raw("results").or(search.results.take());
    call.name = "web_search".to_owned();
    call.kind = if action.contains_key("url") { CallKind::Fetch } else { CallKind::Search };
    call.input = fields.get_raw("action").or(call.input.take());
}

/// A `todo_list` has steps; a plan that is proposed for approval has a text.
fn update_plan(plan: &mut Plan, fields: &JsonObject<'_>) {
    plan.text = names::first_string(fields, &["text", "content"]).or(plan.text.take());
    if let Some(items) = fields.get("items") {
        let entry = |todo: JsonObject<'_>| PlanEntry {
            step: names::first_string(&todo, &["text", "step"]).unwrap_or_default(),
            status: if todo.is_true("completed") { PlanStatus::Completed } else { PlanStatus::Pending },
        };
        plan.entries = items.as_array().into_iter().map(|todo| entry(todo.as_object())).collect();
    }
}

fn update_tool_call(
    kind: &str,
    tool: &mut Tool,
    call: &mut Option<Box<Call>>,
    native: JsonView<'_>,
    recorder: &RunRecorder,
) {
    let fields = native.as_object();
    let call = call.get_or_insert_default();
    match kind {
        "dynamicToolCall" => {
            call.name = fields.get_string("tool").unwrap_or_default();
            call.input = fields.get_raw("arguments");
            let texts =
                fields.get_array("contentItems").into_iter().filter_map(|item| item.as_object().get_non_empty("text"));
            tool.output = texts.collect::<Vec<_>>().join("\n");
            tool.result = fields.get_raw("contentItems");
        }
        "imageView" => {
            let path = fields.get_str("path").map(|path| recorder.absolute_path(&path));
            (call.name, call.kind, call.op) = ("view_image".to_owned(), CallKind::Read, Some(FileOp::Read));
            call.locations = path.into_iter().map(|path| Location { path, line: None }).collect();
        }
        "imageGeneration" => {
            call.name = "image_generation".to_owned();
            tool.output = fields.get_string("revisedPrompt").unwrap_or_default();
            call.content = fields.get_non_empty("result").into_iter().map(png_content).collect();
        }
        _ => kind.clone_into(&mut call.name),
    }
}

fn png_content(data: String) -> Content {
    Content {
        kind: ContentType::Image,
        data: Some(data),
        media_type: Some("image/png".to_owned()),
        ..Content::default()
    }
}

fn update_user_message(message: &mut UserMessage, fields: &JsonObject<'_>) {
    let Some(fragments) = fields.get("fragments") else {
        message.content = user::parse_user_message(fields.get("content")).content;
        return;
    };
    let texts = fragments.as_array().into_iter().filter_map(|fragment| fragment.as_object().get_string("text"));
    message.content = texts.map(Content::text).collect();
}
