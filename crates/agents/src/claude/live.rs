//! What Claude Code prints and is told, record by record. Only dispatches; each kind of record has its own file.

use switchboard_event::{Dir, EndReason, ErrorCode, Fault, Id, Level, Notice, Timestamp, Topic};

use super::{control::Asks, errors, items, offers::Offers, queue::Waiting, stream::Stream, tasks::Tasks, turn::Books};
use crate::{Ending, Json, Note, Object, Reader, Scribe, board};

/// Reads Claude Code's stream.
#[derive(Default)]
pub struct Live {
    /// The reply that is being streamed, and the one before it.
    pub(super) stream: Stream,
    /// How many blocks a reply had so far, where replies come block by block.
    pub(super) blocks: Option<(Id, u32)>,
    /// What was used and spent.
    pub(super) books: Books,
    /// Requests of the control protocol, both ways.
    pub(super) asks: Asks,
    /// What can be chosen.
    pub(super) offers: Offers,
    /// Subagents and other work in the background.
    pub(super) tasks: Tasks,
    /// The to-do list that single calls change.
    pub(super) todos: items::Todos,
    /// What the user said and no turn has taken up yet.
    pub(super) waiting: Waiting,
    /// The error that Claude put in place of an answer.
    pub(super) fault: Option<Fault>,
    /// The HTTP status of the last call of the model that failed and was tried again.
    pub(super) failed_status: Option<u16>,
    /// The turn said something.
    said: bool,
    /// The turn has told about itself.
    has_init: bool,
    /// A result was held back, as only a one-shot does it: no prompt can begin another turn.
    pub(super) is_one_shot: bool,
    /// The next turn, if it began before this one ended.
    pub(super) overlap: Option<Overlap>,
    /// A task ended in the background: the next turn is about that.
    pub(super) woken: bool,
    pub(super) made_up: u32,
    /// The session's id, if all that said it so far came before the session told about itself.
    early: Option<String>,
    /// Session events, which older descriptions of Claude Code have in place of its stream.
    board: board::Live,
}

/// A turn that began before the one before it ended: in a one-shot, Claude Code holds a `result` back until agents in
/// the background are done, and what Claude says about them comes first.
#[derive(Default)]
pub struct Overlap {
    said: bool,
}

impl Reader for Live {
    fn product(&self) -> Option<&'static str> {
        Some("claude_code")
    }

    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        if dir == Dir::Out {
            return self.sent(&fields, scribe);
        }
        self.identify(&fields, scribe);
        match fields.str("type").as_deref() {
            Some("stream_event") => self.stream_event(&fields, scribe),
            Some("assistant") => self.assistant(&fields, scribe),
            Some("user") => self.user(&fields, scribe),
            Some("system") => self.system(&fields, scribe),
            Some("result") => self.result(&fields, scribe),
            Some("control_request") => self.asked(&fields, scribe),
            Some("control_response") => self.answered(&fields, scribe),
            Some("control_cancel_request") => self.withdrawn(&fields, scribe),
            Some(_) if board::is_session_event(&fields) => self.board.read(dir, record, scribe),
            Some(other) => self.rare(other, &fields, scribe),
            None => {}
        }
    }

    fn note(&mut self, note: &Note<'_>, scribe: &mut Scribe) {
        // Claude Code 2.1.0 says it nowhere else.
        if let Note::Stderr(line) = note
            && line.starts_with(errors::NOT_FOUND)
            && !scribe.in_turn()
        {
            let fault = Fault::new(ErrorCode::SessionNotFound, format!("{line}{}", errors::ELSEWHERE));
            scribe.session_ending(Ending { reason: EndReason::Failed, error: Some(fault) });
        }
    }

    fn end(&mut self, scribe: &mut Scribe) {
        scribe.identify(self.early.as_deref().unwrap_or_default());
        self.supersede_abandoned(scribe);
        self.books.cut_off(scribe);
        self.board.end(scribe);
    }
}

impl Live {
    /// What we told Claude.
    fn sent(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        match fields.str("type").as_deref() {
            Some("user") => self.prompted(fields, scribe),
            Some("control_request") => self.told(fields, scribe),
            Some("control_response") => self.decided(fields, scribe),
            Some("keep_alive") => scribe.notice(heartbeat("keep_alive")),
            Some(other) => scribe.notice(Notice::new(Topic::Control).with_name(other)),
            None => {}
        }
    }

    /// Who it is. Hooks and changes of state come before `init`, which says what the session is: the beginning of a
    /// session waits for it.
    fn identify(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(session) = fields.str("session_id") else { return };
        let early = match fields.str("type").as_deref() {
            Some("system") => fields.str("subtype").is_some_and(|kind| {
                matches!(kind.as_ref(), "session_state_changed" | "background_tasks_changed" | "session_title_changed")
                    || kind.starts_with("hook_")
                    || kind.starts_with("plugin_")
            }),
            kind => matches!(kind, Some("command_lifecycle" | "conversation_reset")),
        };
        match early {
            true => self.early = Some(session.into_owned()),
            false => scribe.identify(&session),
        }
    }

    /// Records that most sessions never see.
    fn rare(&mut self, kind: &str, fields: &Object<'_>, scribe: &mut Scribe) {
        match kind {
            "tool_progress" => tool_progress(fields, scribe),
            "tool_use_summary" => scribe.notice(tool_use_summary(fields)),
            "auth_status" => scribe.notice(auth_status(fields)),
            "rate_limit_event" => scribe.notice(rate_limit(fields)),
            "prompt_suggestion" => {
                let text = fields.string("suggestion").unwrap_or_default();
                scribe.notice(Notice::new(Topic::Status).with_name(kind).with_text(text));
            }
            "keep_alive" | "control_request_progress" => scribe.notice(heartbeat(kind)),
            "conversation_reset" => self.conversation_reset(scribe),
            "active_goal" => scribe.notice(Notice::new(Topic::Status).with_name(kind)),
            "session_writes_lost" => {
                let text = "Claude Code could not write the session to disk: it may not be possible to continue it";
                scribe.notice(Notice::new(Topic::Warning).with_name(kind).with_level(Level::Warning).with_text(text));
            }
            // Newer than 2.1.197: what became of a prompt, by its id.
            "command_lifecycle" => scribe.notice(Notice { status: fields.filled("state"), ..heartbeat(kind) }),
            "transcript_mirror" => scribe.notice(Notice::new(Topic::Echo).with_name(kind)),
            _ => {}
        }
    }

    /// `/clear`. It still has the id of the conversation that ended; the next `init` has the new one.
    fn conversation_reset(&mut self, scribe: &mut Scribe) {
        self.books.reset_totals();
        scribe.notice(
            Notice::new(Topic::Status).with_name("conversation_reset").with_text("the conversation was cleared"),
        );
    }

    /// A turn told about itself. If the open one already has, another has begun.
    pub(super) fn turn_has_init(&mut self) {
        if std::mem::replace(&mut self.has_init, true) {
            self.is_one_shot = true;
            self.overlap.get_or_insert_default();
            self.books.overlap();
        }
    }

    /// The main conversation said something.
    pub(super) fn mark_said(&mut self) {
        match &mut self.overlap {
            Some(overlap) => overlap.said = true,
            None => self.said = true,
        }
    }

    /// The open turn said something.
    pub(super) fn has_said(&self) -> bool {
        self.said
    }

    /// Forgets the last turn. What came early belongs to this one.
    pub(super) fn forget_turn(&mut self) {
        self.said = self.overlap.take().is_some_and(|overlap| overlap.said);
        (self.fault, self.woken, self.has_init) = (None, false, false);
    }

    /// Places a record: below the tool call that a subagent works for, or in the main conversation.
    pub(super) fn place(&self, fields: &Object<'_>, scribe: &mut Scribe) -> bool {
        let Some(parent) = fields.str("parent_tool_use_id") else { return false };
        let thread = self.tasks.of_call(&parent).unwrap_or_else(|| Id::from(&parent));
        scribe.within(Some(Id::from(parent)), Some(thread));
        true
    }

    /// An id for something that Claude gives none.
    pub(super) fn make_up(&mut self, what: &str, scribe: &Scribe) -> Id {
        self.made_up += 1;
        scribe.local_id(&format!("{what}_{}", self.made_up))
    }
}

/// A record that only says that Claude is alive.
pub(super) fn heartbeat(name: &str) -> Notice {
    Notice::new(Topic::Heartbeat).with_name(name).with_level(Level::Debug)
}

/// The time that a record says it was written.
pub(super) fn written(fields: &Object<'_>) -> Option<Timestamp> {
    Timestamp::parse(&fields.str("timestamp")?)
}

/// Claude Code 2.1.197 sends `tool_use_id: "bash-progress-0"`; the real id is the parent's.
fn tool_progress(fields: &Object<'_>, scribe: &mut Scribe) {
    let elapsed = fields.f64("elapsed_time_seconds").map(|s| (s * 1000.0).max(0.0).round());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "float casts saturate")]
    let elapsed = elapsed.map(|ms| ms as u64);
    let open = ["tool_use_id", "parent_tool_use_id"]
        .into_iter()
        .filter_map(|key| fields.str(key))
        .any(|id| scribe.item_progress(&id, elapsed, None, None));
    if !open {
        scribe.notice(Notice::new(Topic::Late).with_name("tool_progress"));
    }
}

fn tool_use_summary(fields: &Object<'_>) -> Notice {
    let notice = Notice::new(Topic::ToolSummary).with_text(fields.string("summary").unwrap_or_default());
    Notice { detail: fields.raw("preceding_tool_use_ids"), ..notice }
}

fn auth_status(fields: &Object<'_>) -> Notice {
    let status = if fields.is_true("isAuthenticating") { "authenticating" } else { "idle" };
    let mut notice = Notice::new(Topic::Auth).with_status(status);
    notice.text =
        fields.filled("error").or_else(|| Some(fields.strings("output").join("\n")).filter(|t| !t.is_empty()));
    notice
}

fn rate_limit(fields: &Object<'_>) -> Notice {
    let info = fields.object("rate_limit_info");
    let rejected = info.is("status", "rejected");
    let level = if rejected { Level::Warning } else { Level::Info };
    let notice = Notice::new(Topic::RateLimit).with_level(level);
    Notice { status: info.filled("status"), detail: fields.raw("rate_limit_info"), ..notice }
}
