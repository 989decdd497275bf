//! What tool calls do in a team. A call is known by its `team_type`, and what it does by what it is given; it counts
//! once it has ended well. Only so much of a team is remembered.

use serde::{Deserialize, Serialize};

use super::super::{
    unified::{Content, Fields, Json, Unified},
    wire::{MemberStatus, TaskStatus, Team, TeamMember, TeamMessage, TeamTask},
};

/// So many calls may be under way.
const CALLS: usize = 256;

/// So many members, tasks and messages are kept; the oldest go.
const MEMBERS: usize = 64;
const TASKS: usize = 256;
const MESSAGES: usize = 50;

/// So much of a message is kept.
const TEXT: usize = 1000;

/// What a team is called that nobody named.
const UNNAMED: &str = "team";

/// Calls that will do something in a team once they have ended.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Calls(Vec<Call>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Call {
    id: String,
    team_type: String,
    input: Fields,
    /// When it began.
    at: i64,
}

impl Calls {
    /// The message is about a call that does something in a team.
    pub fn concerns(&self, message: &Unified) -> bool {
        let about = &message.metadata;
        about.get("team_type").is_some() || about.text("tool_use_id").is_some_and(|id| self.is_open(&id))
    }

    fn is_open(&self, id: &str) -> bool {
        self.0.iter().any(|call| call.id == id)
    }

    /// Looks for calls that begin, and for ends of those that have begun.
    pub fn scan(&mut self, message: &Unified, team: &mut Option<Team>) {
        let Some(team_type) = message.metadata.text("team_type") else {
            return self.ends(message, team);
        };
        for content in &message.content {
            if let Content::ToolUse { id, input, .. } = content {
                let input = input.read().unwrap_or_default();
                self.begins(Call { id: id.clone(), team_type: team_type.clone(), input, at: message.timestamp }, team);
            }
        }
        self.ends(message, team);
    }

    fn begins(&mut self, call: Call, team: &mut Option<Team>) {
        if call.spawns() {
            // It works from now on, and its call ends when it is done.
            join(team.get_or_insert_with(unnamed), &call);
        }
        self.0.retain(|open| open.id != call.id);
        self.0.push(call);
        let excess = self.0.len().saturating_sub(CALLS);
        self.0.drain(..excess);
    }

    fn ends(&mut self, message: &Unified, team: &mut Option<Team>) {
        for content in &message.content {
            let Content::ToolResult { tool_use_id, content, is_error } = content else { continue };
            let Some(place) = self.0.iter().position(|call| call.id == *tool_use_id) else { continue };
            let call = self.0.remove(place);
            // Some tools fail without saying so but in their result.
            let well =
                !is_error && !message.metadata.is_true("is_error") && fields(content).read("success") != Some(false);
            call.ended(well, content, team);
        }
    }
}

impl Call {
    /// It begins another agent's work.
    fn spawns(&self) -> bool {
        self.team_type == "team_state_change" && self.input.text("prompt").is_some()
    }

    fn ended(self, well: bool, result: &Json, team: &mut Option<Team>) {
        if self.spawns() {
            return rest(team.get_or_insert_with(unnamed), &self.id, well);
        }
        if !well {
            return;
        }
        match self.team_type.as_str() {
            "team_state_change" => *team = self.named(team.take()),
            "team_task_update" => self.task(result, team),
            "team_message" => self.message(team.get_or_insert_with(unnamed)),
            _ => {}
        }
    }

    /// A team was made, or ended: what ends one is given no name.
    fn named(&self, team: Option<Team>) -> Option<Team> {
        let name = self.input.first_text(&["team_name", "name"])?;
        Some(Team { name, ..team.unwrap_or_default() })
    }

    /// A task was made, or changed; one that was only looked at stays as it is.
    fn task(&self, result: &Json, team: &mut Option<Team>) {
        let input = &self.input;
        match (input.first_text(&["taskId", "task_id"]), input.text("subject")) {
            (Some(id), _) => {
                let found = team.iter_mut().flat_map(|team| &mut team.tasks).find(|task| task.id == id);
                if let Some(task) = found {
                    change(task, input);
                }
            }
            (None, Some(subject)) => {
                let team = team.get_or_insert_with(unnamed);
                let id = made(result).unwrap_or_else(|| self.id.clone());
                let mut task = TeamTask { id, subject, ..TeamTask::default() };
                change(&mut task, input);
                team.tasks.retain(|known| known.id != task.id);
                team.tasks.push(task);
                keep(&mut team.tasks, TASKS);
            }
            (None, None) => {}
        }
    }

    fn message(self, team: &mut Team) {
        let input = &self.input;
        let to = input.first_text(&["to", "recipient", "target"]).unwrap_or_default();
        let inner: Fields = input.read("message").unwrap_or_default();
        let kind = input.text("type").or_else(|| inner.text("type")).unwrap_or_default();
        if kind == "shutdown_request" {
            let told = team.members.iter_mut().filter(|member| member.name == to);
            told.for_each(|member| member.status = MemberStatus::Shutdown);
        }
        let text = input.first_text(&["message", "content"]).unwrap_or(kind);
        let text = text.chars().take(TEXT).collect();
        let summary = input.text("summary");
        team.messages.push(TeamMessage { id: self.id, to, text, summary, timestamp: self.at });
        keep(&mut team.messages, MESSAGES);
    }
}

fn unnamed() -> Team {
    Team { name: UNNAMED.to_owned(), ..Team::default() }
}

/// Another agent works in the team.
fn join(team: &mut Team, call: &Call) {
    let input = &call.input;
    if let Some(name) = input.text("team_name") {
        team.name = name;
    }
    let name = input.first_text(&["name", "description"]).unwrap_or_else(|| call.id.clone());
    team.members.retain(|member| member.name != name);
    team.members.push(TeamMember {
        name,
        agent_id: call.id.clone(),
        agent_type: input.first_text(&["subagent_type", "agent_type"]).unwrap_or_default(),
        status: MemberStatus::Active,
        model: input.text("model"),
    });
    keep(&mut team.members, MEMBERS);
}

/// Another agent has done its work, or never began.
fn rest(team: &mut Team, call: &str, well: bool) {
    let status = if well { MemberStatus::Idle } else { MemberStatus::Shutdown };
    let its = team.members.iter_mut().filter(|member| member.agent_id == call);
    its.for_each(|member| member.status = status);
}

/// What is told of a task takes the place of what was.
fn change(task: &mut TeamTask, told: &Fields) {
    if let Some(subject) = told.text("subject") {
        task.subject = subject;
    }
    task.status = told.read::<TaskStatus>("status").unwrap_or(task.status);
    task.description = told.text("description").or(task.description.take());
    task.owner = told.text("owner").or(task.owner.take());
    task.active_form = told.first_text(&["activeForm", "active_form"]).or(task.active_form.take());
    for (known, key) in [(&mut task.blocks, "addBlocks"), (&mut task.blocked_by, "addBlockedBy")] {
        let more: Vec<String> = told.list(key);
        known.extend(more.into_iter().take(TASKS));
        known.sort();
        known.dedup();
    }
}

/// What a tool gave back, where that is an object, or the text of one.
fn fields(result: &Json) -> Fields {
    let text = || result.read::<String>().and_then(|text| serde_json::from_str(&text).ok());
    result.read().or_else(text).unwrap_or_default()
}

/// The id of a task that was made: in the result, or in words such as `Task #3 created`.
fn made(result: &Json) -> Option<String> {
    let told = fields(result).read::<Fields>("task").and_then(|task| task.text("id"));
    told.or_else(|| {
        let text: String = result.read()?;
        let (_, rest) = text.split_once('#')?;
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (!digits.is_empty()).then_some(digits)
    })
}

fn keep<T>(list: &mut Vec<T>, most: usize) {
    let excess = list.len().saturating_sub(most);
    list.drain(..excess);
}
