//! The state reducer: applies a message to the session state. Messages that are not about the session itself are
//! scanned for team tool calls, which are tracked until they end.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use switchboard_event::{Context, McpServer, Named, SessionStatus};

use super::{
    ConsumerState,
    map::map_permission,
    unified::{UnifiedContent, UnifiedMessage, UnifiedMessageType, VerbatimFields, VerbatimJson},
    wire::{MemberStatus, TaskStatus, Team, TeamMember, TeamMessage, TeamTask, Tokens, TurnTokens},
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

/// A session state and the data needed to compute the next one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StateReducer {
    /// The session state.
    pub state: ConsumerState,
    calls: TeamCalls,
}

impl StateReducer {
    /// Returns the next state.
    #[must_use]
    pub fn with_message(mut self, message: &UnifiedMessage) -> Self {
        self.apply_message(message);
        self
    }

    /// Applies a message in place.
    pub fn apply_message(&mut self, message: &UnifiedMessage) {
        let state = &mut self.state;
        match message.kind {
            UnifiedMessageType::SessionInit => state.begin_run(message),
            UnifiedMessageType::StatusChange => state.apply_status(message),
            UnifiedMessageType::Result => state.apply_result(message),
            // A control response may report what the agent offers, like a configuration change.
            UnifiedMessageType::ControlResponse | UnifiedMessageType::ConfigurationChange => {
                state.apply_settings(&message.metadata)
            }
            UnifiedMessageType::SessionLifecycle => state.apply_lifecycle(message),
            UnifiedMessageType::PermissionRequest => {
                let asked = map_permission(message);
                state.pending_permissions.retain(|open| open.request_id != asked.request_id);
                state.pending_permissions.push(asked);
            }
            UnifiedMessageType::PermissionResponse => {
                let answered = message.metadata.get_text("request_id").unwrap_or_default();
                state.pending_permissions.retain(|open| open.request_id != answered);
            }
            _ => self.calls.scan_message(message, &mut state.team),
        }
    }

    /// Returns whether a message can change the state.
    #[must_use]
    pub fn is_affected_by(&self, message: &UnifiedMessage) -> bool {
        match message.kind {
            UnifiedMessageType::StreamEvent | UnifiedMessageType::ToolProgress | UnifiedMessageType::Unknown => false,
            UnifiedMessageType::Assistant | UnifiedMessageType::ToolUseSummary => self.calls.is_affected_by(message),
            _ => true,
        }
    }
}

impl ConsumerState {
    /// Begins a run, in which nothing is open.
    fn begin_run(&mut self, message: &UnifiedMessage) {
        let about = &message.metadata;
        set_text(&mut self.session_id, about.get_text("session_id"));
        set_text(&mut self.agent, about.get_text("agent"));
        self.agent_session = about.get_text("agent_session").or(self.agent_session.take());
        self.run = about.read("run").unwrap_or(self.run + 1);
        self.connected = true;
        self.reset_activity();
        self.apply_settings(about);
        self.apply_context(about);
    }

    /// Applies changed settings; reported values replace the previous ones.
    fn apply_settings(&mut self, about: &VerbatimFields) {
        set_text(&mut self.model, about.first_text(&["model", "model_id"]));
        set_text(&mut self.cwd, about.get_text("cwd"));
        set_text(&mut self.permission_mode, about.first_text(&["mode", "permissionMode", "permission_mode"]));
        set_option(&mut self.provider, about.first_text(&["provider", "provider_id"]));
        set_option(&mut self.title, about.get_text("title"));
        set_option(&mut self.version, about.get_text("version"));
        set_list(&mut self.tools, about, "tools");
        set_list(&mut self.modes, about, "modes");
        set_list(&mut self.models, about, "models");
        set_list(&mut self.options, about, "options");
        self.apply_named_lists(about);
    }

    /// Applies lists that some sources report as names and others as objects.
    fn apply_named_lists(&mut self, about: &VerbatimFields) {
        let named = ["commands", "slash_commands"].into_iter().find_map(|key| read_named(about, key));
        if let Some(commands) = named {
            self.slash_commands = commands.iter().map(|command| command.name.clone()).collect();
            self.commands = commands;
        }
        if let Some(agents) = read_names(about, "agents") {
            self.agents = agents;
        }
        let servers: Vec<McpServer> = about.get_list(if about.get("mcp").is_some() { "mcp" } else { "mcp_servers" });
        if !servers.is_empty() {
            self.mcp_servers = servers;
        }
    }

    /// Applies the session status, context usage and plan.
    fn apply_status(&mut self, message: &UnifiedMessage) {
        let about = &message.metadata;
        if let Some(status) = about.read::<SessionStatus>("status") {
            self.status = Some(status);
        }
        let said = about.read("is_compacting");
        self.is_compacting = said.unwrap_or(self.status == Some(SessionStatus::Compacting));
        if about.get("plan").is_some() {
            self.plan = about.get_list("plan");
        }
        self.apply_context(about);
    }

    fn apply_context(&mut self, about: &VerbatimFields) {
        let Some(context) = about.read::<Context>("context") else { return };
        self.context = Some(context);
        self.context_used_percent = used_percent(context).unwrap_or(self.context_used_percent);
    }

    /// Adds the usage of an ended turn, once.
    fn apply_result(&mut self, message: &UnifiedMessage) {
        let about = &message.metadata;
        self.num_turns += 1;
        self.usage.add(&Tokens::from(about.read::<TurnTokens>("usage").unwrap_or_default()));
        let cost: f64 = about.read("cost_usd").unwrap_or_default();
        self.total_cost_usd = (self.total_cost_usd + cost).clamp(0.0, f64::MAX);
        self.last_duration_ms = about.read("duration_ms").or(self.last_duration_ms);
        set_text(&mut self.model, about.get_text("model"));
    }

    /// Ends a run, after which nothing is open.
    fn apply_lifecycle(&mut self, message: &UnifiedMessage) {
        if message.metadata.get_text("subtype").as_deref() == Some("session_ended") {
            self.connected = false;
            self.reset_activity();
        }
    }

    /// Resets the status and drops open requests.
    fn reset_activity(&mut self) {
        self.status = Some(SessionStatus::Idle);
        self.is_compacting = false;
        self.pending_permissions.clear();
    }
}

fn set_text(field: &mut String, told: Option<String>) {
    if let Some(told) = told {
        *field = told;
    }
}

fn set_option(field: &mut Option<String>, told: Option<String>) {
    if told.is_some() {
        *field = told;
    }
}

fn set_list<T: DeserializeOwned>(field: &mut Vec<T>, about: &VerbatimFields, name: &str) {
    if about.get(name).is_some() {
        *field = about.get_list(name);
    }
}

/// Reads named entries; accepts plain names as well.
fn read_named(about: &VerbatimFields, key: &str) -> Option<Vec<Named>> {
    let names: Vec<String> = about.get_list(key);
    let named: Vec<Named> = about.get_list(key);
    about.get(key)?;
    Some(if named.is_empty() { names.into_iter().map(Named::new).collect() } else { named })
}

fn read_names(about: &VerbatimFields, key: &str) -> Option<Vec<String>> {
    read_named(about, key).map(|named| named.into_iter().map(|named| named.name).collect())
}

#[expect(clippy::cast_precision_loss, reason = "a percentage needs no more")]
fn used_percent(context: Context) -> Option<f64> {
    let (used, size) = (context.used?, context.size.filter(|size| *size > 0)?);
    Some((used as f64 / size as f64 * 1000.0).round() / 10.0)
}

/// Open calls that affect the team once they end.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
struct TeamCalls(Vec<TeamCall>);

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
    fn is_affected_by(&self, message: &UnifiedMessage) -> bool {
        let about = &message.metadata;
        about.get("team_type").is_some() || about.get_text("tool_use_id").is_some_and(|id| self.is_open(&id))
    }

    fn is_open(&self, id: &str) -> bool {
        self.0.iter().any(|call| call.id == id)
    }

    /// Records calls that start in a message, and applies those that end.
    fn scan_message(&mut self, message: &UnifiedMessage, team: &mut Option<Team>) {
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
