//! What Claude Code writes about a session, record by record. Only dispatches, and keeps the turns: the log has no word
//! for where one ends.

use switchboard_event::{
    Dir, ErrorCode, Fault, Id, Info, Origin, Stop, Timestamp, TurnCompleted, TurnStarted, TurnStatus,
};

use super::{
    super::{items::Todos, live::written},
    replies::Replies,
    threads::{Thread, Threads},
};
use crate::{Json, Object, Reader, Scribe};

/// How many records without a folder may come before the session is told under the id they have.
const PATIENCE: u32 = 16;

/// Reads a session log.
#[derive(Default)]
pub struct Log {
    /// What was used.
    pub(super) replies: Replies,
    /// Subagents.
    pub(super) threads: Threads,
    /// The to-do list that single calls change.
    pub(super) todos: Todos,
    /// The model of the reply, if that is a subagent's.
    pub(super) reply_model: Option<String>,
    /// How many blocks a reply had so far.
    pub(super) blocks: Option<(Id, u32)>,
    /// Why the last reply of the turn stopped.
    pub(super) stop: Option<Stop>,
    /// This version says why replies stop.
    pub(super) tells_stop: bool,
    /// The error that stands in place of an answer.
    pub(super) fault: Option<Fault>,
    /// What began the turn.
    origin: Origin,
    /// When the turn began, and when its conversation went on last. Records of other kinds may follow hours later.
    span: Option<(Timestamp, Timestamp)>,
    /// The last word of the conversation is an answer that nothing has to follow.
    pub(super) rests: bool,
    /// The replies of the turn.
    pub(super) steps: u64,
    pub(super) last_reply: Option<Id>,
    /// Somebody gave the session a title.
    pub(super) is_titled: bool,
    /// What was told about the session.
    told: Told,
    early: Option<String>,
    records: u32,
    made_up: u32,
}

/// What was told about the session last, so that only changes are looked at closely.
#[derive(Default)]
struct Told {
    cwd: String,
    version: String,
    mode: String,
    model: String,
}

impl Reader for Log {
    fn tells_time(&self) -> bool {
        true
    }

    fn product(&self) -> Option<&'static str> {
        Some("claude_code")
    }

    fn read(&mut self, _: Dir, record: Json<'_>, scribe: &mut Scribe) {
        let fields = record.object();
        self.identify(&fields, scribe);
        let thread = self.threads.of(&fields, scribe);
        match fields.str("type").as_deref() {
            Some("assistant") => {
                self.assistant(&fields, thread.as_ref(), scribe);
                self.lasts(&fields);
                self.rests = self.is_answer(&fields);
            }
            Some("user") => {
                self.user(&fields, thread.as_ref(), scribe);
                self.rests = false;
                // What only follows an answer makes its turn no longer: the summary of a compaction may come days later.
                if self.stop.is_none() && self.fault.is_none() {
                    self.lasts(&fields);
                }
            }
            Some("progress") => self.progress(&fields, scribe),
            Some("attachment") => self.attachment(&fields, thread.as_ref(), scribe),
            Some("system") => self.system(&fields, thread.as_ref(), scribe),
            Some(kind) => {
                scribe.happened(written(&fields));
                self.aside(kind, &fields, scribe);
            }
            None => {}
        }
    }

    fn is_resting(&self) -> bool {
        self.rests
    }

    fn end(&mut self, scribe: &mut Scribe) {
        scribe.identify(self.early.as_deref().unwrap_or_default());
        self.replies.end(scribe);
        // After a reply that called a tool, or none at all, the log was cut off, or the session still runs.
        let known = self.stop.is_some() || self.fault.is_some() || self.origin == Origin::Command;
        if scribe.in_turn() && (known || scribe.is_interrupted()) {
            self.end_turn(None, scribe);
        }
    }
}

impl Log {
    /// Who it is, and where. Records that belong to no conversation come first and say only the id: the beginning of
    /// the session waits for those that say more.
    fn identify(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let Some(session) = fields.str("sessionId") else { return };
        self.records = self.records.saturating_add(1);
        if !fields.has("cwd") && self.records < PATIENCE {
            self.early.get_or_insert_with(|| session.into_owned());
            return;
        }
        scribe.identify(&session);
        if !fields.is_true("isSidechain") || self.told.cwd.is_empty() {
            self.describe(fields, scribe);
        }
    }

    fn describe(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        let mut info = Info::default();
        let mut changed = false;
        for (key, known, place) in [
            ("cwd", &mut self.told.cwd, &mut info.cwd),
            ("version", &mut self.told.version, &mut info.version),
            ("permissionMode", &mut self.told.mode, &mut info.mode),
        ] {
            if let Some(new) = fields.str(key).filter(|new| !new.is_empty() && **new != **known) {
                known.clear();
                known.push_str(&new);
                *place = Some(new.into_owned());
                changed = true;
            }
        }
        if changed {
            scribe.happened(written(fields));
            scribe.info(Info { provider: Some("anthropic".to_owned()), ..info });
        }
    }

    /// The model of the main conversation; of a subagent's, if there is no other.
    pub(super) fn uses(&mut self, model: Option<String>, is_main: bool, scribe: &mut Scribe) {
        if let Some(model) = model.filter(|model| (is_main || scribe.model().is_none()) && *model != self.told.model) {
            self.told.model.clone_from(&model);
            scribe.info(Info { model: Some(model), ..Info::default() });
        }
    }

    /// Begins a turn. What was open is over since the record before.
    pub(super) fn begin_turn(
        &mut self,
        origin: Origin,
        prompt: Option<String>,
        fields: &Object<'_>,
        scribe: &mut Scribe,
    ) {
        self.replies.over(None, None, scribe);
        if scribe.in_turn() {
            scribe.before(|scribe| self.end_turn(None, scribe));
        }
        scribe.happened(written(fields));
        (self.origin, self.stop, self.fault, self.steps) = (origin, None, None, 0);
        self.span = written(fields).map(|at| (at, at));
        scribe.turn_started(TurnStarted { origin, prompt, agent_turn: fields.filled("promptId").map(Id::from) });
    }

    /// Begins a turn if none is open: the log begins in the middle of one, or something in the background goes on.
    pub(super) fn ensure_turn(&mut self, fields: &Object<'_>, scribe: &mut Scribe) {
        if !scribe.in_turn() {
            let origin = if scribe.turns() == 0 { Origin::Prompt } else { Origin::Background };
            self.begin_turn(origin, None, fields, scribe);
        }
    }

    /// The turn lasted until this record, at least.
    fn lasts(&mut self, fields: &Object<'_>) {
        if let (Some((_, last)), Some(at)) = (&mut self.span, written(fields)) {
            *last = at.max(*last);
        }
    }

    /// Ends the turn, as its last records say. It took as long as it says itself, else as its conversation went on.
    pub(super) fn end_turn(&mut self, said_ms: Option<u64>, scribe: &mut Scribe) {
        let took_ms = self.span.take().map(|(began, last)| last.millis_since(began));
        let duration_ms = said_ms.or(took_ms);
        let fault = self.fault.take();
        let (status, stop, error) = match (fault, self.stop.take()) {
            _ if scribe.is_interrupted() => interrupted(),
            (Some(fault), _) => (TurnStatus::Failed, stop_of(&fault), Some(fault)),
            (None, Some(stop)) => (TurnStatus::Completed, stop, None),
            (None, None) if self.origin == Origin::Command => (TurnStatus::Completed, Stop::EndTurn, None),
            // Nothing says how it ended, and another turn follows: the process was stopped.
            (None, None) => interrupted(),
        };
        let steps = Some(std::mem::take(&mut self.steps)).filter(|steps| *steps > 0);
        scribe.turn_completed(TurnCompleted { status, stop, error, duration_ms, steps, ..TurnCompleted::default() });
    }

    /// The record happened, in the conversation of a subagent or in the main one.
    pub(super) fn place(&mut self, fields: &Object<'_>, thread: Option<&Thread>, scribe: &mut Scribe) {
        scribe.happened(written(fields));
        if let Some(thread) = thread {
            scribe.within(thread.call.clone(), Some(thread.id.clone()));
        }
    }

    /// An id for something that has none.
    pub(super) fn make_up(&mut self, what: &str, scribe: &Scribe) -> Id {
        self.made_up += 1;
        scribe.local_id(&format!("{what}_{}", self.made_up))
    }
}

fn interrupted() -> (TurnStatus, Stop, Option<Fault>) {
    (TurnStatus::Interrupted, Stop::Cancelled, Some(Fault::new(ErrorCode::Aborted, "interrupted")))
}

fn stop_of(fault: &Fault) -> Stop {
    match fault.code {
        ErrorCode::OutputLength => Stop::MaxTokens,
        ErrorCode::Refused => Stop::Refusal,
        ErrorCode::MaxTurns => Stop::MaxTurns,
        _ => Stop::Error,
    }
}
