//! Converts completed items to tool calls.

use switchboard_event::{Call, Details, Item, Plan, PlanStatus, Status};

use super::TranscriptToolCall;

/// Returns the tool call, or `None` for messages and reasoning.
pub fn tool_call(item: &Item) -> Option<TranscriptToolCall> {
    let call = item.call.as_deref();
    let mut did = match &item.details {
        Details::UserMessage(_) | Details::AgentMessage(_) | Details::Reasoning(_) => return None,
        Details::Command(command) => TranscriptToolCall {
            command: Some(command.command.clone()),
            output: command.output.clone(),
            exit_code: command.exit_code.filter(|code| *code != 0),
            ..named_call(call, "command")
        },
        Details::FileChange(change) => TranscriptToolCall {
            about: change.changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", "),
            changes: change.changes.clone(),
            output: change.output.clone().filter(|_| change.changes.is_empty()).unwrap_or_default(),
            ..named_call(call, "edit")
        },
        Details::Mcp(mcp) => TranscriptToolCall {
            name: format!("{}.{}", mcp.server, mcp.tool),
            input: call_input(call),
            output: mcp.result.as_ref().map(|result| result.get().to_owned()).unwrap_or_default(),
            ..named_call(call, "mcp")
        },
        Details::WebSearch(search) => {
            TranscriptToolCall { about: search.queries.join(" · "), ..named_call(call, "web search") }
        }
        Details::Plan(plan) => TranscriptToolCall { output: plan_text(plan), ..named_call(call, "plan") },
        Details::Subagent(agent) => TranscriptToolCall {
            about: [&agent.name, &agent.label].map(String::as_str).join(" ").trim().to_owned(),
            input: agent.prompt.clone(),
            output: agent.result.clone().unwrap_or_default(),
            ..named_call(call, "agent")
        },
        Details::Tool(tool) => {
            TranscriptToolCall { input: call_input(call), output: tool.output.clone(), ..named_call(call, "tool") }
        }
        Details::Unknown(unknown) => TranscriptToolCall {
            output: unknown.raw.as_ref().map(|raw| raw.get().to_owned()).unwrap_or_default(),
            ..named_call(call, &unknown.name)
        },
    };
    did.problem = failure_text(item);
    did.duration_ms = item.duration_ms;
    Some(did)
}

fn named_call(call: Option<&Call>, otherwise: &str) -> TranscriptToolCall {
    let name = call.map_or(otherwise, |call| &call.name).to_owned();
    let place = call.and_then(|call| call.locations.first()).map(|place| place.path.clone());
    let title = call.and_then(|call| call.title.clone()).filter(|title| *title != name);
    TranscriptToolCall { name, about: place.or(title).unwrap_or_default(), ..TranscriptToolCall::default() }
}

/// Returns the call's input, unless it is empty.
fn call_input(call: Option<&Call>) -> Option<String> {
    let input = call?.input.as_deref()?.get();
    let pretty =
        serde_json::from_str::<serde_json::Value>(input).and_then(|value| serde_json::to_string_pretty(&value));
    Some(pretty.unwrap_or_else(|_| input.to_owned())).filter(|input| !matches!(input.as_str(), "{}" | "null" | ""))
}

fn plan_text(plan: &Plan) -> String {
    let line = |(step, status): (&str, PlanStatus)| {
        let mark = match status {
            PlanStatus::Pending => "[ ]",
            PlanStatus::InProgress => "[>]",
            PlanStatus::Completed => "[x]",
            PlanStatus::Failed => "[!]",
        };
        format!("{mark} {step}\n")
    };
    let steps: String = plan.entries.iter().map(|entry| line((&entry.step, entry.status))).collect();
    [steps.as_str(), plan.text.as_deref().unwrap_or_default()].join("")
}

fn failure_text(item: &Item) -> Option<String> {
    let word = match item.status {
        Status::Failed => "failed",
        Status::Declined => "declined",
        Status::Interrupted => "interrupted",
        Status::Running | Status::Completed | Status::Superseded => return None,
    };
    let mcp = match &item.details {
        Details::Mcp(mcp) => mcp.error.as_deref(),
        _ => None,
    };
    let why = item.call.as_ref().and_then(|call| call.error.as_deref()).or(mcp).map(str::trim);
    Some(why.filter(|why| !why.is_empty()).map_or_else(|| word.to_owned(), |why| format!("{word}: {why}")))
}
