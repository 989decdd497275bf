//! Claude Code: `claude -p --output-format stream-json`, one-way or with the control protocol on its input.

mod abandoned;
mod control;
mod driver;
mod errors;
mod items;
mod launch;
mod log;
mod messages;
mod offers;
mod prompt_queue;
mod requests;
mod rules;
mod settings;
mod stream;
mod system;
mod turn;
mod turn_tracker;

#[cfg(test)]
mod driver_tests;

#[cfg(test)]
mod launch_tests;

#[cfg(test)]
mod recorded_tests;

use control::ClaudeControlRequests;
pub use launch::{AGENT, endpoints, state_directory};
pub use log::LOGS;
use offers::ClaudeOptions;
use prompt_queue::PromptQueue;
use stream::ReplyStream;
use switchboard_event::{Dir, EndReason, ErrorCode, Fault, Id, Level, Notice, Timestamp, Topic};
use system::BackgroundTasks;
use turn::ClaudeUsageAccounting;

use crate::{EngineNote, JsonObject, JsonView, RecordReader, RecordSource, RunRecorder, SessionEnding, board};

/// The record sources of Claude Code.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "claude",
        agent: "claude",
        title: "Claude Code, `claude -p --output-format stream-json --verbose`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(ClaudeStreamReader::default()),
    },
    RecordSource {
        name: "claude:log",
        agent: "claude",
        title: "Claude Code's session logs, `projects/**/*.jsonl`",
        schema: None,
        reader: || Box::new(log::ClaudeLogReader::default()),
    },
];

#[derive(Default)]
pub struct ClaudeStreamReader {
    /// The reply that is being streamed, and the one before it.
    pub(super) stream: ReplyStream,
    /// The last reply that arrived block by block, and the number of its latest block.
    pub(super) blocks: Option<(Id, u32)>,
    /// Token usage and cost.
    pub(super) books: ClaudeUsageAccounting,
    /// Control requests in both directions.
    pub(super) asks: ClaudeControlRequests,
    /// Models, commands, agents and settings.
    pub(super) offers: ClaudeOptions,
    /// Subagents and other background work.
    pub(super) tasks: BackgroundTasks,
    /// The to-do list that single calls change.
    pub(super) todos: items::TodoList,
    /// Prompts that no turn has taken up yet.
    pub(super) waiting: PromptQueue,
    /// The error that Claude Code reported in place of a reply.
    pub(super) fault: Option<Fault>,
    /// The HTTP status of the last API call that failed and was retried.
    pub(super) failed_status: Option<u16>,
    /// The turn has produced text.
    said: bool,
    /// The turn has had its `init` record.
    has_init: bool,
    /// A `result` was held back, which only happens in a one-shot: no prompt can start another turn.
    pub(super) is_one_shot: bool,
    /// The next turn, if it began before this one ended.
    pub(super) overlap: Option<OverlappingTurn>,
    /// A background task ended: the next turn is about it.
    pub(super) woken: bool,
    pub(super) made_up: u32,
    /// The session's id, as long as only records before `init` carried it.
    early: Option<String>,
    /// Session events, which older descriptions of Claude Code have in place of its stream.
    board: board::BoardReader,
}

/// A turn that began before the previous one ended: in a one-shot, Claude Code holds a `result` back until background
/// agents are done, and the messages about them come first.
#[derive(Default)]
pub struct OverlappingTurn {
    said: bool,
}

impl RecordReader for ClaudeStreamReader {
    fn product_name(&self) -> Option<&'static str> {
        Some("claude_code")
    }

    fn read(&mut self, dir: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        if dir == Dir::Out {
            return self.read_sent(&fields, recorder);
        }
        self.identify_session(&fields, recorder);
        match fields.get_str("type").as_deref() {
            Some("stream_event") => self.read_stream_event(&fields, recorder),
            Some("assistant") => self.read_assistant(&fields, recorder),
            Some("user") => self.read_user(&fields, recorder),
            Some("system") => self.read_system(&fields, recorder),
            Some("result") => self.read_result(&fields, recorder),
            Some("control_request") => self.read_control_request(&fields, recorder),
            Some("control_response") => self.read_control_response(&fields, recorder),
            Some("control_cancel_request") => self.read_cancel_request(&fields, recorder),
            Some(_) if board::is_session_event(&fields) => self.board.read(dir, record, recorder),
            Some(other) => self.read_rare(other, &fields, recorder),
            None => {}
        }
    }

    fn handle_note(&mut self, note: &EngineNote<'_>, recorder: &mut RunRecorder) {
        // Claude Code 2.1.0 reports it nowhere else.
        if let EngineNote::Stderr(line) = note
            && line.starts_with(errors::SESSION_NOT_FOUND_PREFIX)
            && !recorder.in_turn()
        {
            let fault = Fault::new(ErrorCode::SessionNotFound, format!("{line}{}", errors::SESSION_DIRECTORY_HINT));
            recorder.session_ending(SessionEnding { reason: EndReason::Failed, error: Some(fault) });
        }
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        recorder.set_agent_session(self.early.as_deref().unwrap_or_default());
        self.supersede_abandoned(recorder);
        self.books.report_cut_off(recorder);
        self.board.finish(recorder);
    }
}

impl ClaudeStreamReader {
    /// Reads a record sent to Claude Code.
    fn read_sent(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match fields.get_str("type").as_deref() {
            Some("user") => self.read_prompt(fields, recorder),
            Some("control_request") => self.read_sent_request(fields, recorder),
            Some("control_response") => self.read_sent_response(fields, recorder),
            Some("keep_alive") => recorder.write_notice(heartbeat_notice("keep_alive")),
            Some(other) => recorder.write_notice(Notice::new(Topic::Control).with_name(other)),
            None => {}
        }
    }

    /// Identifies the session. Hooks and state changes come before `init`, which describes the session: the start event
    /// waits for it.
    fn identify_session(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(session) = fields.get_str("session_id") else { return };
        let early = match fields.get_str("type").as_deref() {
            Some("system") => fields.get_str("subtype").is_some_and(|kind| {
                matches!(kind.as_ref(), "session_state_changed" | "background_tasks_changed" | "session_title_changed")
                    || kind.starts_with("hook_")
                    || kind.starts_with("plugin_")
            }),
            kind => matches!(kind, Some("command_lifecycle" | "conversation_reset")),
        };
        match early {
            true => self.early = Some(session.into_owned()),
            false => recorder.set_agent_session(&session),
        }
    }

    /// Reads records that most sessions never have.
    fn read_rare(&mut self, kind: &str, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        match kind {
            "tool_progress" => write_tool_progress(fields, recorder),
            "tool_use_summary" => recorder.write_notice(tool_summary_notice(fields)),
            "auth_status" => recorder.write_notice(auth_status_notice(fields)),
            "rate_limit_event" => recorder.write_notice(rate_limit_notice(fields)),
            "prompt_suggestion" => {
                let text = fields.get_string("suggestion").unwrap_or_default();
                recorder.write_notice(Notice::new(Topic::Status).with_name(kind).with_text(text));
            }
            "keep_alive" | "control_request_progress" => recorder.write_notice(heartbeat_notice(kind)),
            "conversation_reset" => self.reset_conversation(recorder),
            "active_goal" => recorder.write_notice(Notice::new(Topic::Status).with_name(kind)),
            "session_writes_lost" => {
                let text = "Claude Code could not write the session to disk: it may not be possible to continue it";
                recorder.write_notice(
                    Notice::new(Topic::Warning).with_name(kind).with_level(Level::Warning).with_text(text),
                );
            }
            // Newer than 2.1.197: the state of a prompt, by its id.
            "command_lifecycle" => {
                recorder.write_notice(Notice { status: fields.get_non_empty("state"), ..heartbeat_notice(kind) })
            }
            "transcript_mirror" => recorder.write_notice(Notice::new(Topic::Echo).with_name(kind)),
            _ => {}
        }
    }

    /// Handles `/clear`. The record still has the id of the old conversation; the next `init` has the new one.
    fn reset_conversation(&mut self, recorder: &mut RunRecorder) {
        self.books.reset_totals();
        recorder.write_notice(
            Notice::new(Topic::Status).with_name("conversation_reset").with_text("the conversation was cleared"),
        );
    }

    /// Handles the `init` of a turn. If the open turn already had one, another turn has begun.
    pub(super) fn turn_has_init(&mut self) {
        if std::mem::replace(&mut self.has_init, true) {
            self.is_one_shot = true;
            self.overlap.get_or_insert_default();
            self.books.mark_overlap();
        }
    }

    /// Marks that the main conversation produced text.
    pub(super) fn mark_spoken(&mut self) {
        match &mut self.overlap {
            Some(overlap) => overlap.said = true,
            None => self.said = true,
        }
    }

    /// Returns whether the open turn produced text.
    pub(super) fn has_spoken(&self) -> bool {
        self.said
    }

    /// Forgets the last turn. What an overlapping turn produced belongs to the new one.
    pub(super) fn forget_turn(&mut self) {
        self.said = self.overlap.take().is_some_and(|overlap| overlap.said);
        (self.fault, self.woken, self.has_init) = (None, false, false);
    }

    /// Places a record of a subagent below its tool call. Returns false for a record of the main conversation.
    pub(super) fn enter_subagent(&self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) -> bool {
        let Some(parent) = fields.get_str("parent_tool_use_id") else { return false };
        let thread = self.tasks.task_of_call(&parent).unwrap_or_else(|| Id::from(&parent));
        recorder.set_scope(Some(Id::from(parent)), Some(thread));
        true
    }

    /// Generates an id for an entry without one.
    pub(super) fn generate_id(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.made_up += 1;
        recorder.local_id(&format!("{what}_{}", self.made_up))
    }
}

/// A notice that only shows that Claude Code is alive.
pub(super) fn heartbeat_notice(name: &str) -> Notice {
    Notice::new(Topic::Heartbeat).with_name(name).with_level(Level::Debug)
}

pub(super) fn record_timestamp(fields: &JsonObject<'_>) -> Option<Timestamp> {
    Timestamp::parse(&fields.get_str("timestamp")?)
}

/// Claude Code 2.1.197 sends `tool_use_id: "bash-progress-0"`; the real id is the parent's.
fn write_tool_progress(fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
    let elapsed = fields.get_f64("elapsed_time_seconds").map(|s| (s * 1000.0).max(0.0).round());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    let elapsed = elapsed.map(|ms| ms as u64);
    let open = ["tool_use_id", "parent_tool_use_id"]
        .into_iter()
        .filter_map(|key| fields.get_str(key))
        .any(|id| recorder.item_progress(&id, elapsed, None, None));
    if !open {
        recorder.write_notice(Notice::new(Topic::Late).with_name("tool_progress"));
    }
}

fn tool_summary_notice(fields: &JsonObject<'_>) -> Notice {
    let notice = Notice::new(Topic::ToolSummary).with_text(fields.get_string("summary").unwrap_or_default());
    Notice { detail: fields.get_raw("preceding_tool_use_ids"), ..notice }
}

fn auth_status_notice(fields: &JsonObject<'_>) -> Notice {
    let status = if fields.is_true("isAuthenticating") { "authenticating" } else { "idle" };
    let mut notice = Notice::new(Topic::Auth).with_status(status);
    notice.text = fields
        .get_non_empty("error")
        .or_else(|| Some(fields.get_strings("output").join("\n")).filter(|t| !t.is_empty()));
    notice
}

fn rate_limit_notice(fields: &JsonObject<'_>) -> Notice {
    let info = fields.get_object("rate_limit_info");
    let rejected = info.str_equals("status", "rejected");
    let level = if rejected { Level::Warning } else { Level::Info };
    let notice = Notice::new(Topic::RateLimit).with_level(level);
    Notice { status: info.get_non_empty("status"), detail: fields.get_raw("rate_limit_info"), ..notice }
}
