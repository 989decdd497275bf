//! Converts Codex's items, file changes and user messages to Switchboard's. All formats share this code: each field is
//! looked up under all its names, and fields that a record omits keep their values.

use switchboard_event::{
    AgentMessage, Call, CallKind, Change, ChangeKind, Command, Content, ContentType, Details, FileChange, FileOp, Item,
    Location, Mcp, Plan, PlanEntry, PlanStatus, Reasoning, Status, Subagent, Tool, Unknown, UserMessage, WebSearch,
};

use super::{first_field, first_str, first_string, join_lines, tool_calls};
use crate::{JsonObject, JsonView, RunRecorder, diff};

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
                change.changes = parse_changes(&list.as_array(), recorder);
            }
        }
        Details::Mcp(mcp) => update_mcp_call(mcp, call, &fields),
        Details::WebSearch(search) => update_web_search(search, call, &fields),
        Details::Plan(plan) => update_plan(plan, &fields),
        Details::Subagent(subagent) if kind == "subAgentActivity" => {
            tool_calls::update_agent_activity(subagent, call, &fields)
        }
        Details::Subagent(subagent) => tool_calls::update_spawned_agent(subagent, call, &fields),
        Details::Tool(tool) if kind.starts_with("collab") => tool_calls::update_collab_call(tool, call, &fields),
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
        "collab_tool_call" | "collabToolCall" | "collabAgentToolCall" if !tool_calls::is_spawn_call(fields) => {
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
    if let Some(text) = first_string(fields, &["text", "content"]) {
        message.text = text;
        message.truncated = false;
    }
    message.phase = fields.get_non_empty("phase").or(message.phase.take());
}

/// The text of `exec` is a summary; the app-server has both, in parts.
fn update_reasoning(reasoning: &mut Reasoning, fields: &JsonObject<'_>) {
    let summary = fields.get_string("text").or_else(|| join_lines(&fields.get_array("summary")));
    let text = fields.get_string("content").or_else(|| join_lines(&fields.get_array("content")));
    reasoning.truncated &= summary.is_none() && text.is_none();
    reasoning.summary = summary.or(reasoning.summary.take());
    reasoning.text = text.or(reasoning.text.take());
}

fn update_command(command: &mut Command, fields: &JsonObject<'_>, recorder: &RunRecorder) {
    if let Some(line) = first_field(fields, &["command", "command_line"]) {
        command.command = line.as_str().map_or_else(|| join_argv(line), std::borrow::Cow::into_owned);
    }
    if let Some(output) = first_string(fields, &["aggregated_output", "aggregatedOutput"]) {
        command.output = output;
        command.truncated = false;
    }
    let code = first_field(fields, &["exit_code", "exitCode"]).and_then(JsonView::as_i64);
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
    if let Some(tool) = first_string(fields, &["tool", "tool_name"]) {
        call.name.clone_from(&tool);
        mcp.tool = tool;
    }
    call.input = first_field(fields, &["arguments", "tool_input"]).map(JsonView::to_raw).or(call.input.take());
    let result = first_field(fields, &["result", "tool_result"]).filter(|result| result.raw_text() != "\"\"");
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
    plan.text = first_string(fields, &["text", "content"]).or(plan.text.take());
    if let Some(items) = fields.get("items") {
        let entry = |todo: JsonObject<'_>| PlanEntry {
            step: first_string(&todo, &["text", "step"]).unwrap_or_default(),
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
        message.content = parse_user_message(fields.get("content")).content;
        return;
    };
    let texts = fragments.as_array().into_iter().filter_map(|fragment| fragment.as_object().get_string("text"));
    message.content = texts.map(Content::text).collect();
}

/// Parses all changes of an item or of a request.
pub fn parse_changes(changes: &[JsonView<'_>], recorder: &RunRecorder) -> Vec<Change> {
    changes.iter().filter_map(|change| parse_change(&change.as_object(), recorder)).collect()
}

/// Parses `{path, kind}` of `exec`, `{path, kind: {type, move_path}, diff}` of the app-server, or
/// `{path, before, after}` of older documentation.
fn parse_change(change: &JsonObject<'_>, recorder: &RunRecorder) -> Option<Change> {
    let path = recorder.absolute_path(&change.get_non_empty("path")?);
    if change.contains_key("before") || change.contains_key("after") {
        return Some(diff::change_from_sides(path, change.get_string("before"), change.get_string("after")));
    }
    let nested = change.get_object("kind");
    let kind = change.get_str("kind").or_else(|| nested.get_str("type"));
    let diff = change.get_str("diff");
    let to = first_str(&nested, &["move_path", "movePath"]).map(|to| recorder.absolute_path(&to));
    Some(build_change(path, kind.as_deref(), diff.as_deref(), to))
}

/// Parses changes keyed by path, as in requests of the first protocol: `{path: {type, content | unified_diff}}`.
pub fn parse_changes_by_path(changes: &JsonObject<'_>, recorder: &RunRecorder) -> Vec<Change> {
    let one = |(path, change): (&str, JsonView<'_>)| {
        let change = change.as_object();
        let text = first_str(&change, &["content", "unified_diff"]);
        let to = change.get_str("move_path").map(|to| recorder.absolute_path(&to));
        build_change(recorder.absolute_path(path), change.get_str("type").as_deref(), text.as_deref(), to)
    };
    changes.iter().map(one).collect()
}

/// For a new or a deleted file, the field for the diff holds the content of the file.
fn build_change(path: String, kind: Option<&str>, text: Option<&str>, to: Option<String>) -> Change {
    match (kind, text) {
        (Some("add"), Some(content)) => diff::change_from_sides(path, None, Some(content.to_owned())),
        (Some("delete"), Some(content)) => diff::change_from_sides(path, Some(content.to_owned()), None),
        (Some("add"), None) => Change { path, kind: ChangeKind::Add, ..Change::default() },
        (Some("delete"), None) => Change { path, kind: ChangeKind::Delete, ..Change::default() },
        (_, text) => {
            let kind = if to.is_some() { ChangeKind::Move } else { ChangeKind::Modify };
            Change {
                path,
                kind,
                diff: strip_move_note(text.unwrap_or_default(), to.is_some()),
                to,
                ..Change::default()
            }
        }
    }
}

/// The diff of a moved file ends with a line for people that is not part of the diff (0.166).
fn strip_move_note(text: &str, moved: bool) -> String {
    let cut = text.rsplit_once("\n\nMoved to: ").filter(|_| moved);
    cut.map_or(text, |(diff, _)| diff).to_owned()
}

/// Parses `[{type: text | image | localImage | audio | localAudio | skill | mention, …}]`, or the plain text of older
/// protocols.
pub fn parse_user_message(input: Option<JsonView<'_>>) -> UserMessage {
    let Some(input) = input else { return UserMessage::default() };
    if let Some(text) = input.as_str() {
        return UserMessage::text(text);
    }
    UserMessage { content: input.as_array().into_iter().map(parse_content).collect(), ..UserMessage::default() }
}

fn parse_content(native: JsonView<'_>) -> Content {
    let fields = native.as_object();
    let kind = match fields.get_str("type").as_deref() {
        Some("text" | "input_text" | "output_text") => {
            return Content::text(fields.get_str("text").unwrap_or_default());
        }
        Some("image" | "localImage" | "input_image") => ContentType::Image,
        Some("audio" | "localAudio" | "skill" | "mention") => ContentType::File,
        _ => {
            return Content {
                kind: ContentType::Other,
                text: Some(native.raw_text().to_owned()),
                ..Content::default()
            };
        }
    };
    Content { kind, text: fields.get_non_empty("name"), url: content_url(&fields), ..Content::default() }
}

fn content_url(fields: &JsonObject<'_>) -> Option<String> {
    first_string(fields, &["url", "path", "image_url", "fileId"])
}

#[cfg(test)]
mod tests {

    use switchboard_event::ChangeKind;

    use super::build_change;

    #[test]
    fn a_new_file_gets_a_real_diff() {
        let change = build_change("/f".into(), Some("add"), Some("x\ny\n"), None);
        assert_eq!((change.kind, change.diff.as_str()), (ChangeKind::Add, "@@ -0,0 +1,2 @@\n+x\n+y\n"));
        assert_eq!(change.after.as_deref(), Some("x\ny\n"));
    }

    #[test]
    fn a_deleted_file_gets_a_real_diff() {
        let change = build_change("/f".into(), Some("delete"), Some("x\n"), None);
        assert_eq!((change.kind, change.diff.as_str()), (ChangeKind::Delete, "@@ -1 +0,0 @@\n-x\n"));
    }

    #[test]
    fn a_moved_file_has_a_target_and_a_clean_diff() {
        let diff = "@@ -1 +1 @@\n-a\n+b\n\n\nMoved to: /g";
        let change = build_change("/f".into(), Some("update"), Some(diff), Some("/g".into()));
        assert_eq!((change.kind, change.to.as_deref()), (ChangeKind::Move, Some("/g")));
        assert_eq!(change.diff, "@@ -1 +1 @@\n-a\n+b\n");
    }
}
