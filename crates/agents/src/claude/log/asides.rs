//! Records that are no part of the conversation: what Claude Code says about itself, what it put into the model's
//! context, how far a tool is, titles, snapshots of files. What is not known here is kept as it is.

use switchboard_event::{Fault, Id, Info, Item, Level, Notice, Origin, Topic, UserMessage};

use super::{super::user, figures, read::Log, threads::Thread, words};
use crate::{Json, Object, Scribe};

impl Log {
    /// `system`.
    pub(super) fn system(&mut self, fields: &Object<'_>, thread: Option<&Thread>, scribe: &mut Scribe) {
        self.place(fields, thread, scribe);
        let subtype = fields.str("subtype").unwrap_or_default();
        match subtype.as_ref() {
            "turn_duration" => self.turn_took(fields, scribe),
            "compact_boundary" | "microcompact_boundary" => {
                let notice = Notice::new(Topic::Compaction).with_status("completed").with_name(subtype);
                let detail = fields.raw("compactMetadata").or_else(|| fields.raw("microcompactMetadata"));
                scribe.notice(Notice { detail, ..notice });
            }
            "api_error" => scribe.notice(retry(fields)),
            "local_command" => self.local_command(fields, scribe),
            "stop_hook_summary" => scribe.notice(hooks(fields)),
            "away_summary" => scribe.notice(summary("away_summary", fields.string("content"))),
            other => {
                let notice = said(fields).with_name(other);
                scribe.notice(notice);
            }
        }
    }

    fn turn_took(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        self.replies.over(None, None, scribe);
        match scribe.in_turn() {
            true => {
                // It says how long the turn took, so the turn is over.
                self.stop.get_or_insert_default();
                self.end_turn(fields.u64("durationMs"), scribe);
            }
            false => scribe.notice(Notice::new(Topic::Status).with_name("turn_duration")),
        }
    }

    /// A command that Claude Code answers itself: first its name, then what it printed.
    fn local_command(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let text = fields.string("content").unwrap_or_default();
        match words::of(&text) {
            words::Words::Command(command) => {
                self.begin_turn(Origin::Command, Some(command.clone()), fields, scribe);
                self.message(fields, vec![switchboard_event::Content::text(command)], false, scribe);
            }
            words::Words::Printed(printed) => scribe.notice(output(&printed)),
            _ => scribe.notice(output(&text)),
        }
    }

    /// `attachment`: what was put into the context. Only what somebody typed while Claude worked is a message.
    pub(super) fn attachment(&mut self, fields: &Object<'_>, thread: Option<&Thread>, scribe: &mut Scribe) {
        self.place(fields, thread, scribe);
        let attachment = fields.object("attachment");
        let kind = attachment.string("type").unwrap_or_default();
        match kind.as_str() {
            "queued_command" => self.queued(fields, &attachment, thread.is_none(), scribe),
            _ if kind.starts_with("hook_") => scribe.notice(hook(&kind, &attachment)),
            "max_turns_reached" => {
                let text = format!("the limit of {} turns was reached", attachment.count("maxTurns"));
                scribe.notice(Notice::new(Topic::Warning).with_level(Level::Warning).with_name(kind).with_text(text));
            }
            _ => {
                let text = attachment.filled("content").or_else(|| attachment.filled("message"));
                scribe.notice(Notice { text, ..Notice::new(Topic::Status).with_name(kind) });
            }
        }
    }

    fn queued(&mut self, fields: &Object<'_>, attachment: &Object<'_>, is_main: bool, scribe: &mut Scribe) {
        let content = user::contents(attachment.get("prompt"));
        let typed = is_main && is_typed(attachment);
        self.rests = false;
        if typed && !scribe.in_turn() {
            self.begin_turn(Origin::Prompt, Some(user::text_of(&content)), fields, scribe);
        }
        let id = fields.filled("uuid").map(Id::from).unwrap_or_else(|| self.make_up("message", scribe));
        scribe.item_completed(&id, Item::new(UserMessage { content, synthetic: !typed, queued: typed }));
    }

    /// `progress`: how far a tool is; of a subagent, what it said. Up to 2.1 its replies stood here.
    pub(super) fn progress(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let data = fields.object("data");
        let kind = data.string("type").unwrap_or_default();
        let call = fields.str("parentToolUseID").or_else(|| fields.str("toolUseID")).map(Id::from);
        if kind == "agent_progress"
            && let Some(call) = &call
            && self.agent_progress(&data, call, scribe)
        {
            return;
        }
        self.place(fields, None, scribe);
        if kind == "hook_progress" {
            let notice = Notice::new(Topic::Hook).with_status("running");
            let name = data.filled("hookName").or_else(|| data.filled("hookEvent"));
            return scribe.notice(Notice { name, text: data.filled("command"), ..notice });
        }
        let text = data.filled("output").or_else(|| data.filled("query"));
        let elapsed = data.u64("elapsedTimeSeconds").map(|seconds| seconds.saturating_mul(1000));
        let open = call.as_ref().is_some_and(|call| scribe.item_progress(call, elapsed, None, text.clone()));
        if !open {
            scribe.notice_about(call, Notice { text, ..Notice::new(Topic::Status).with_name(kind) });
        }
    }

    /// A record of a subagent within the progress of its call; false if it is none.
    fn agent_progress(&mut self, data: &Object<'_>, call: &Id, scribe: &mut Scribe) -> bool {
        let record = data.object("message");
        let thread = match data.filled("agentId") {
            Some(agent) => self.threads.works_for(&agent, call),
            None => Thread { id: call.clone(), call: Some(call.clone()) },
        };
        match record.str("type").as_deref() {
            Some("assistant") => self.assistant(&record, Some(&thread), scribe),
            Some("user") => self.user(&record, Some(&thread), scribe),
            _ => return false,
        }
        true
    }

    /// Records that are not chained to others.
    pub(super) fn aside(&mut self, kind: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match kind {
            "summary" => scribe.notice(summary(kind, fields.string("summary"))),
            "file-history-snapshot" => {
                let files = fields.object("snapshot").object("trackedFileBackups").iter().count();
                let plural = if files == 1 { "" } else { "s" };
                let text = format!("snapshot of {files} file{plural}");
                scribe.notice(Notice::new(Topic::Snapshot).with_name(kind).with_text(text));
            }
            "ai-title" | "custom-title" => {
                let title = ["customTitle", "aiTitle", "title"].iter().find_map(|key| fields.filled(key));
                // What somebody chose stays.
                if kind == "custom-title" || !self.is_titled {
                    scribe.info(Info { title: title.clone(), ..Info::default() });
                }
                self.is_titled |= kind == "custom-title";
                scribe.otherwise(Notice { text: title, ..Notice::new(Topic::Status).with_name(kind) });
            }
            "permission-mode" => {
                scribe.info(Info { mode: fields.filled("permissionMode"), ..Info::default() });
                scribe.otherwise(Notice::new(Topic::Status).with_name(kind));
            }
            "queue-operation" => {
                let notice = Notice::new(Topic::Control).with_name(kind);
                scribe.notice(Notice { status: fields.filled("operation"), ..notice });
            }
            "pr-link" => {
                let text = fields.filled("prUrl").or_else(|| fields.filled("url"));
                scribe.notice(Notice { text, ..Notice::new(Topic::Status).with_name(kind) });
            }
            "file-history-delta" => {
                let text = fields.filled("trackingPath");
                scribe.notice(Notice { text, ..Notice::new(Topic::Snapshot).with_name(kind) });
            }
            "cost-state" => scribe.usage(figures::running_total(fields)),
            // What went to the model, as it went: the conversation has it already.
            "api-request" | "api-request-blob" | "api-request-shape" | "atis-latch" | "tools-used" => {
                scribe.notice(Notice::new(Topic::Control).with_name(kind).with_level(Level::Debug));
            }
            "last-prompt" | "mode" | "agent-name" | "agent-setting" | "tag" | "worktree-state" => {
                scribe.notice(Notice::new(Topic::Status).with_name(kind));
            }
            _ => {}
        }
    }
}

/// Somebody typed it: news of tasks wait in the same queue.
pub fn is_typed(attachment: &Object<'_>) -> bool {
    let mode = attachment.str("commandMode");
    let origin = attachment.object("origin");
    mode.is_none_or(|mode| mode == "prompt") && (origin.is_empty() || origin.is("kind", "human"))
}

fn summary(name: &str, text: Option<String>) -> Notice {
    Notice { text, ..Notice::new(Topic::Status).with_name(name).with_status("summary") }
}

fn output(text: &str) -> Notice {
    Notice::new(Topic::Stdout).with_name("local_command").with_text(text)
}

fn said(fields: &Object<'_>) -> Notice {
    let notice = match fields.str("level").as_deref() {
        Some("warning") => Notice::new(Topic::Warning).with_level(Level::Warning),
        Some("error") => Notice::new(Topic::Warning).with_level(Level::Error),
        _ => Notice::new(Topic::Status),
    };
    Notice { text: fields.filled("content"), ..notice }
}

/// `api_error`: the call failed and is tried again.
fn retry(fields: &Object<'_>) -> Notice {
    let cause = fields.object("error");
    let status = cause.status("status");
    let words = cause.filled("message").or_else(|| fields.filled("error"));
    let attempt = match (fields.u64("retryAttempt"), fields.u64("maxRetries")) {
        (Some(attempt), Some(most)) => format!("the model's API failed, trying again ({attempt} of {most})"),
        _ => "the model's API failed, trying again".to_owned(),
    };
    let code = status.map_or(switchboard_event::ErrorCode::ApiError, switchboard_event::ErrorCode::from_http_status);
    let fault = Fault::new(code, attempt.clone()).with_status(status).with_info(words.unwrap_or_default());
    let fault = Fault { retryable: Some(true), ..fault };
    Notice { error: Some(fault), ..Notice::new(Topic::Retry).with_level(Level::Warning).with_text(attempt) }
}

fn hooks(fields: &Object<'_>) -> Notice {
    let failed = fields.array("hookErrors").len();
    let status = if failed > 0 || fields.is_true("preventedContinuation") { "failed" } else { "completed" };
    let notice = Notice::new(Topic::Hook).with_name("Stop").with_status(status);
    Notice { text: fields.filled("stopReason"), detail: fields.raw("hookInfos"), ..notice }
}

fn hook(kind: &str, attachment: &Object<'_>) -> Notice {
    let status = match kind {
        "hook_success" | "hook_additional_context" | "hook_system_message" => "completed",
        _ => "failed",
    };
    let notice = Notice::new(Topic::Hook).with_status(status);
    let name = attachment.filled("hookName").or_else(|| attachment.filled("hookEvent"));
    let text = ["content", "stdout", "stderr", "blockingError"].iter().find_map(|key| {
        let value = attachment.get(key)?;
        Some(Json::display(value).into_owned()).filter(|text| !text.is_empty())
    });
    Notice { name, text, ..notice }
}
