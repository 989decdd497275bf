//! The searchable text of items and notices.

use switchboard_event::{Details, Item, Notice, Plan, Status, Topic};

use super::PassageKind;
use crate::JsonView;

/// Returns whether the item is the work of a tool.
pub fn is_tool_item(item: &Item) -> bool {
    match &item.details {
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => false,
        Details::Plan(_) | Details::Unknown(_) => item.call.is_some(),
        _ => true,
    }
}

pub fn tool_name(item: &Item) -> &str {
    match &item.call {
        Some(call) if !call.name.is_empty() => &call.name,
        _ => item.details.type_tag(),
    }
}

/// Returns the input of a tool: its arguments without JSON syntax, which would hide words.
pub fn input_text(item: &Item) -> String {
    let input = item.call.as_ref().and_then(|call| call.input.as_deref()).map(JsonView::from_raw);
    match (input, &item.details) {
        (Some(input), _) if input.is_object() => {
            let fields = input.as_object();
            fields.iter().map(|(key, value)| format!("{key}: {}", value.display_text())).collect::<Vec<_>>().join("\n")
        }
        (Some(input), _) => input.display_text().into_owned(),
        (None, Details::Command(command)) => command.command.clone(),
        (None, _) => String::new(),
    }
}

/// Returns the output of a tool, or its error.
pub fn output_text(item: &Item) -> String {
    let given = match &item.details {
        Details::Command(command) => command.output.clone(),
        Details::FileChange(change) if item.status == Status::Completed => {
            let diffs = change.changes.iter().map(|change| change.diff.clone());
            change.output.iter().cloned().chain(diffs).collect::<Vec<_>>().join("\n")
        }
        Details::Tool(tool) if tool.output.is_empty() => display_json(tool.result.as_deref()),
        Details::Tool(tool) => tool.output.clone(),
        Details::Mcp(mcp) => display_json(mcp.result.as_deref()),
        Details::WebSearch(search) => display_json(search.results.as_deref()),
        Details::Subagent(subagent) => subagent.result.clone().unwrap_or_default(),
        Details::Plan(plan) => plan.output.clone().unwrap_or_default(),
        _ => String::new(),
    };
    let why = item.call.as_ref().and_then(|call| call.error.clone()).filter(|_| given.is_empty());
    why.unwrap_or(given)
}

fn display_json(json: Option<&serde_json::value::RawValue>) -> String {
    json.map(|json| JsonView::from_raw(json).display_text().into_owned()).unwrap_or_default()
}

/// Returns a plan with one step per line.
pub fn plan_text(plan: &Plan) -> String {
    let steps = plan.entries.iter().map(|entry| entry.step.clone());
    plan.text.iter().cloned().chain(steps).collect::<Vec<_>>().join("\n")
}

/// Returns the kind of a notice with a text. Echoes repeat other records, and heartbeats have no content.
pub fn notice_passage_kind(notice: &Notice) -> Option<PassageKind> {
    match notice.topic {
        Topic::Echo | Topic::Heartbeat | Topic::Snapshot => None,
        Topic::Stdout | Topic::Stderr | Topic::Hook => Some(PassageKind::Log),
        Topic::Compaction | Topic::Status if is_summary(notice) => Some(PassageKind::SessionSummary),
        Topic::Compaction => Some(PassageKind::SystemMessage),
        Topic::Warning
        | Topic::Retry
        | Topic::RateLimit
        | Topic::Auth
        | Topic::Interrupt
        | Topic::Retracted
        | Topic::ModelChanged => Some(PassageKind::SystemMessage),
        _ if notice.error.is_some() => Some(PassageKind::SystemMessage),
        _ => Some(PassageKind::Meta),
    }
}

/// Returns whether the notice is a summary of the session by the model.
fn is_summary(notice: &Notice) -> bool {
    let status = notice.status.as_deref();
    status == Some("summary") || notice.topic == Topic::Compaction && status != Some("failed")
}
