//! The turn of the main conversation. OpenCode has no word for it: a turn is all the replies to one prompt, and it
//! is over when the last of them is complete *and* the session is idle. After an error it is idle twice, once
//! before the reply is complete and once after.

use switchboard_event::{
    Denied, ErrorCode, Fault, Id, Origin, Stop, Timestamp, TurnCompleted, TurnStarted, TurnStatus,
};

use crate::Scribe;

/// How many replies, refused tools and the like of one turn are kept.
const LIMIT: usize = 64;

/// The turn that is going on, or the last one.
#[derive(Default)]
pub struct Turn {
    /// The message that the current reply answers.
    prompt: Option<Id>,
    began: Timestamp,
    /// Replies that are not complete.
    waiting: Vec<Id>,
    /// Something was done: an idle session before that is still the turn before.
    worked: bool,
    idle: bool,
    /// The session rested before the last reply was complete.
    rested: bool,
    retrying: bool,
    /// What went wrong with the last reply.
    pub fault: Option<Fault>,
    /// Why the last reply ended.
    pub finish: Option<String>,
    /// A prompt that came while the turn was going on.
    queued: Option<(Id, String)>,
    steps: u64,
    cost: Option<f64>,
    denied: Vec<Denied>,
    /// What the last turn failed of.
    failure: Option<String>,
}

impl Turn {
    /// A message of the user begins a turn, unless it belongs to the one that is going on. True if it had to wait.
    pub fn prompted(&mut self, message: &Id, origin: Origin, text: Option<&str>, scribe: &mut Scribe) -> bool {
        let same = self.prompt.as_ref() == Some(message);
        if scribe.in_turn() && (self.worked || same) {
            if let (false, Some(text)) = (same, text) {
                self.queued = Some((message.clone(), text.to_owned()));
            }
            return !same;
        }
        self.begin(Some(message.clone()), origin, text.map(str::to_owned), scribe);
        false
    }

    fn begin(&mut self, message: Option<Id>, origin: Origin, prompt: Option<String>, scribe: &mut Scribe) {
        let busy = self.worked && !self.idle && !scribe.in_turn();
        *self = Self { prompt: message.clone(), began: scribe.at(), worked: busy, ..Self::default() };
        if message.is_none() {
            return scribe.ensure_turn();
        }
        scribe.turn_started(TurnStarted { origin, prompt, agent_turn: message });
    }

    /// Work is done without a prompt that was seen.
    pub fn ensure(&mut self, scribe: &mut Scribe) {
        if !scribe.in_turn() {
            self.begin(None, Origin::Prompt, None, scribe);
        }
        self.worked = true;
    }

    /// A reply to another prompt shows that the turn is over, although the end of its last reply was never heard:
    /// the session rested in between.
    pub fn is_stale(&self, to: Option<&str>) -> bool {
        self.rested && !self.waiting.is_empty() && to.is_some() && self.prompt.as_deref() != to
    }

    /// A reply began. An earlier one that went wrong was not the last word.
    pub fn replying(&mut self, reply: Id, to: Option<Id>, scribe: &mut Scribe) {
        let another = to.is_some() && self.prompt != to;
        if !scribe.in_turn() {
            let text = self.queued.take().filter(|(message, _)| Some(message) == to.as_ref()).map(|(_, text)| text);
            self.begin(to.clone().filter(|_| text.is_some()), Origin::Prompt, text, scribe);
        }
        if another {
            self.prompt = to;
        }
        (self.fault, self.finish) = (None, None);
        (self.worked, self.idle) = (true, false);
        if self.waiting.len() < LIMIT {
            self.waiting.push(reply);
        }
    }

    /// A reply is not complete.
    pub fn awaits(&self, reply: &str) -> bool {
        self.waiting.iter().any(|id| *id == *reply)
    }

    /// A reply is complete. One that neither ended nor failed while OpenCode waited to try again was given up.
    pub fn replied(&mut self, reply: &str, scribe: &mut Scribe) {
        self.waiting.retain(|id| *id != *reply);
        if self.retrying && self.fault.is_none() && self.finish.is_none() {
            scribe.interrupted();
            self.fault = Some(Fault::new(ErrorCode::Aborted, "stopped while waiting to try again"));
        }
    }

    /// The session works.
    pub fn busy(&mut self, retrying: bool) {
        (self.worked, self.idle, self.retrying) = (true, false, retrying);
    }

    /// Somebody stopped the turn before anything was done about its prompt: nothing more comes of it.
    pub fn abandoned(&mut self) {
        if !self.worked {
            self.worked = true;
            self.fault = Some(Fault::new(ErrorCode::Aborted, "stopped before it began"));
        }
    }

    /// The session rests.
    pub fn rest(&mut self) {
        self.idle = true;
        self.rested |= !self.waiting.is_empty();
    }

    /// The turn is over, if it is.
    pub fn is_over(&self) -> bool {
        self.idle && self.worked && self.waiting.is_empty()
    }

    /// The stream is over: whether the turn can be ended by what was said last.
    pub fn is_decided(&self) -> bool {
        self.fault.is_some() || self.waiting.is_empty() && self.finish.as_deref().is_some_and(ends_turn)
    }

    /// Nothing was done about the prompt for some time: no reply was wanted. A prompt that wants one makes the
    /// session busy at once.
    pub fn is_unanswered(&self, now: Timestamp) -> bool {
        !self.worked && now.millis_since(self.began) >= 2_000
    }

    /// One call of the model is over.
    pub fn stepped(&mut self, cost: Option<f64>) {
        self.steps = self.steps.saturating_add(1);
        self.cost = cost.map(|cost| self.cost.unwrap_or(0.0) + cost).or(self.cost);
    }

    /// The last reply called tools, and the model was never given their results. A refused tool ends the turn in this
    /// way on purpose; OpenCode 1.18.33 was also seen to do it under load, without reporting an error.
    fn stopped_early(&self) -> bool {
        self.denied.is_empty() && self.finish.as_deref().is_some_and(|finish| !ends_turn(finish))
    }

    /// A tool was not allowed.
    pub fn declined(&mut self, denied: Denied) {
        if self.denied.len() < LIMIT {
            self.denied.push(denied);
        }
    }

    /// The last turn failed of this.
    pub fn failed_of(&self, message: &str) -> bool {
        self.failure.as_deref().is_some_and(|failure| message.contains(failure))
    }

    /// Ends the turn by what was said last.
    pub fn close(&mut self, scribe: &mut Scribe) {
        if self.fault.is_none() && self.stopped_early() {
            let message = "OpenCode stopped after a tool call without asking the model again";
            self.fault = Some(Fault::new(ErrorCode::ProtocolError, message));
        }
        let (status, stop) = outcome(self.fault.as_ref(), self.finish.as_deref());
        self.failure = self.fault.as_ref().map(|fault| fault.message.clone());
        self.waiting.clear();
        scribe.turn_completed(TurnCompleted {
            status,
            stop,
            error: self.fault.take().or_else(|| unsaid(status)),
            duration_ms: Some(scribe.at().millis_since(self.began)),
            steps: Some(self.steps).filter(|steps| *steps > 0),
            cost_usd: self.cost.take(),
            denied: std::mem::take(&mut self.denied),
            ..TurnCompleted::default()
        });
        self.worked = false;
    }
}

/// How a turn ended, by its error and by the reason of its last step.
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

/// A reply that ended as an error without saying which.
fn unsaid(status: TurnStatus) -> Option<Fault> {
    (status == TurnStatus::Failed).then(|| Fault::new(ErrorCode::ApiError, "the model's reply ended with an error"))
}

/// The model said its last word; after `tool-calls` it is asked again.
pub fn ends_turn(finish: &str) -> bool {
    finish != "tool-calls"
}
