//! `system`: what Claude Code says about itself.

use serde::Serialize;
use switchboard_event::{ApprovalMode, Info, Level, McpServer, Named, Notice, SessionStatus, Topic, raw};

use super::{
    errors,
    live::{Live, heartbeat},
};
use crate::{Json, Object, Scribe};

impl Live {
    /// `system`.
    pub(super) fn system(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let subtype = fields.str("subtype").unwrap_or_default();
        match subtype.as_ref() {
            "init" => self.init(fields, scribe),
            "status" => status(fields, scribe),
            "session_state_changed" => self.state_changed(fields, scribe),
            "task_started" | "task_progress" | "task_updated" | "task_notification" => {
                self.task(&subtype, fields, scribe);
            }
            "background_tasks_changed" => self.background_tasks(fields, scribe),
            "hook_started" | "hook_progress" | "hook_response" => scribe.notice(hook(&subtype, fields)),
            "api_retry" => {
                self.failed_status = fields.status("error_status");
                scribe.notice(retry(fields));
            }
            "compact_boundary" => scribe.notice(compacted(fields)),
            "permission_denied" => self.permission_denied(fields, scribe),
            "model_fallback" | "model_refusal_fallback" => fallback(fields, scribe),
            "model_refusal_no_fallback" => scribe.notice(warning(fields, Level::Warning)),
            "informational" | "notification" | "local_command_output" => scribe.notice(informational(fields)),
            "commands_changed" => commands_changed(fields, scribe),
            "thinking_tokens" | "ui_invalidate" => scribe.notice(heartbeat(&subtype)),
            "session_title_changed" => {
                scribe.info(Info { title: fields.filled("title"), ..Info::default() });
                scribe
                    .otherwise(Notice::new(Topic::Status).with_name("session_title_changed").with_level(Level::Debug));
            }
            "files_persisted" => scribe.notice(Notice::new(Topic::Snapshot).with_name("files_persisted")),
            other if other.starts_with("plugin_") || other.starts_with("elicitation") => {
                scribe.notice(Notice::new(Topic::Control).with_name(other));
            }
            _ => {}
        }
    }

    /// `init` begins every turn; only what changed since the last is worth telling.
    fn init(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if let Some(session) =
            fields.filled("session_id").filter(|id| scribe.session().is_some_and(|known| **known != **id))
        {
            // After `/clear` the session goes on as another one of Claude's.
            scribe.moved(&session);
        }
        if let Some(mode) = fields.str("permissionMode") {
            scribe.config(|config| config.approval_mode = config.approval_mode.or(approval(&mode)));
        }
        if let Some(model) = fields.filled("model") {
            self.offers.uses(&model);
        }
        scribe.info(Info {
            cwd: fields.filled("cwd"),
            model: fields.filled("model"),
            provider: Some("anthropic".to_owned()),
            mode: fields.filled("permissionMode"),
            version: fields.filled("claude_code_version"),
            tools: fields.strings("tools"),
            commands: self.offers.commands(fields.strings("slash_commands")),
            options: self.offers.options(),
            mcp: fields.array("mcp_servers").into_iter().map(mcp_server).collect(),
            agents: self.offers.agents(fields.strings("agents")),
            ..Info::default()
        });
        self.ensure_turn(scribe);
        self.turn_has_init();
        scribe.otherwise(Notice::new(Topic::Status).with_name("init").with_level(Level::Debug));
    }

    /// `session_state_changed`. Who is idle has taken up every prompt.
    fn state_changed(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let status = match fields.str("state").as_deref() {
            Some("idle") => {
                self.waiting.clear();
                SessionStatus::Idle
            }
            Some("requires_action") => SessionStatus::RequiresAction,
            _ => SessionStatus::Running,
        };
        scribe.info(Info { status: Some(status), ..Info::default() });
        scribe.otherwise(Notice::new(Topic::Status).with_name("session_state_changed"));
    }

    /// A rule or a mode said no, without anybody being asked.
    fn permission_denied(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let call = fields.str("tool_use_id").unwrap_or_default();
        self.asks.denied(&call);
        let text = fields.string("message").unwrap_or_else(|| "not allowed".to_owned());
        scribe.notice_about(
            Some(call.into()),
            Notice::new(Topic::Warning).with_name("permission_denied").with_text(text),
        );
    }
}

fn mcp_server(server: Json<'_>) -> McpServer {
    let server = server.object();
    McpServer { name: server.string("name").unwrap_or_default(), status: server.filled("status") }
}

fn approval(mode: &str) -> Option<ApprovalMode> {
    match mode {
        "default" => Some(ApprovalMode::Ask),
        "acceptEdits" => Some(ApprovalMode::AutoEdit),
        "bypassPermissions" => Some(ApprovalMode::AutoAll),
        _ => None,
    }
}

/// `status` is a word or null; older descriptions have a flag `is_compacting`.
fn status(fields: &Object<'_>, scribe: &mut Scribe) {
    let resting = if scribe.in_turn() { SessionStatus::Running } else { SessionStatus::Idle };
    let compacting = fields.is_true("is_compacting") || fields.is("status", "compacting");
    let status = if compacting { SessionStatus::Compacting } else { resting };
    scribe.info(Info { status: Some(status), mode: fields.filled("permissionMode"), ..Info::default() });
    if let Some(error) = fields.filled("compact_error") {
        scribe.notice(Notice::new(Topic::Compaction).with_status("failed").with_level(Level::Warning).with_text(error));
    }
    scribe.otherwise(Notice { status: fields.filled("status"), ..Notice::new(Topic::Status).with_level(Level::Debug) });
}

/// Tells the runs of a hook apart.
#[derive(Serialize)]
struct HookId<'a> {
    id: &'a str,
}

fn hook(subtype: &str, fields: &Object<'_>) -> Notice {
    let status = match (subtype, fields.str("outcome").as_deref()) {
        ("hook_started", _) => "started",
        ("hook_progress", _) => "running",
        (_, Some("error" | "cancelled")) => "failed",
        _ => "completed",
    };
    let mut notice = Notice::new(Topic::Hook).with_status(status);
    notice.name = fields.filled("hook_name").or_else(|| fields.filled("hook_event"));
    notice.text = fields.filled("output").or_else(|| fields.filled("stderr"));
    notice.detail = fields.get("hook_id").map(|id| raw(&HookId { id: &id.display() }));
    notice
}

fn retry(fields: &Object<'_>) -> Notice {
    let fault = errors::of_retry(fields);
    let notice = Notice::new(Topic::Retry).with_level(Level::Warning).with_text(fault.message.clone());
    Notice { error: Some(fault), ..notice }
}

fn compacted(fields: &Object<'_>) -> Notice {
    let notice = Notice::new(Topic::Compaction).with_status("completed");
    Notice { detail: fields.raw("compact_metadata"), ..notice }
}

fn fallback(fields: &Object<'_>, scribe: &mut Scribe) {
    let mut notice = Notice::new(Topic::ModelChanged).with_level(Level::Warning);
    notice.text = fields.filled("content");
    notice.name = fields.filled("fallback_model");
    notice.detail = fields.raw("retracted_message_uuids");
    scribe.notice(notice);
    scribe.info(Info { model: fields.filled("fallback_model"), ..Info::default() });
}

fn warning(fields: &Object<'_>, level: Level) -> Notice {
    let text = fields.filled("content").or_else(|| fields.filled("text")).unwrap_or_default();
    Notice::new(Topic::Warning).with_level(level).with_text(text)
}

fn informational(fields: &Object<'_>) -> Notice {
    match fields.str("level").as_deref() {
        Some("warning") => warning(fields, Level::Warning),
        _ => Notice { topic: Topic::Status, ..warning(fields, Level::Info) },
    }
}

fn commands_changed(fields: &Object<'_>, scribe: &mut Scribe) {
    let commands = fields.array("commands").into_iter().filter_map(named).collect();
    scribe.info(Info { commands, ..Info::default() });
    scribe.otherwise(Notice::new(Topic::Commands));
}

/// A slash command or a subagent: a name, or a name with a description.
pub fn named(entry: Json<'_>) -> Option<Named> {
    if let Some(name) = entry.str() {
        return Some(Named::new(name));
    }
    let fields = entry.object();
    Some(Named { name: fields.filled("name")?, description: fields.filled("description") })
}
