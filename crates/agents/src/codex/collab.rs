//! Other agents that work for this one. Codex spawns them, talks to them and waits for them with tools; each call is
//! an item of its own.

use switchboard_event::{Call, Id, Subagent, Tool};

use super::names;
use crate::{Json, Object};

/// `collab_tool_call` of `exec`, `collabAgentToolCall` of the app-server.
pub fn call(subagent: &mut Subagent, call: &mut Option<Box<Call>>, fields: &Object<'_>) {
    let tool = snake(&fields.str("tool").unwrap_or_default());
    subagent.thread = receivers(fields).first().map(Id::from).or(subagent.thread.take());
    subagent.name = "agent".to_owned();
    subagent.prompt = fields.filled("prompt").or(subagent.prompt.take());
    subagent.label = match &subagent.prompt {
        Some(prompt) => first_line(prompt),
        None => tool.replace('_', " "),
    };
    subagent.background = tool == "spawn_agent";
    subagent.result = answers(fields).or(subagent.result.take());
    name_call(call.get_or_insert_default(), tool);
}

/// The model may have called the tool by another name, by which it is known already: `wait_agent` for `wait`.
fn name_call(call: &mut Call, tool: String) {
    if call.name.is_empty() {
        call.name = tool;
    }
}

/// The same, where the call is about agents that are there already.
pub fn talk(tool: &mut Tool, call: &mut Option<Box<Call>>, fields: &Object<'_>) {
    let call = call.get_or_insert_default();
    name_call(call, snake(&fields.str("tool").unwrap_or_default()));
    call.title = fields.filled("prompt").map(|prompt| first_line(&prompt)).or(call.title.take());
    tool.output = answers(fields).unwrap_or_else(|| std::mem::take(&mut tool.output));
}

/// `subAgentActivity`: news of an agent that runs beside this one.
pub fn activity(subagent: &mut Subagent, call: &mut Option<Box<Call>>, fields: &Object<'_>) {
    let path = fields.str("agentPath").unwrap_or_default();
    subagent.thread = fields.filled("agentThreadId").map(Id::from).or(subagent.thread.take());
    subagent.name = path.rsplit('/').next().unwrap_or_default().to_owned();
    subagent.label = fields.string("kind").unwrap_or_default();
    call.get_or_insert_default().name = "subagent".to_owned();
}

/// The threads that a call is about; after a spawn, the new one.
pub fn receivers(fields: &Object<'_>) -> Vec<String> {
    let many = fields.array("receiver_thread_ids").into_iter().chain(fields.array("receiverThreadIds"));
    let mut threads: Vec<_> = many.filter_map(|id| id.str().map(std::borrow::Cow::into_owned)).collect();
    // Older descriptions of the app-server have one name for each.
    threads.extend(names::string(fields, &["newThreadId", "receiverThreadId"]));
    threads
}

/// The call makes a new agent.
pub fn is_spawn(fields: &Object<'_>) -> bool {
    matches!(fields.str("tool").as_deref(), Some("spawn_agent" | "spawnAgent"))
}

fn answers(fields: &Object<'_>) -> Option<String> {
    let states = names::get(fields, &["agents_states", "agentsStates"]).map(Json::object)?;
    let said: Vec<_> = states.iter().filter_map(|(_, state)| state.object().filled("message")).collect();
    (!said.is_empty()).then(|| said.join("\n"))
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().chars().take(80).collect()
}

/// `spawnAgent` is `spawn_agent` to the model.
fn snake(name: &str) -> String {
    let mut out = String::with_capacity(name.len() + 2);
    for c in name.chars() {
        if c.is_ascii_uppercase() {
            out.push('_');
        }
        out.push(c.to_ascii_lowercase());
    }
    out
}
