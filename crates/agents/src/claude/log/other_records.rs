//! Records outside the conversation: Claude Code's reports about itself, additions to the model's context, tool
//! progress, titles, file snapshots. Unknown records are kept unchanged.

use switchboard_event::{Fault, Id, Info, Item, Level, Notice, Origin, Topic, UserMessage};

use super::{SubagentThread, reader::ClaudeLogReader, replies, user_records};
use crate::{JsonObject, JsonView, RunRecorder, claude::messages};

impl ClaudeLogReader {
    pub(super) fn read_system(
        &mut self,
        fields: &JsonObject<'_>,
        thread: Option<&SubagentThread>,
        recorder: &mut RunRecorder,
    ) {
        self.enter_record(fields, thread, recorder);
        let subtype = fields.get_str("subtype").unwrap_or_default();
        match subtype.as_ref() {
            "turn_duration" => self.read_turn_duration(fields, recorder),
            "compact_boundary" | "microcompact_boundary" => {
                let notice = Notice::new(Topic::Compaction).with_status("completed").with_name(subtype);
                let detail = fields.get_raw("compactMetadata").or_else(|| fields.get_raw("microcompactMetadata"));
                recorder.write_notice(Notice { detail, ..notice });
            }
            "api_error" => recorder.write_notice(retry_notice(fields)),
            "local_command" => self.read_local_command(fields, recorder),
            "stop_hook_summary" => recorder.write_notice(hook_summary_notice(fields)),
            "away_summary" => recorder.write_notice(summary_notice("away_summary", fields.get_string("content"))),
            other => {
                let notice = system_notice(fields).with_name(other);
                recorder.write_notice(notice);
            }
        }
    }

    fn read_turn_duration(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        self.replies.finish_replies(None, None, recorder);
        match recorder.in_turn() {
            true => {
                // The record has the duration of the turn, so the turn is over.
                self.stop.get_or_insert_default();
                self.end_turn(fields.get_u64("durationMs"), recorder);
            }
            false => recorder.write_notice(Notice::new(Topic::Status).with_name("turn_duration")),
        }
    }

    /// Reads a command that Claude Code answers itself: first its name, then its output.
    fn read_local_command(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let text = fields.get_string("content").unwrap_or_default();
        match user_records::classify_user_text(&text) {
            user_records::UserTextKind::Command(command) => {
                self.begin_turn(Origin::Command, Some(command.clone()), fields, recorder);
                self.write_user_message(fields, vec![switchboard_event::Content::text(command)], false, recorder);
            }
            user_records::UserTextKind::Printed(printed) => recorder.write_notice(stdout_notice(&printed)),
            _ => recorder.write_notice(stdout_notice(&text)),
        }
    }

    /// Reads an `attachment`, an addition to the context. Only text that a person typed during the turn is a message.
    pub(super) fn read_attachment(
        &mut self,
        fields: &JsonObject<'_>,
        thread: Option<&SubagentThread>,
        recorder: &mut RunRecorder,
    ) {
        self.enter_record(fields, thread, recorder);
        let attachment = fields.get_object("attachment");
        let kind = attachment.get_string("type").unwrap_or_default();
        match kind.as_str() {
            "queued_command" => self.read_queued_command(fields, &attachment, thread.is_none(), recorder),
            _ if kind.starts_with("hook_") => recorder.write_notice(hook_notice(&kind, &attachment)),
            "max_turns_reached" => {
                let text = format!("the limit of {} turns was reached", attachment.get_count("maxTurns"));
                recorder.write_notice(
                    Notice::new(Topic::Warning).with_level(Level::Warning).with_name(kind).with_text(text),
                );
            }
            _ => {
                let text = attachment.get_non_empty("content").or_else(|| attachment.get_non_empty("message"));
                recorder.write_notice(Notice { text, ..Notice::new(Topic::Status).with_name(kind) });
            }
        }
    }

    fn read_queued_command(
        &mut self,
        fields: &JsonObject<'_>,
        attachment: &JsonObject<'_>,
        is_main: bool,
        recorder: &mut RunRecorder,
    ) {
        let content = messages::parse_contents(attachment.get("prompt"));
        let typed = is_main && is_typed_by_user(attachment);
        self.rests = false;
        if typed && !recorder.in_turn() {
            self.begin_turn(Origin::Prompt, Some(messages::contents_text(&content)), fields, recorder);
        }
        let id = fields.get_non_empty("uuid").map(Id::from).unwrap_or_else(|| self.generate_id("message", recorder));
        recorder.item_completed(&id, Item::new(UserMessage { content, synthetic: !typed, queued: typed }));
    }

    /// Reads `progress` of a tool or of a subagent. Up to 2.1, replies of subagents were stored here.
    pub(super) fn read_progress(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let data = fields.get_object("data");
        let kind = data.get_string("type").unwrap_or_default();
        let call = fields.get_str("parentToolUseID").or_else(|| fields.get_str("toolUseID")).map(Id::from);
        if kind == "agent_progress"
            && let Some(call) = &call
            && self.read_agent_progress(&data, call, recorder)
        {
            return;
        }
        self.enter_record(fields, None, recorder);
        if kind == "hook_progress" {
            let notice = Notice::new(Topic::Hook).with_status("running");
            let name = data.get_non_empty("hookName").or_else(|| data.get_non_empty("hookEvent"));
            return recorder.write_notice(Notice { name, text: data.get_non_empty("command"), ..notice });
        }
        let text = data.get_non_empty("output").or_else(|| data.get_non_empty("query"));
        let elapsed = data.get_u64("elapsedTimeSeconds").map(|seconds| seconds.saturating_mul(1000));
        let open = call.as_ref().is_some_and(|call| recorder.item_progress(call, elapsed, None, text.clone()));
        if !open {
            recorder.write_notice_about(call, Notice { text, ..Notice::new(Topic::Status).with_name(kind) });
        }
    }

    /// Reads a record of a subagent within the progress of its call; returns false if there is none.
    fn read_agent_progress(&mut self, data: &JsonObject<'_>, call: &Id, recorder: &mut RunRecorder) -> bool {
        let record = data.get_object("message");
        let thread = match data.get_non_empty("agentId") {
            Some(agent) => self.threads.assign_call(&agent, call),
            None => SubagentThread { id: call.clone(), call: Some(call.clone()) },
        };
        match record.get_str("type").as_deref() {
            Some("assistant") => self.read_assistant(&record, Some(&thread), recorder),
            Some("user") => self.read_user(&record, Some(&thread), recorder),
            _ => return false,
        }
        true
    }

    /// Reads records that are not chained to others.
    pub(super) fn read_auxiliary(&mut self, kind: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match kind {
            "summary" => recorder.write_notice(summary_notice(kind, fields.get_string("summary"))),
            "file-history-snapshot" => {
                let files = fields.get_object("snapshot").get_object("trackedFileBackups").iter().count();
                let plural = if files == 1 { "" } else { "s" };
                let text = format!("snapshot of {files} file{plural}");
                recorder.write_notice(Notice::new(Topic::Snapshot).with_name(kind).with_text(text));
            }
            "ai-title" | "custom-title" => {
                let title = ["customTitle", "aiTitle", "title"].iter().find_map(|key| fields.get_non_empty(key));
                // A title chosen by the user stays.
                if kind == "custom-title" || !self.is_titled {
                    recorder.update_info(Info { title: title.clone(), ..Info::default() });
                }
                self.is_titled |= kind == "custom-title";
                recorder.write_notice_if_no_event(Notice { text: title, ..Notice::new(Topic::Status).with_name(kind) });
            }
            "permission-mode" => {
                recorder.update_info(Info { mode: fields.get_non_empty("permissionMode"), ..Info::default() });
                recorder.write_notice_if_no_event(Notice::new(Topic::Status).with_name(kind));
            }
            "queue-operation" => {
                let notice = Notice::new(Topic::Control).with_name(kind);
                recorder.write_notice(Notice { status: fields.get_non_empty("operation"), ..notice });
            }
            "pr-link" => {
                let text = fields.get_non_empty("prUrl").or_else(|| fields.get_non_empty("url"));
                recorder.write_notice(Notice { text, ..Notice::new(Topic::Status).with_name(kind) });
            }
            "file-history-delta" => {
                let text = fields.get_non_empty("trackingPath");
                recorder.write_notice(Notice { text, ..Notice::new(Topic::Snapshot).with_name(kind) });
            }
            "cost-state" => recorder.record_usage(replies::running_total(fields)),
            // A copy of the request to the model: the conversation already has its content.
            "api-request" | "api-request-blob" | "api-request-shape" | "atis-latch" | "tools-used" => {
                recorder.write_notice(Notice::new(Topic::Control).with_name(kind).with_level(Level::Debug));
            }
            "last-prompt" | "mode" | "agent-name" | "agent-setting" | "tag" | "worktree-state" => {
                recorder.write_notice(Notice::new(Topic::Status).with_name(kind));
            }
            _ => {}
        }
    }
}

/// Returns whether a person typed the text: task notifications wait in the same queue.
pub fn is_typed_by_user(attachment: &JsonObject<'_>) -> bool {
    let mode = attachment.get_str("commandMode");
    let origin = attachment.get_object("origin");
    mode.is_none_or(|mode| mode == "prompt") && (origin.is_empty() || origin.str_equals("kind", "human"))
}

fn summary_notice(name: &str, text: Option<String>) -> Notice {
    Notice { text, ..Notice::new(Topic::Status).with_name(name).with_status("summary") }
}

fn stdout_notice(text: &str) -> Notice {
    Notice::new(Topic::Stdout).with_name("local_command").with_text(text)
}

fn system_notice(fields: &JsonObject<'_>) -> Notice {
    let notice = match fields.get_str("level").as_deref() {
        Some("warning") => Notice::new(Topic::Warning).with_level(Level::Warning),
        Some("error") => Notice::new(Topic::Warning).with_level(Level::Error),
        _ => Notice::new(Topic::Status),
    };
    Notice { text: fields.get_non_empty("content"), ..notice }
}

/// `api_error`: the call failed and is retried.
fn retry_notice(fields: &JsonObject<'_>) -> Notice {
    let cause = fields.get_object("error");
    let status = cause.get_http_status("status");
    let words = cause.get_non_empty("message").or_else(|| fields.get_non_empty("error"));
    let attempt = match (fields.get_u64("retryAttempt"), fields.get_u64("maxRetries")) {
        (Some(attempt), Some(most)) => format!("the model's API failed, trying again ({attempt} of {most})"),
        _ => "the model's API failed, trying again".to_owned(),
    };
    let code = status.map_or(switchboard_event::ErrorCode::ApiError, switchboard_event::ErrorCode::from_http_status);
    let fault = Fault::new(code, attempt.clone()).with_status(status).with_info(words.unwrap_or_default());
    let fault = Fault { retryable: Some(true), ..fault };
    Notice { error: Some(fault), ..Notice::new(Topic::Retry).with_level(Level::Warning).with_text(attempt) }
}

fn hook_summary_notice(fields: &JsonObject<'_>) -> Notice {
    let failed = fields.get_array("hookErrors").len();
    let status = if failed > 0 || fields.is_true("preventedContinuation") { "failed" } else { "completed" };
    let notice = Notice::new(Topic::Hook).with_name("Stop").with_status(status);
    Notice { text: fields.get_non_empty("stopReason"), detail: fields.get_raw("hookInfos"), ..notice }
}

fn hook_notice(kind: &str, attachment: &JsonObject<'_>) -> Notice {
    let status = match kind {
        "hook_success" | "hook_additional_context" | "hook_system_message" => "completed",
        _ => "failed",
    };
    let notice = Notice::new(Topic::Hook).with_status(status);
    let name = attachment.get_non_empty("hookName").or_else(|| attachment.get_non_empty("hookEvent"));
    let text = ["content", "stdout", "stderr", "blockingError"].iter().find_map(|key| {
        let value = attachment.get(key)?;
        Some(JsonView::display_text(value).into_owned()).filter(|text| !text.is_empty())
    });
    Notice { name, text, ..notice }
}
