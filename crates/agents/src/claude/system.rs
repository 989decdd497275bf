//! `system` records: Claude Code's reports about itself and its background work.

use std::collections::VecDeque;

use serde::Serialize;
use switchboard_event::{
    ApprovalMode, Details, Id, Info, Level, McpServer, Named, Notice, SessionStatus, Topic, to_raw_json,
};

use super::{ClaudeStreamReader, errors, heartbeat_notice};
use crate::{JsonObject, JsonView, RunRecorder, bounded::push_bounded};

/// The maximum number of remembered tasks. A process that started more has long finished the oldest.
const MAX_REMEMBERED_TASKS: usize = 256;

impl ClaudeStreamReader {
    pub(super) fn read_system(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let subtype = fields.get_str("subtype").unwrap_or_default();
        match subtype.as_ref() {
            "init" => self.read_init(fields, recorder),
            "status" => read_status(fields, recorder),
            "session_state_changed" => self.read_state_change(fields, recorder),
            "task_started" | "task_progress" | "task_updated" | "task_notification" => {
                self.read_task(&subtype, fields, recorder);
            }
            "background_tasks_changed" => self.read_background_tasks(fields, recorder),
            "hook_started" | "hook_progress" | "hook_response" => recorder.write_notice(hook_notice(&subtype, fields)),
            "api_retry" => {
                self.failed_status = fields.get_http_status("error_status");
                recorder.write_notice(retry_notice(fields));
            }
            "compact_boundary" => recorder.write_notice(compaction_notice(fields)),
            "permission_denied" => self.read_permission_denied(fields, recorder),
            "model_fallback" | "model_refusal_fallback" => read_model_fallback(fields, recorder),
            "model_refusal_no_fallback" => recorder.write_notice(warning_notice(fields, Level::Warning)),
            "informational" | "notification" | "local_command_output" => {
                recorder.write_notice(informational_notice(fields))
            }
            "commands_changed" => read_commands_changed(fields, recorder),
            "thinking_tokens" | "ui_invalidate" => recorder.write_notice(heartbeat_notice(&subtype)),
            "session_title_changed" => {
                recorder.update_info(Info { title: fields.get_non_empty("title"), ..Info::default() });
                recorder.write_notice_if_no_event(
                    Notice::new(Topic::Status).with_name("session_title_changed").with_level(Level::Debug),
                );
            }
            "files_persisted" => recorder.write_notice(Notice::new(Topic::Snapshot).with_name("files_persisted")),
            other if other.starts_with("plugin_") || other.starts_with("elicitation") => {
                recorder.write_notice(Notice::new(Topic::Control).with_name(other));
            }
            _ => {}
        }
    }

    /// `init` begins every turn; only changes since the last one are reported.
    fn read_init(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if let Some(session) = fields
            .get_non_empty("session_id")
            .filter(|id| recorder.agent_session().is_some_and(|known| **known != **id))
        {
            // After `/clear` the session continues under another id of Claude Code.
            recorder.replace_agent_session(&session);
        }
        if let Some(mode) = fields.get_str("permissionMode") {
            recorder.adjust_config(|config| config.approval_mode = config.approval_mode.or(approval_from_mode(&mode)));
        }
        if let Some(model) = fields.get_non_empty("model") {
            self.offers.set_model(&model);
        }
        recorder.update_info(Info {
            cwd: fields.get_non_empty("cwd"),
            model: fields.get_non_empty("model"),
            provider: Some("anthropic".to_owned()),
            mode: fields.get_non_empty("permissionMode"),
            version: fields.get_non_empty("claude_code_version"),
            tools: fields.get_strings("tools"),
            commands: self.offers.describe_commands(fields.get_strings("slash_commands")),
            options: self.offers.option_selectors(),
            mcp: fields.get_array("mcp_servers").into_iter().map(mcp_server).collect(),
            agents: self.offers.describe_agents(fields.get_strings("agents")),
            ..Info::default()
        });
        self.ensure_turn(recorder);
        self.turn_has_init();
        recorder.write_notice_if_no_event(Notice::new(Topic::Status).with_name("init").with_level(Level::Debug));
    }

    /// Reads `session_state_changed`. An idle agent has taken up every prompt.
    fn read_state_change(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let status = match fields.get_str("state").as_deref() {
            Some("idle") => {
                self.waiting.clear();
                SessionStatus::Idle
            }
            Some("requires_action") => SessionStatus::RequiresAction,
            _ => SessionStatus::Running,
        };
        recorder.update_info(Info { status: Some(status), ..Info::default() });
        recorder.write_notice_if_no_event(Notice::new(Topic::Status).with_name("session_state_changed"));
    }

    /// A rule or a mode denied the call without asking.
    fn read_permission_denied(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let call = fields.get_str("tool_use_id").unwrap_or_default();
        self.asks.mark_denied(&call);
        let text = fields.get_string("message").unwrap_or_else(|| "not allowed".to_owned());
        recorder.write_notice_about(
            Some(call.into()),
            Notice::new(Topic::Warning).with_name("permission_denied").with_text(text),
        );
    }
}

fn mcp_server(server: JsonView<'_>) -> McpServer {
    let server = server.as_object();
    McpServer { name: server.get_string("name").unwrap_or_default(), status: server.get_non_empty("status") }
}

fn approval_from_mode(mode: &str) -> Option<ApprovalMode> {
    match mode {
        "default" => Some(ApprovalMode::Ask),
        "acceptEdits" => Some(ApprovalMode::AutoEdit),
        "bypassPermissions" => Some(ApprovalMode::AutoAll),
        _ => None,
    }
}

/// `read_status` is a word or null; older descriptions have a flag `is_compacting`.
fn read_status(fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let resting = if recorder.in_turn() { SessionStatus::Running } else { SessionStatus::Idle };
    let compacting = fields.is_true("is_compacting") || fields.str_equals("status", "compacting");
    let status = if compacting { SessionStatus::Compacting } else { resting };
    recorder.update_info(Info {
        status: Some(status),
        mode: fields.get_non_empty("permissionMode"),
        ..Info::default()
    });
    if let Some(error) = fields.get_non_empty("compact_error") {
        recorder.write_notice(
            Notice::new(Topic::Compaction).with_status("failed").with_level(Level::Warning).with_text(error),
        );
    }
    recorder.write_notice_if_no_event(Notice {
        status: fields.get_non_empty("status"),
        ..Notice::new(Topic::Status).with_level(Level::Debug)
    });
}

/// Distinguishes the runs of a hook.
#[derive(Serialize)]
struct HookId<'a> {
    id: &'a str,
}

fn hook_notice(subtype: &str, fields: &JsonObject<'_>) -> Notice {
    let status = match (subtype, fields.get_str("outcome").as_deref()) {
        ("hook_started", _) => "started",
        ("hook_progress", _) => "running",
        (_, Some("error" | "cancelled")) => "failed",
        _ => "completed",
    };
    let mut notice = Notice::new(Topic::Hook).with_status(status);
    notice.name = fields.get_non_empty("hook_name").or_else(|| fields.get_non_empty("hook_event"));
    notice.text = fields.get_non_empty("output").or_else(|| fields.get_non_empty("stderr"));
    notice.detail = fields.get("hook_id").map(|id| to_raw_json(&HookId { id: &id.display_text() }));
    notice
}

fn retry_notice(fields: &JsonObject<'_>) -> Notice {
    let fault = errors::retry_fault(fields);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning).with_text(fault.message.clone());
    Notice { error: Some(fault), ..notice }
}

fn compaction_notice(fields: &JsonObject<'_>) -> Notice {
    let notice = Notice::new(Topic::Compaction).with_status("completed");
    Notice { detail: fields.get_raw("compact_metadata"), ..notice }
}

fn read_model_fallback(fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let mut notice = Notice::new(Topic::ModelChanged).with_level(Level::Warning);
    notice.text = fields.get_non_empty("content");
    notice.name = fields.get_non_empty("fallback_model");
    notice.detail = fields.get_raw("retracted_message_uuids");
    recorder.write_notice(notice);
    recorder.update_info(Info { model: fields.get_non_empty("fallback_model"), ..Info::default() });
}

fn warning_notice(fields: &JsonObject<'_>, level: Level) -> Notice {
    let text = fields.get_non_empty("content").or_else(|| fields.get_non_empty("text")).unwrap_or_default();
    Notice::new(Topic::Warning).with_level(level).with_text(text)
}

fn informational_notice(fields: &JsonObject<'_>) -> Notice {
    match fields.get_str("level").as_deref() {
        Some("warning") => warning_notice(fields, Level::Warning),
        _ => Notice { topic: Topic::Status, ..warning_notice(fields, Level::Info) },
    }
}

fn read_commands_changed(fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let commands = fields.get_array("commands").into_iter().filter_map(parse_named).collect();
    recorder.update_info(Info { commands, ..Info::default() });
    recorder.write_notice_if_no_event(Notice::new(Topic::Commands));
}

/// Parses a slash command or a subagent: a name, or a name with a description.
pub fn parse_named(entry: JsonView<'_>) -> Option<Named> {
    if let Some(name) = entry.as_str() {
        return Some(Named::new(name));
    }
    let fields = entry.as_object();
    Some(Named { name: fields.get_non_empty("name")?, description: fields.get_non_empty("description") })
}

/// The tool call of each task, and the running tasks.
#[derive(Default)]
pub struct BackgroundTasks {
    calls: VecDeque<(Id, Id)>,
    running: VecDeque<Id>,
}

impl BackgroundTasks {
    fn remember_call(&mut self, task: &str, call: &str) {
        push_bounded(&mut self.calls, (Id::from(task), Id::from(call)), MAX_REMEMBERED_TASKS);
    }

    fn mark_started(&mut self, task: &str) {
        self.mark_ended(task);
        push_bounded(&mut self.running, Id::from(task), MAX_REMEMBERED_TASKS);
    }

    fn mark_ended(&mut self, task: &str) {
        self.running.retain(|known| **known != *task);
    }

    pub fn is_any_running(&self) -> bool {
        !self.running.is_empty()
    }

    pub fn task_of_call(&self, call: &str) -> Option<Id> {
        self.calls.iter().rev().find(|(_, c)| *c == *call).map(|(task, _)| task.clone())
    }

    pub fn call_of_task(&self, task: &str) -> Option<Id> {
        self.calls.iter().rev().find(|(t, _)| *t == *task).map(|(_, call)| call.clone())
    }
}

impl ClaudeStreamReader {
    /// Reads a `system/task_*` record.
    fn read_task(&mut self, subtype: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let task = fields.get_string("task_id").unwrap_or_default();
        let call = fields.get_str("tool_use_id").map(Id::from).or_else(|| self.tasks.call_of_task(&task));
        let notice = Notice::new(Topic::Task).with_name(task.clone());
        match subtype {
            "task_started" => {
                self.tasks.mark_started(&task);
                self.link_started_task(&task, call.as_ref(), fields, recorder);
                let text = fields.get_string("description").unwrap_or_default();
                recorder.write_notice_about(call, notice.with_status("started").with_text(text));
            }
            "task_progress" => {
                let elapsed = fields.get_object("usage").get_u64("duration_ms");
                let text = fields.get_non_empty("description");
                let known = call.as_ref().is_some_and(|call| recorder.item_progress(call, elapsed, None, text.clone()));
                if !known {
                    recorder.write_notice_about(call, Notice { text, ..notice.with_status("running") });
                }
            }
            "task_updated" => {
                let status = fields.get_object("patch").get_string("status").unwrap_or_else(|| "running".to_owned());
                if matches!(status.as_str(), "completed" | "failed" | "killed" | "stopped") {
                    self.tasks.mark_ended(&task);
                }
                recorder.write_notice_about(call, notice.with_status(status));
            }
            _ => {
                self.tasks.mark_ended(&task);
                self.read_task_end(call, notice, fields, recorder);
            }
        }
    }

    /// Reads `background_tasks_changed`: the tasks that run now.
    fn read_background_tasks(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let running: Vec<_> = fields
            .get_array("tasks")
            .into_iter()
            .filter_map(|task| task.as_object().get_non_empty("task_id"))
            .collect();
        self.tasks.running.clear();
        running.iter().for_each(|task| self.tasks.mark_started(task));
        recorder.write_notice(heartbeat_notice("background_tasks_changed"));
    }

    fn link_started_task(
        &mut self,
        task: &str,
        call: Option<&Id>,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        let Some(call) = call else { return };
        self.tasks.remember_call(task, call);
        if let Some(Details::Subagent(subagent)) = recorder.item_mut(call).map(|item| &mut item.details) {
            subagent.thread = Some(Id::from(task));
            if subagent.prompt.is_none() {
                subagent.prompt = fields.get_non_empty("prompt");
            }
        }
    }

    /// Reads `task_notification`. After the turn, the next turn is about it.
    fn read_task_end(&mut self, call: Option<Id>, notice: Notice, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.woken |= !recorder.in_turn();
        let status = fields.get_string("status").unwrap_or_else(|| "completed".to_owned());
        let level = if status == "failed" { Level::Warning } else { Level::Info };
        let notice = notice.with_status(status).with_level(level);
        recorder.write_notice_about(call, Notice { text: fields.get_non_empty("summary"), ..notice });
    }
}
