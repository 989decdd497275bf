//! Items and notices as text to search in.

use switchboard_event::{Details, Item, Notice, Plan, Status, Topic};

use crate::{Json, logs::Kind};

/// The item is the work of a tool.
pub fn is_work(item: &Item) -> bool {
    match &item.details {
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => false,
        Details::Plan(_) | Details::Unknown(_) => item.call.is_some(),
        _ => true,
    }
}

/// What the tool is called.
pub fn name(item: &Item) -> &str {
    match &item.call {
        Some(call) if !call.name.is_empty() => &call.name,
        _ => item.details.tag(),
    }
}

/// What a tool was called with: its arguments without the signs of JSON, which hide words.
pub fn input(item: &Item) -> String {
    let input = item.call.as_ref().and_then(|call| call.input.as_deref()).map(Json::of);
    match (input, &item.details) {
        (Some(input), _) if input.is_object() => {
            let fields = input.object();
            fields.iter().map(|(key, value)| format!("{key}: {}", value.display())).collect::<Vec<_>>().join("\n")
        }
        (Some(input), _) => input.display().into_owned(),
        (None, Details::Command(command)) => command.command.clone(),
        (None, _) => String::new(),
    }
}

/// What a tool gave back, or why it did not.
pub fn output(item: &Item) -> String {
    let given = match &item.details {
        Details::Command(command) => command.output.clone(),
        Details::FileChange(change) if item.status == Status::Completed => {
            let diffs = change.changes.iter().map(|change| change.diff.clone());
            change.output.iter().cloned().chain(diffs).collect::<Vec<_>>().join("\n")
        }
        Details::Tool(tool) if tool.output.is_empty() => shown(tool.result.as_deref()),
        Details::Tool(tool) => tool.output.clone(),
        Details::Mcp(mcp) => shown(mcp.result.as_deref()),
        Details::WebSearch(search) => shown(search.results.as_deref()),
        Details::Subagent(subagent) => subagent.result.clone().unwrap_or_default(),
        Details::Plan(plan) => plan.output.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let why = item.call.as_ref().and_then(|call| call.error.clone()).filter(|_| given.is_empty());
    why.unwrap_or(given)
}

fn shown(json: Option<&serde_json::value::RawValue>) -> String {
    json.map(|json| Json::of(json).display().into_owned()).unwrap_or_default()
}

/// A plan, a step a line.
pub fn plan(plan: &Plan) -> String {
    let steps = plan.entries.iter().map(|entry| entry.step.clone());
    plan.text.iter().cloned().chain(steps).collect::<Vec<_>>().join("\n")
}

/// What a notice with a text is. Echoes were said elsewhere, and signs of life say nothing.
pub fn kind(notice: &Notice) -> Option<Kind> {
    match notice.topic {
        Topic::Echo | Topic::Heartbeat | Topic::Snapshot => None,
        Topic::Stdout | Topic::Stderr | Topic::Hook => Some(Kind::Log),
        Topic::Compaction | Topic::Status if is_summary(notice) => Some(Kind::SessionSummary),
        Topic::Compaction => Some(Kind::SystemMessage),
        Topic::Warning
        | Topic::Retry
        | Topic::RateLimit
        | Topic::Auth
        | Topic::Interrupt
        | Topic::Retracted
        | Topic::ModelChanged => Some(Kind::SystemMessage),
        _ if notice.error.is_some() => Some(Kind::SystemMessage),
        _ => Some(Kind::Meta),
    }
}

/// The session in short, in the model's words.
fn is_summary(notice: &Notice) -> bool {
    let status = notice.status.as_deref();
    status == Some("summary") || notice.topic == Topic::Compaction && status != Some("failed")
}
