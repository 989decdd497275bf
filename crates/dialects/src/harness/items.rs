//! Items of the event model as items of this protocol.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{
    Call, Change, ChangeKind, Command, Content, ContentType, Details, Event, Id, Item, Plan, PlanStatus, Status, raw,
    raw_string,
};

use super::wire::{
    ChangeMeta, FileChangeKind, FileUpdateChange, ItemBody, ItemMeta, ItemStatus, McpStatus, PlanEntry, StepStatus,
    SubagentRole, ThreadItem, UserInput,
};

/// The item of an event. A command that does not say where it runs, runs where the session works.
pub fn item(event: &Event, item: &Item, cwd: &str) -> ThreadItem {
    let told = event.thread.as_ref().and_then(|_| of_subagent(&item.details));
    let body = told.unwrap_or_else(|| body(item, cwd));
    let meta = meta(event, item, &body);
    ThreadItem { id: event.item.clone().unwrap_or_default(), body, meta }
}

/// The words of a subagent. Its commands and changes of files are such wherever they come from.
fn of_subagent(details: &Details) -> Option<ItemBody> {
    let (role, text) = match details {
        Details::UserMessage(message) => (SubagentRole::User, message.joined()),
        Details::AgentMessage(message) => (SubagentRole::Agent, message.text.clone()),
        Details::Reasoning(thoughts) => {
            let text = thoughts.text.clone().or_else(|| thoughts.summary.clone());
            (SubagentRole::Reasoning, text.unwrap_or_default())
        }
        _ => return None,
    };
    Some(ItemBody::SubagentMessage { role, text })
}

fn body(item: &Item, cwd: &str) -> ItemBody {
    let status = status(item.status);
    match &item.details {
        Details::UserMessage(message) => {
            ItemBody::UserMessage { content: message.content.iter().map(user_input).collect() }
        }
        Details::AgentMessage(message) => ItemBody::AgentMessage { text: message.text.clone() },
        Details::Reasoning(thoughts) => {
            ItemBody::Reasoning { summary: thoughts.summary.clone(), content: thoughts.text.clone() }
        }
        Details::Command(command) => execution(item, command, cwd),
        Details::FileChange(change) => ItemBody::FileChange { changes: changes(&change.changes), status },
        Details::Mcp(mcp) => ItemBody::McpToolCall {
            server: mcp.server.clone(),
            tool: mcp.tool.clone(),
            arguments: arguments(item.call.as_deref()),
            status: mcp_status(item.status),
            result: mcp.result.clone(),
            error: mcp.error.clone().or_else(|| error(item)),
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
            error: error(item),
        },
        Details::Tool(tool) => {
            let output = || Some(raw_string(&tool.output)).filter(|_| !tool.output.is_empty());
            tool_call(item, "tool", tool.result.clone().or_else(output))
        }
        Details::Unknown(unknown) => tool_call(item, &unknown.name, unknown.raw.clone()),
    }
}

fn execution(item: &Item, command: &Command, cwd: &str) -> ItemBody {
    let ended = item.status != Status::Running;
    ItemBody::CommandExecution {
        command: command.command.clone(),
        cwd: command.cwd.as_deref().unwrap_or(cwd).to_owned(),
        status: status(item.status),
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
        arguments: Some(arguments(call).unwrap_or_else(|| raw(&Empty {}))),
        status: status(item.status),
        result,
        error: error(item),
    }
}

#[derive(Serialize)]
struct Empty {}

/// What a tool was given; always an object.
fn arguments(call: Option<&Call>) -> Option<Box<RawValue>> {
    #[derive(Serialize)]
    struct Input<'a> {
        input: &'a RawValue,
    }
    let input = call?.input.as_deref()?;
    Some(if input.get().starts_with('{') { input.to_owned() } else { raw(&Input { input }) })
}

fn error(item: &Item) -> Option<String> {
    let said = item.call.as_ref().and_then(|call| call.error.clone());
    said.or_else(|| (item.status == Status::Declined).then(|| "declined".to_owned()))
}

fn status(status: Status) -> ItemStatus {
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

/// A piece of what the user said. Images given as bytes become `data:` addresses; what is neither text nor an
/// image is told as text.
fn user_input(content: &Content) -> UserInput {
    let text = content.text.as_deref();
    match (content.kind, &content.data, &content.url) {
        (ContentType::Image, Some(data), _) => {
            let media = content.media_type.as_deref().unwrap_or("image/png");
            UserInput::Image { url: format!("data:{media};base64,{data}") }
        }
        (ContentType::Image, None, Some(url)) => image(url),
        (_, _, Some(url)) => UserInput::Text { text: text.unwrap_or(url).to_owned() },
        _ => UserInput::Text { text: text.unwrap_or_default().to_owned() },
    }
}

fn image(url: &str) -> UserInput {
    match url.strip_prefix("file://") {
        Some(path) => UserInput::LocalImage { path: path.to_owned() },
        None if url.contains("://") || url.starts_with("data:") => UserInput::Image { url: url.to_owned() },
        None => UserInput::LocalImage { path: url.to_owned() },
    }
}

/// Changes of files. A move is a deletion here and an addition there.
pub fn changes(changes: &[Change]) -> Vec<FileUpdateChange> {
    changes.iter().flat_map(change).collect()
}

fn change(change: &Change) -> Vec<FileUpdateChange> {
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

/// The steps of a plan.
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

/// A plan that is only a list is told as one.
fn plan_text(plan: &Plan) -> String {
    let list = || plan.entries.iter().map(|entry| format!("- {}", entry.step)).collect::<Vec<_>>().join("\n");
    plan.text.clone().unwrap_or_else(list)
}

/// What the item itself has no word for.
fn meta(event: &Event, item: &Item, body: &ItemBody) -> Option<Box<ItemMeta>> {
    let mut meta = ItemMeta {
        thread: event.thread.clone(),
        parent_item_id: event.parent.clone(),
        reply: item.reply.clone(),
        status: untold(item.status, body),
        ..ItemMeta::default()
    };
    if !matches!(body, ItemBody::CommandExecution { .. }) {
        meta.duration_ms = item.duration_ms;
    }
    if let Some(call) = &item.call {
        meta_of_call(call, body, &mut meta);
    }
    meta_of_details(&item.details, &mut meta);
    (raw(&meta).get() != "{}").then(|| Box::new(meta))
}

/// The status, where the item cannot say it.
fn untold(status: Status, body: &ItemBody) -> Option<Status> {
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

fn meta_of_call(call: &Call, body: &ItemBody, meta: &mut ItemMeta) {
    let is_tool_call = matches!(body, ItemBody::ToolCall { .. });
    let has_error = matches!(body, ItemBody::McpToolCall { .. } | ItemBody::Subagent { .. }) || is_tool_call;
    meta.tool = Some(call.name.clone()).filter(|name| !is_tool_call && !name.is_empty());
    meta.title = call.title.clone().filter(|_| !is_tool_call);
    meta.error = call.error.clone().filter(|_| !has_error);
    meta.kind = Some(call.kind);
    (meta.op, meta.team) = (call.op, call.team);
    (meta.locations, meta.content) = (call.locations.clone(), call.content.clone());
}

fn meta_of_details(details: &Details, meta: &mut ItemMeta) {
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

/// Which item is meant where the agent names none: the request itself.
pub fn item_of<'a>(event: &'a Event, request: &'a Id) -> &'a Id {
    event.item.as_ref().unwrap_or(request)
}
