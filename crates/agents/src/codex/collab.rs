//! Subagents. Codex spawns them, messages them and waits for them with tools; each call is a separate item.

use switchboard_event::{Call, Id, Subagent, Tool};

use super::names;
use crate::{JsonObject, JsonView};

/// Reads `collab_tool_call` of `exec` and `collabAgentToolCall` of the app-server.
pub fn update_spawned_agent(subagent: &mut Subagent, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let tool = to_snake_case(&fields.get_str("tool").unwrap_or_default());
    subagent.thread = receiver_threads(fields).first().map(Id::from).or(subagent.thread.take());
    subagent.name = "agent".to_owned();
    subagent.prompt = fields.get_non_empty("prompt").or(subagent.prompt.take());
    subagent.label = match &subagent.prompt {
        Some(prompt) => first_line(prompt),
        None => tool.replace('_', " "),
    };
    subagent.background = tool == "spawn_agent";
    subagent.result = agent_messages(fields).or(subagent.result.take());
    name_call(call.get_or_insert_default(), tool);
}

/// Keeps an existing name, because the model may call the tool differently: `wait_agent` for `wait`.
fn name_call(call: &mut Call, tool: String) {
    if call.name.is_empty() {
        call.name = tool;
    }
}

/// Reads a call that concerns existing agents.
pub fn update_collab_call(tool: &mut Tool, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let call = call.get_or_insert_default();
    name_call(call, to_snake_case(&fields.get_str("tool").unwrap_or_default()));
    call.title = fields.get_non_empty("prompt").map(|find_prompt| first_line(&find_prompt)).or(call.title.take());
    tool.output = agent_messages(fields).unwrap_or_else(|| std::mem::take(&mut tool.output));
}

/// Reads `subAgentActivity`: news of an agent that runs in parallel.
pub fn update_agent_activity(subagent: &mut Subagent, call: &mut Option<Box<Call>>, fields: &JsonObject<'_>) {
    let path = fields.get_str("agentPath").unwrap_or_default();
    subagent.thread = fields.get_non_empty("agentThreadId").map(Id::from).or(subagent.thread.take());
    subagent.name = path.rsplit('/').next().unwrap_or_default().to_owned();
    subagent.label = fields.get_string("kind").unwrap_or_default();
    call.get_or_insert_default().name = "subagent".to_owned();
}

/// Returns the threads that a call addresses; after a spawn, the new one.
pub fn receiver_threads(fields: &JsonObject<'_>) -> Vec<String> {
    let many = fields.get_array("receiver_thread_ids").into_iter().chain(fields.get_array("receiverThreadIds"));
    let mut threads: Vec<_> = many.filter_map(|id| id.as_str().map(std::borrow::Cow::into_owned)).collect();
    // Older documentation of the app-server has a single id per field.
    threads.extend(names::first_string(fields, &["newThreadId", "receiverThreadId"]));
    threads
}

pub fn is_spawn_call(fields: &JsonObject<'_>) -> bool {
    matches!(fields.get_str("tool").as_deref(), Some("spawn_agent" | "spawnAgent"))
}

fn agent_messages(fields: &JsonObject<'_>) -> Option<String> {
    let states = names::first_field(fields, &["agents_states", "agentsStates"]).map(JsonView::as_object)?;
    let said: Vec<_> = states.iter().filter_map(|(_, state)| state.as_object().get_non_empty("message")).collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

/// Converts `spawnAgent` to `spawn_agent`, the name that the model uses.
fn to_snake_case(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
