//! Converts items of the event model to thread items.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{
    Call, Change, ChangeKind, Command, Content, ContentType, Details, Event, Id, Item, Plan, PlanStatus, Status,
    to_raw_json, to_raw_string,
};

use super::wire::{
    ChangeMeta, FileChangeKind, FileUpdateChange, ItemBody, ItemMeta, ItemStatus, McpStatus, PlanEntry, StepStatus,
    SubagentRole, ThreadItem, UserInput,
};

/// Converts the item of an event. A command without a directory runs in the session's directory.
pub fn thread_item(event: &Event, item: &Item, cwd: &str) -> ThreadItem {
    let told = event.thread.as_ref().and_then(|_| subagent_message(&item.details));
    let body = told.unwrap_or_else(|| item_body(item, cwd));
    let meta = item_meta(event, item, &body);
    ThreadItem { id: event.item.clone().unwrap_or_default(), body, meta }
}

/// Returns the message of a subagent. Its commands and file changes are converted like any other.
fn subagent_message(details: &Details) -> Option<ItemBody> {
    let (role, text) = match details {
        Details::UserMessage(message) => (SubagentRole::User, message.joined_text()),
        Details::AgentMessage(message) => (SubagentRole::Agent, message.text.clone()),
        Details::Reasoning(thoughts) => {
            let text = thoughts.text.clone().or_else(|| thoughts.summary.clone());
            (SubagentRole::Reasoning, text.unwrap_or_default())
        }
        _ => return None,
    };
    Some(ItemBody::SubagentMessage { role, text })
}

fn item_body(item: &Item, cwd: &str) -> ItemBody {
    let status = item_status(item.status);
    match &item.details {
        Details::UserMessage(message) => {
            ItemBody::UserMessage { content: message.content.iter().map(user_input).collect() }
        }
        Details::AgentMessage(message) => ItemBody::AgentMessage { text: message.text.clone() },
        Details::Reasoning(thoughts) => {
            ItemBody::Reasoning { summary: thoughts.summary.clone(), content: thoughts.text.clone() }
        }
        Details::Command(command) => command_execution(item, command, cwd),
        Details::FileChange(change) => ItemBody::FileChange { changes: file_changes(&change.changes), status },
        Details::Mcp(mcp) => ItemBody::McpToolCall {
            server: mcp.server.clone(),
            tool: mcp.tool.clone(),
            arguments: call_arguments(item.call.as_deref()),
            status: mcp_status(item.status),
            result: mcp.result.clone(),
            error: mcp.error.clone().or_else(|| item_error(item)),
        },
        Details::WebSearch(search) => ItemBody::WebSearch { query: search.queries.join(", ") },
        Details::Plan(plan) => ItemBody::Plan { text: plan_text(plan), entries: plan_entries(plan) },
        Details::Subagent(subagent) => ItemBody::Subagent {
            name: subagent.name.clone(),
            label: subagent.label.clone(),
            prompt: subagent.prompt.clone(),
            thread: subagent.thread.clone(),
            status,
            result: subagent.result.clone(),
            error: item_error(item),
        },
        Details::Tool(tool) => {
            let output = || Some(to_raw_string(&tool.output)).filter(|_| !tool.output.is_empty());
            tool_call(item, "tool", tool.result.clone().or_else(output))
        }
        Details::Unknown(unknown) => tool_call(item, &unknown.name, unknown.raw.clone()),
    }
}

fn command_execution(item: &Item, command: &Command, cwd: &str) -> ItemBody {
    let ended = item.status != Status::Running;
    ItemBody::CommandExecution {
        command: command.command.clone(),
        cwd: command.cwd.as_deref().unwrap_or(cwd).to_owned(),
        status: item_status(item.status),
        exit_code: command.exit_code,
        aggregated_output: (ended || !command.output.is_empty()).then(|| command.output.clone()),
        duration_ms: item.duration_ms,
    }
}

fn tool_call(item: &Item, name: &str, result: Option<Box<RawValue>>) -> ItemBody {
    let call = item.call.as_deref();
    let named = call.map(|call| call.name.as_str()).filter(|name| !name.is_empty());
    ItemBody::ToolCall {
        name: named.unwrap_or(name).to_owned(),
        title: call.and_then(|call| call.title.clone()),
        arguments: Some(call_arguments(call).unwrap_or_else(|| to_raw_json(&EmptyArguments {}))),
        status: item_status(item.status),
        result,
        error: item_error(item),
    }
}

#[derive(Serialize)]
struct EmptyArguments {}

/// Returns the arguments of a tool; always an object.
fn call_arguments(call: Option<&Call>) -> Option<Box<RawValue>> {
    #[derive(Serialize)]
    struct WrappedArguments<'a> {
        input: &'a RawValue,
    }
    let input = call?.input.as_deref()?;
    Some(if input.get().starts_with('{') { input.to_owned() } else { to_raw_json(&WrappedArguments { input }) })
}

fn item_error(item: &Item) -> Option<String> {
    let said = item.call.as_ref().and_then(|call| call.error.clone());
    said.or_else(|| (item.status == Status::Declined).then(|| "declined".to_owned()))
}

fn item_status(status: Status) -> ItemStatus {
    match status {
        Status::Running => ItemStatus::InProgress,
        Status::Completed => ItemStatus::Completed,
        Status::Declined => ItemStatus::Declined,
        Status::Failed | Status::Interrupted | Status::Superseded => ItemStatus::Failed,
    }
}

fn mcp_status(status: Status) -> McpStatus {
    match status {
        Status::Running => McpStatus::InProgress,
        Status::Completed => McpStatus::Completed,
        Status::Declined | Status::Failed | Status::Interrupted | Status::Superseded => McpStatus::Failed,
    }
}

/// Converts a piece of user content. Embedded images become `data:` URLs; anything other than text and images becomes
/// text.
fn user_input(content: &Content) -> UserInput {
    let text = content.text.as_deref();
    match (content.kind, &content.data, &content.url) {
        (ContentType::Image, Some(data), _) => {
            let media = content.media_type.as_deref().unwrap_or("image/png");
            UserInput::Image { url: format!("data:{media};base64,{data}") }
        }
        (ContentType::Image, None, Some(url)) => image_input(url),
        (_, _, Some(url)) => UserInput::Text { text: text.unwrap_or(url).to_owned() },
        _ => UserInput::Text { text: text.unwrap_or_default().to_owned() },
    }
}

fn image_input(url: &str) -> UserInput {
    match url.strip_prefix("file://") {
        Some(path) => UserInput::LocalImage { path: path.to_owned() },
        None if url.contains("://") || url.starts_with("data:") => UserInput::Image { url: url.to_owned() },
        None => UserInput::LocalImage { path: url.to_owned() },
    }
}

/// Converts file changes. A move becomes a deletion and an addition.
pub fn file_changes(changes: &[Change]) -> Vec<FileUpdateChange> {
    changes.iter().flat_map(file_change).collect()
}

fn file_change(change: &Change) -> Vec<FileUpdateChange> {
    let one = |path: &str, kind, diff: &str| FileUpdateChange {
        path: path.to_owned(),
        kind,
        diff: diff.to_owned(),
        meta: None,
    };
    match (change.kind, &change.to) {
        (ChangeKind::Add, _) => vec![one(&change.path, FileChangeKind::Add, &change.diff)],
        (ChangeKind::Delete, _) => vec![one(&change.path, FileChangeKind::Delete, &change.diff)],
        (ChangeKind::Move, Some(to)) => {
            let mut added = one(to, FileChangeKind::Add, &change.diff);
            added.meta = Some(ChangeMeta { moved_from: change.path.clone() });
            vec![one(&change.path, FileChangeKind::Delete, ""), added]
        }
        (ChangeKind::Modify | ChangeKind::Move, _) => vec![one(&change.path, FileChangeKind::Modify, &change.diff)],
    }
}

/// Returns the steps of a plan.
pub fn plan_entries(plan: &Plan) -> Vec<PlanEntry> {
    let entry = |entry: &switchboard_event::PlanEntry| PlanEntry {
        step: entry.step.clone(),
        status: match entry.status {
            PlanStatus::Pending => StepStatus::Pending,
            PlanStatus::InProgress => StepStatus::InProgress,
            PlanStatus::Completed => StepStatus::Completed,
            PlanStatus::Failed => StepStatus::Failed,
        },
    };
    plan.entries.iter().map(entry).collect()
}

/// Returns the plan's text, or its steps as a list.
fn plan_text(plan: &Plan) -> String {
    let list = || plan.entries.iter().map(|entry| format!("- {}", entry.step)).collect::<Vec<_>>().join("\n");
    plan.text.clone().unwrap_or_else(list)
}

/// Returns the metadata that the item itself cannot express.
fn item_meta(event: &Event, item: &Item, body: &ItemBody) -> Option<Box<ItemMeta>> {
    let mut meta = ItemMeta {
        thread: event.thread.clone(),
        parent_item_id: event.parent.clone(),
        reply: item.reply.clone(),
        status: unexpressed_status(item.status, body),
        ..ItemMeta::default()
    };
    if !matches!(body, ItemBody::CommandExecution { .. }) {
        meta.duration_ms = item.duration_ms;
    }
    if let Some(call) = &item.call {
        add_call_meta(call, body, &mut meta);
    }
    add_details_meta(&item.details, &mut meta);
    (to_raw_json(&meta).get() != "{}").then(|| Box::new(meta))
}

/// Returns the status if the item body cannot express it.
fn unexpressed_status(status: Status, body: &ItemBody) -> Option<Status> {
    let told = match body {
        ItemBody::McpToolCall { .. } => matches!(status, Status::Running | Status::Completed | Status::Failed),
        ItemBody::CommandExecution { .. }
        | ItemBody::FileChange { .. }
        | ItemBody::ToolCall { .. }
        | ItemBody::Subagent { .. } => !matches!(status, Status::Interrupted | Status::Superseded),
        _ => matches!(status, Status::Running | Status::Completed),
    };
    (!told).then_some(status)
}

fn add_call_meta(call: &Call, body: &ItemBody, meta: &mut ItemMeta) {
    let is_tool_call = matches!(body, ItemBody::ToolCall { .. });
    let has_error = matches!(body, ItemBody::McpToolCall { .. } | ItemBody::Subagent { .. }) || is_tool_call;
    meta.tool = Some(call.name.clone()).filter(|name| !is_tool_call && !name.is_empty());
    meta.title = call.title.clone().filter(|_| !is_tool_call);
    meta.error = call.error.clone().filter(|_| !has_error);
    meta.kind = Some(call.kind);
    (meta.op, meta.team) = (call.op, call.team);
    (meta.locations, meta.content) = (call.locations.clone(), call.content.clone());
}

fn add_details_meta(details: &Details, meta: &mut ItemMeta) {
    match details {
        Details::UserMessage(message) => (meta.synthetic, meta.queued) = (message.synthetic, message.queued),
        Details::AgentMessage(message) => {
            (meta.refusal, meta.truncated) = (message.refusal, message.truncated);
            meta.phase.clone_from(&message.phase);
            meta.content.extend(message.content.iter().cloned());
        }
        Details::Reasoning(thoughts) => (meta.redacted, meta.truncated) = (thoughts.redacted, thoughts.truncated),
        Details::Command(command) => (meta.truncated, meta.background) = (command.truncated, command.background),
        Details::FileChange(change) => meta.output.clone_from(&change.output),
        Details::WebSearch(search) => {
            meta.results.clone_from(&search.results);
            if search.queries.len() > 1 {
                meta.queries.clone_from(&search.queries);
            }
        }
        Details::Subagent(subagent) => meta.background = subagent.background,
        Details::Mcp(_) | Details::Plan(_) | Details::Tool(_) | Details::Unknown(_) => {}
    }
}

/// Returns the item of a request; the request itself if the agent names none.
pub fn request_item_id<'a>(event: &'a Event, request: &'a Id) -> &'a Id {
    event.item.as_ref().unwrap_or(request)
}
