//! The turn of the main conversation. OpenCode has no such concept: a turn consists of all replies to one prompt, and
//! is over when the last of them is complete *and* the session is idle. After an error the session becomes idle twice,
//! before and after the reply is complete.

use switchboard_event::{
    Denied, ErrorCode, Fault, Id, Origin, Stop, Timestamp, TurnCompleted, TurnStarted, TurnStatus,
};

use crate::RunRecorder;

/// Maximum number of replies, refused tools and similar entries kept for one turn.
const LIMIT: usize = 64;

/// The current turn, or the last one.
#[derive(Default)]
pub struct OpenCodeTurn {
    /// The message that the current reply answers.
    prompt: Option<Id>,
    began: Timestamp,
    /// Incomplete replies.
    waiting: Vec<Id>,
    /// There was activity. An idle status before that belongs to the previous turn.
    worked: bool,
    idle: bool,
    /// A status request after the session became idle confirmed that it is idle.
    confirmed_idle: bool,
    /// The session became idle before the last reply was complete.
    rested: bool,
    retrying: bool,
    /// The error of the last reply.
    pub fault: Option<Fault>,
    /// The reason why the last reply ended.
    pub finish: Option<String>,
    /// A prompt that arrived during the turn.
    queued: Option<(Id, String)>,
    steps: u64,
    cost: Option<f64>,
    denied: Vec<Denied>,
    /// The error message of the last turn.
    failure: Option<String>,
}

impl OpenCodeTurn {
    /// Begins a turn with a message of the user, unless the message belongs to the running turn. Returns whether the
    /// message was queued.
    pub fn begin_prompted_turn(
        &mut self,
        message: &Id,
        origin: Origin,
        text: Option<&str>,
        recorder: &mut RunRecorder,
    ) -> bool {
        let same = self.prompt.as_ref() == Some(message);
        if recorder.in_turn() && (self.worked || same) {
            if let (false, Some(text)) = (same, text) {
                self.queued = Some((message.clone(), text.to_owned()));
            }
            return !same;
        }
        self.begin(Some(message.clone()), origin, text.map(str::to_owned), recorder);
        false
    }

    fn begin(&mut self, message: Option<Id>, origin: Origin, prompt: Option<String>, recorder: &mut RunRecorder) {
        let busy = self.worked && !self.idle && !recorder.in_turn();
        *self = Self { prompt: message.clone(), began: recorder.current_time(), worked: busy, ..Self::default() };
        if message.is_none() {
            return recorder.ensure_turn();
        }
        recorder.turn_started(TurnStarted { origin, prompt, agent_turn: message });
    }

    /// Begins a turn for work whose prompt was not seen.
    pub fn ensure_begun(&mut self, recorder: &mut RunRecorder) {
        if !recorder.in_turn() {
            self.begin(None, Origin::Prompt, None, recorder);
        }
        self.worked = true;
    }

    /// A reply to another prompt shows that the turn is over although the end of its last reply was missed: the session
    /// was idle in between.
    pub fn is_stale(&self, to: Option<&str>) -> bool {
        self.rested && !self.waiting.is_empty() && to.is_some() && self.prompt.as_deref() != to
    }

    /// Begins a reply. The error of an earlier reply was not final then.
    pub fn start_reply(&mut self, reply: Id, to: Option<Id>, recorder: &mut RunRecorder) {
        let another = to.is_some() && self.prompt != to;
        if !recorder.in_turn() {
            let text = self.queued.take().filter(|(message, _)| Some(message) == to.as_ref()).map(|(_, text)| text);
            self.begin(to.clone().filter(|_| text.is_some()), Origin::Prompt, text, recorder);
        }
        if another {
            self.prompt = to;
        }
        (self.fault, self.finish) = (None, None);
        (self.worked, self.idle, self.confirmed_idle) = (true, false, false);
        if self.waiting.len() < LIMIT {
            self.waiting.push(reply);
        }
    }

    /// Returns whether a reply is incomplete.
    pub fn awaits(&self, reply: &str) -> bool {
        self.waiting.iter().any(|id| *id == *reply)
    }

    /// Completes a reply. A reply that neither ended nor failed while OpenCode waited for a retry was given up.
    pub fn complete_reply(&mut self, reply: &str, recorder: &mut RunRecorder) {
        self.waiting.retain(|id| *id != *reply);
        if self.retrying && self.fault.is_none() && self.finish.is_none() {
            recorder.mark_interrupted();
            self.fault = Some(Fault::new(ErrorCode::Aborted, "stopped while waiting to try again"));
        }
    }

    pub fn mark_busy(&mut self, retrying: bool) {
        (self.worked, self.idle, self.retrying) = (true, false, retrying);
        self.confirmed_idle = false;
    }

    /// Gives up a turn that was stopped before any activity: nothing more follows.
    pub fn abandon(&mut self) {
        if !self.worked {
            self.worked = true;
            self.fault = Some(Fault::new(ErrorCode::Aborted, "stopped before it began"));
        }
    }

    pub fn mark_idle(&mut self) {
        self.idle = true;
        self.rested |= !self.waiting.is_empty();
    }

    pub fn is_over(&self) -> bool {
        let is_explained = self.confirmed_idle || self.fault.is_some() || !self.has_unanswered_tool_calls();
        self.idle && self.worked && self.waiting.is_empty() && is_explained
    }

    /// Records that OpenCode confirmed the idle status and that its messages were read.
    pub fn confirm_idle(&mut self) {
        self.confirmed_idle = true;
    }

    /// Returns whether the outcome of the turn is known at the end of the stream.
    pub fn is_decided(&self) -> bool {
        let is_finished =
            self.finish.as_deref().is_some_and(ends_turn) || self.idle && self.has_unanswered_tool_calls();
        self.fault.is_some() || self.waiting.is_empty() && is_finished
    }

    /// Returns whether a prompt had no effect for some time, so that no reply was wanted. A prompt that wants one makes
    /// the session busy at once.
    pub fn is_unanswered(&self, now: Timestamp) -> bool {
        !self.worked && now.millis_since(self.began) >= 2_000
    }

    pub fn add_step_cost(&mut self, cost: Option<f64>) {
        self.steps = self.steps.saturating_add(1);
        self.cost = cost.map(|cost| self.cost.unwrap_or(0.0) + cost).or(self.cost);
    }

    /// Returns whether the last reply called tools and the model never received their results. A refused tool ends the
    /// turn this way intentionally. Otherwise something in OpenCode failed: 1.18.33 becomes idle before it reports the
    /// error of a prompt sent with `prompt_async`, so the turn is not over until the error arrives or a later request
    /// confirms the idle status.
    fn has_unanswered_tool_calls(&self) -> bool {
        self.denied.is_empty() && self.finish.as_deref().is_some_and(|finish| !ends_turn(finish))
    }

    pub fn add_denied(&mut self, denied: Denied) {
        if self.denied.len() < LIMIT {
            self.denied.push(denied);
        }
    }

    /// Returns whether the last turn failed with this message.
    pub fn failed_with(&self, message: &str) -> bool {
        self.failure.as_deref().is_some_and(|failure| message.contains(failure))
    }

    /// Ends the turn with the last known outcome.
    pub fn close(&mut self, recorder: &mut RunRecorder) {
        if self.fault.is_none() && self.has_unanswered_tool_calls() {
            let message = "OpenCode stopped after a tool call without asking the model again";
            self.fault = Some(Fault::new(ErrorCode::ProtocolError, message));
        }
        let (status, stop) = outcome(self.fault.as_ref(), self.finish.as_deref());
        self.failure = self.fault.as_ref().map(|fault| fault.message.clone());
        self.waiting.clear();
        recorder.turn_completed(TurnCompleted {
            status,
            stop,
            error: self.fault.take().or_else(|| unspecified_fault(status)),
            duration_ms: Some(recorder.current_time().millis_since(self.began)),
            steps: Some(self.steps).filter(|steps| *steps > 0),
            cost_usd: self.cost.take(),
            denied: std::mem::take(&mut self.denied),
            ..TurnCompleted::default()
        });
        self.worked = false;
    }
}

/// Returns the outcome of a turn from its error and the finish reason of its last step.
pub fn outcome(fault: Option<&Fault>, finish: Option<&str>) -> (TurnStatus, Stop) {
    match (fault.map(|fault| fault.code), finish) {
        (Some(ErrorCode::Aborted), _) => (TurnStatus::Interrupted, Stop::Cancelled),
        (Some(ErrorCode::OutputLength), _) => (TurnStatus::Failed, Stop::MaxTokens),
        (Some(ErrorCode::Refused), _) => (TurnStatus::Failed, Stop::Refusal),
        (Some(_), _) | (None, Some("error")) => (TurnStatus::Failed, Stop::Error),
        (None, Some("length")) => (TurnStatus::Completed, Stop::MaxTokens),
        (None, Some("content-filter")) => (TurnStatus::Completed, Stop::Refusal),
        _ => (TurnStatus::Completed, Stop::EndTurn),
    }
}

/// Returns the fault for a reply that ended with an unspecified error.
fn unspecified_fault(status: TurnStatus) -> Option<Fault> {
    (status == TurnStatus::Failed).then(|| Fault::new(ErrorCode::ApiError, "the model's reply ended with an error"))
}

/// After `tool-calls` the model is called again; any other reason is final.
pub fn ends_turn(finish: &str) -> bool {
    finish != "tool-calls"
}
