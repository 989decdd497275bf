//! The reader of session logs. Dispatches records and tracks the turns: the log does not mark where a turn ends.

use switchboard_event::{
    Dir, ErrorCode, Fault, Id, Info, Origin, Stop, Timestamp, TurnCompleted, TurnStarted, TurnStatus,
};

use super::{SubagentThread, SubagentThreads, replies::ReplyCounter};
use crate::{
    JsonObject, JsonView, RecordReader, RunRecorder,
    claude::{items::TodoList, record_timestamp},
};

/// The maximum number of records without a directory before the session starts with the id they have.
const MAX_RECORDS_WITHOUT_DIRECTORY: u32 = 16;

#[derive(Default)]
pub struct ClaudeLogReader {
    pub(super) replies: ReplyCounter,
    pub(super) threads: SubagentThreads,
    /// The to-do list that single calls change.
    pub(super) todos: TodoList,
    /// The model of the reply, if it belongs to a subagent.
    pub(super) reply_model: Option<String>,
    /// The last reply and the number of its latest block.
    pub(super) blocks: Option<(Id, u32)>,
    /// The reason why the last reply of the turn stopped.
    pub(super) stop: Option<Stop>,
    /// This version writes stop reasons.
    pub(super) tells_stop: bool,
    /// The error in place of a reply.
    pub(super) fault: Option<Fault>,
    origin: Origin,
    /// The start of the turn, and the latest time of its conversation. Records of other kinds may follow hours later.
    span: Option<(Timestamp, Timestamp)>,
    /// The conversation ends with an answer that needs no continuation.
    pub(super) rests: bool,
    /// The number of replies in the turn.
    pub(super) steps: u64,
    pub(super) last_reply: Option<Id>,
    /// The session has a title chosen by the user.
    pub(super) is_titled: bool,
    told: ReportedInfo,
    early: Option<String>,
    records: u32,
    made_up: u32,
}

/// The session info reported last, so that only changes are inspected closely.
#[derive(Default)]
struct ReportedInfo {
    cwd: String,
    version: String,
    mode: String,
    model: String,
}

impl RecordReader for ClaudeLogReader {
    fn has_timestamps(&self) -> bool {
        true
    }

    fn product_name(&self) -> Option<&'static str> {
        Some("claude_code")
    }

    fn read(&mut self, _: Dir, record: JsonView<'_>, recorder: &mut RunRecorder) {
        let fields = record.as_object();
        self.identify_session(&fields, recorder);
        let thread = self.threads.thread_of_record(&fields, recorder);
        match fields.get_str("type").as_deref() {
            Some("assistant") => {
                self.read_assistant(&fields, thread.as_ref(), recorder);
                self.extend_turn(&fields);
                self.rests = self.is_answer(&fields);
            }
            Some("user") => {
                self.read_user(&fields, thread.as_ref(), recorder);
                self.rests = false;
                // A record that merely follows an answer does not extend its turn: the summary of a compaction may come
                // days later.
                if self.stop.is_none() && self.fault.is_none() {
                    self.extend_turn(&fields);
                }
            }
            Some("progress") => self.read_progress(&fields, recorder),
            Some("attachment") => self.read_attachment(&fields, thread.as_ref(), recorder),
            Some("system") => self.read_system(&fields, thread.as_ref(), recorder),
            Some(kind) => {
                recorder.set_record_time(record_timestamp(&fields));
                self.read_auxiliary(kind, &fields, recorder);
            }
            None => {}
        }
    }

    fn is_idle(&self) -> bool {
        self.rests
    }

    fn finish(&mut self, recorder: &mut RunRecorder) {
        recorder.set_agent_session(self.early.as_deref().unwrap_or_default());
        self.replies.finish_all(recorder);
        // After a reply with a tool call, or without any reply, the log was cut off or the session is still running.
        let known = self.stop.is_some() || self.fault.is_some() || self.origin == Origin::Command;
        if recorder.in_turn() && (known || recorder.is_interrupted()) {
            self.end_turn(None, recorder);
        }
    }
}

impl ClaudeLogReader {
    /// Identifies the session. Records outside the conversation come first and have only the id: the start event waits
    /// for records with more.
    fn identify_session(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let Some(session) = fields.get_str("sessionId") else { return };
        self.records = self.records.saturating_add(1);
        if !fields.contains_key("cwd") && self.records < MAX_RECORDS_WITHOUT_DIRECTORY {
            self.early.get_or_insert_with(|| session.into_owned());
            return;
        }
        recorder.set_agent_session(&session);
        if !fields.is_true("isSidechain") || self.told.cwd.is_empty() {
            self.update_session_info(fields, recorder);
        }
    }

    fn update_session_info(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        let mut info = Info::default();
        let mut changed = false;
        for (key, known, place) in [
            ("cwd", &mut self.told.cwd, &mut info.cwd),
            ("version", &mut self.told.version, &mut info.version),
            ("permissionMode", &mut self.told.mode, &mut info.mode),
        ] {
            if let Some(new) = fields.get_str(key).filter(|new| !new.is_empty() && **new != **known) {
                known.clear();
                known.push_str(&new);
                *place = Some(new.into_owned());
                changed = true;
            }
        }
        if changed {
            recorder.set_record_time(record_timestamp(fields));
            recorder.update_info(Info { provider: Some("anthropic".to_owned()), ..info });
        }
    }

    /// Sets the model of the main conversation; that of a subagent only if no other is known.
    pub(super) fn set_model(&mut self, model: Option<String>, is_main: bool, recorder: &mut RunRecorder) {
        if let Some(model) =
            model.filter(|model| (is_main || recorder.current_model().is_none()) && *model != self.told.model)
        {
            self.told.model.clone_from(&model);
            recorder.update_info(Info { model: Some(model), ..Info::default() });
        }
    }

    /// Begins a turn. An open one has been over since the previous record.
    pub(super) fn begin_turn(
        &mut self,
        origin: Origin,
        prompt: Option<String>,
        fields: &JsonObject<'_>,
        recorder: &mut RunRecorder,
    ) {
        self.replies.finish_replies(None, None, recorder);
        if recorder.in_turn() {
            recorder.write_before_record(|recorder| self.end_turn(None, recorder));
        }
        recorder.set_record_time(record_timestamp(fields));
        (self.origin, self.stop, self.fault, self.steps) = (origin, None, None, 0);
        self.span = record_timestamp(fields).map(|at| (at, at));
        recorder.turn_started(TurnStarted {
            origin,
            prompt,
            agent_turn: fields.get_non_empty("promptId").map(Id::from),
        });
    }

    /// Begins a turn if none is open: the log begins in the middle of one, or background work continues.
    pub(super) fn ensure_turn(&mut self, fields: &JsonObject<'_>, recorder: &mut RunRecorder) {
        if !recorder.in_turn() {
            let origin = if recorder.turn_count() == 0 { Origin::Prompt } else { Origin::Background };
            self.begin_turn(origin, None, fields, recorder);
        }
    }

    /// Extends the turn to the time of this record.
    fn extend_turn(&mut self, fields: &JsonObject<'_>) {
        if let (Some((_, last)), Some(at)) = (&mut self.span, record_timestamp(fields)) {
            *last = at.max(*last);
        }
    }

    /// Ends the turn. Its duration is the reported one, or else the time span of its conversation.
    pub(super) fn end_turn(&mut self, said_ms: Option<u64>, recorder: &mut RunRecorder) {
        let took_ms = self.span.take().map(|(began, last)| last.millis_since(began));
        let duration_ms = said_ms.or(took_ms);
        let fault = self.fault.take();
        let (status, stop, error) = match (fault, self.stop.take()) {
            _ if recorder.is_interrupted() => interrupted_outcome(),
            (Some(fault), _) => (TurnStatus::Failed, stop_of_fault(&fault), Some(fault)),
            (None, Some(stop)) => (TurnStatus::Completed, stop, None),
            (None, None) if self.origin == Origin::Command => (TurnStatus::Completed, Stop::EndTurn, None),
            // No record tells how the turn ended, and another turn follows: the process was stopped.
            (None, None) => interrupted_outcome(),
        };
        let steps = Some(std::mem::take(&mut self.steps)).filter(|steps| *steps > 0);
        recorder.turn_completed(TurnCompleted { status, stop, error, duration_ms, steps, ..TurnCompleted::default() });
    }

    /// Sets the time of the record, and its subagent, if any.
    pub(super) fn enter_record(
        &mut self,
        fields: &JsonObject<'_>,
        thread: Option<&SubagentThread>,
        recorder: &mut RunRecorder,
    ) {
        recorder.set_record_time(record_timestamp(fields));
        if let Some(thread) = thread {
            recorder.set_scope(thread.call.clone(), Some(thread.id.clone()));
        }
    }

    /// Generates an id for an entry without one.
    pub(super) fn generate_id(&mut self, what: &str, recorder: &RunRecorder) -> Id {
        self.made_up += 1;
        recorder.local_id(&format!("{what}_{}", self.made_up))
    }
}

fn interrupted_outcome() -> (TurnStatus, Stop, Option<Fault>) {
    (TurnStatus::Interrupted, Stop::Cancelled, Some(Fault::new(ErrorCode::Aborted, "interrupted")))
}

fn stop_of_fault(fault: &Fault) -> Stop {
    match fault.code {
        ErrorCode::OutputLength => Stop::MaxTokens,
        ErrorCode::Refused => Stop::Refusal,
        ErrorCode::MaxTurns => Stop::MaxTurns,
        _ => Stop::Error,
    }
}
