//! Effects of tool calls on a team. A call is recognized by its `team_type` and its effect by its input; it is applied
//! once the call succeeds. The amount of remembered data is bounded.

use serde::{Deserialize, Serialize};

use super::super::{
    unified::{UnifiedContent, UnifiedMessage, VerbatimFields, VerbatimJson},
    wire::{MemberStatus, TaskStatus, Team, TeamMember, TeamMessage, TeamTask},
};

/// Maximum number of open calls.
const MAX_OPEN_CALLS: usize = 256;

/// Maximum number of remembered members, tasks and messages; the oldest are dropped.
const MAX_MEMBERS: usize = 64;
const MAX_TASKS: usize = 256;
const MAX_MESSAGES: usize = 50;

/// Maximum remembered length of a message.
const MAX_MESSAGE_CHARS: usize = 1000;

/// Name of a team without a name.
const DEFAULT_TEAM_NAME: &str = "team";

/// Open calls that affect the team once they end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TeamCalls(Vec<TeamCall>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct TeamCall {
    id: String,
    team_type: String,
    input: VerbatimFields,
    /// Start time.
    at: i64,
}

impl TeamCalls {
    /// Returns whether the message is about a team call.
    pub fn is_affected_by(&self, message: &UnifiedMessage) -> bool {
        let about = &message.metadata;
        about.get("team_type").is_some() || about.get_text("tool_use_id").is_some_and(|id| self.is_open(&id))
    }

    fn is_open(&self, id: &str) -> bool {
        self.0.iter().any(|call| call.id == id)
    }

    /// Records calls that start in a message, and applies those that end.
    pub fn scan_message(&mut self, message: &UnifiedMessage, team: &mut Option<Team>) {
        let Some(team_type) = message.metadata.get_text("team_type") else {
            return self.end_calls(message, team);
        };
        for content in &message.content {
            if let UnifiedContent::ToolUse { id, input, .. } = content {
                let input = input.read().unwrap_or_default();
                self.begin_call(
                    TeamCall { id: id.clone(), team_type: team_type.clone(), input, at: message.timestamp },
                    team,
                );
            }
        }
        self.end_calls(message, team);
    }

    fn begin_call(&mut self, call: TeamCall, team: &mut Option<Team>) {
        if call.spawns_member() {
            // The member is active until its call ends.
            add_member(team.get_or_insert_with(unnamed_team), &call);
        }
        self.0.retain(|open| open.id != call.id);
        self.0.push(call);
        let excess = self.0.len().saturating_sub(MAX_OPEN_CALLS);
        self.0.drain(..excess);
    }

    fn end_calls(&mut self, message: &UnifiedMessage, team: &mut Option<Team>) {
        for content in &message.content {
            let UnifiedContent::ToolResult { tool_use_id, content, is_error } = content else { continue };
            let Some(place) = self.0.iter().position(|call| call.id == *tool_use_id) else { continue };
            let call = self.0.remove(place);
            // Some tools report a failure only in their result.
            let well = !is_error
                && !message.metadata.is_true("is_error")
                && result_fields(content).read("success") != Some(false);
            call.apply_result(well, content, team);
        }
    }
}

impl TeamCall {
    /// Returns whether the call starts another agent.
    fn spawns_member(&self) -> bool {
        self.team_type == "team_state_change" && self.input.get_text("prompt").is_some()
    }

    fn apply_result(self, well: bool, result: &VerbatimJson, team: &mut Option<Team>) {
        if self.spawns_member() {
            return end_member(team.get_or_insert_with(unnamed_team), &self.id, well);
        }
        if !well {
            return;
        }
        match self.team_type.as_str() {
            "team_state_change" => *team = self.renamed_team(team.take()),
            "team_task_update" => self.apply_task(result, team),
            "team_message" => self.push_message(team.get_or_insert_with(unnamed_team)),
            _ => {}
        }
    }

    /// Creates or ends a team; a call that ends one has no name.
    fn renamed_team(&self, team: Option<Team>) -> Option<Team> {
        let name = self.input.first_text(&["team_name", "name"])?;
        Some(Team { name, ..team.unwrap_or_default() })
    }

    /// Creates or updates a task; a call that only reads one changes nothing.
    fn apply_task(&self, result: &VerbatimJson, team: &mut Option<Team>) {
        let input = &self.input;
        match (input.first_text(&["taskId", "task_id"]), input.get_text("subject")) {
            (Some(id), _) => {
                let found = team.iter_mut().flat_map(|team| &mut team.tasks).find(|task| task.id == id);
                if let Some(task) = found {
                    update_task(task, input);
                }
            }
            (None, Some(subject)) => {
                let team = team.get_or_insert_with(unnamed_team);
                let id = created_task_id(result).unwrap_or_else(|| self.id.clone());
                let mut task = TeamTask { id, subject, ..TeamTask::default() };
                update_task(&mut task, input);
                team.tasks.retain(|known| known.id != task.id);
                team.tasks.push(task);
                keep_latest(&mut team.tasks, MAX_TASKS);
            }
            (None, None) => {}
        }
    }

    fn push_message(self, team: &mut Team) {
        let input = &self.input;
        let to = input.first_text(&["to", "recipient", "target"]).unwrap_or_default();
        let inner: VerbatimFields = input.read("message").unwrap_or_default();
        let kind = input.get_text("type").or_else(|| inner.get_text("type")).unwrap_or_default();
        if kind == "shutdown_request" {
            let told = team.members.iter_mut().filter(|member| member.name == to);
            told.for_each(|member| member.status = MemberStatus::Shutdown);
        }
        let text = input.first_text(&["message", "content"]).unwrap_or(kind);
        let text = text.chars().take(MAX_MESSAGE_CHARS).collect();
        let summary = input.get_text("summary");
        team.messages.push(TeamMessage { id: self.id, to, text, summary, timestamp: self.at });
        keep_latest(&mut team.messages, MAX_MESSAGES);
    }
}

fn unnamed_team() -> Team {
    Team { name: DEFAULT_TEAM_NAME.to_owned(), ..Team::default() }
}

/// Adds an active member to the team.
fn add_member(team: &mut Team, call: &TeamCall) {
    let input = &call.input;
    if let Some(name) = input.get_text("team_name") {
        team.name = name;
    }
    let name = input.first_text(&["name", "description"]).unwrap_or_else(|| call.id.clone());
    team.members.retain(|member| member.name != name);
    team.members.push(TeamMember {
        name,
        agent_id: call.id.clone(),
        agent_type: input.first_text(&["subagent_type", "agent_type"]).unwrap_or_default(),
        status: MemberStatus::Active,
        model: input.get_text("model"),
    });
    keep_latest(&mut team.members, MAX_MEMBERS);
}

/// Marks the member of an ended call as idle, or as shut down if the call failed.
fn end_member(team: &mut Team, call: &str, well: bool) {
    let status = if well { MemberStatus::Idle } else { MemberStatus::Shutdown };
    let its = team.members.iter_mut().filter(|member| member.agent_id == call);
    its.for_each(|member| member.status = status);
}

/// Applies the reported fields to a task.
fn update_task(task: &mut TeamTask, told: &VerbatimFields) {
    if let Some(subject) = told.get_text("subject") {
        task.subject = subject;
    }
    task.status = told.read::<TaskStatus>("status").unwrap_or(task.status);
    task.description = told.get_text("description").or(task.description.take());
    task.owner = told.get_text("owner").or(task.owner.take());
    task.active_form = told.first_text(&["activeForm", "active_form"]).or(task.active_form.take());
    for (known, key) in [(&mut task.blocks, "addBlocks"), (&mut task.blocked_by, "addBlockedBy")] {
        let more: Vec<String> = told.get_list(key);
        known.extend(more.into_iter().take(MAX_TASKS));
        known.sort();
        known.dedup();
    }
}

/// Parses a tool result as an object, also if it is the text of one.
fn result_fields(result: &VerbatimJson) -> VerbatimFields {
    let text = || result.read::<String>().and_then(|text| serde_json::from_str(&text).ok());
    result.read().or_else(text).unwrap_or_default()
}

/// Returns the id of a created task, from the result or from a text such as `Task #3 created`.
fn created_task_id(result: &VerbatimJson) -> Option<String> {
    let told = result_fields(result).read::<VerbatimFields>("task").and_then(|task| task.get_text("id"));
    told.or_else(|| {
        let text: String = result.read()?;
        let (_, rest) = text.split_once('#')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    })
}

fn keep_latest<T>(list: &mut Vec<T>, most: usize) {
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
}
