//! Prompts and turns: a prompt begins a turn, or joins the one that runs; the session is at rest when its turn and
//! those of its subagents are over.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Event, Fault, TurnCompleted};

use super::{
    calls::Purpose,
    content::{Input, input},
    conversation::{Conversation, Turn, is_busy},
    interrupts::{ASK_AGAIN, INQUIRY, left_running},
};
use crate::{Effect, Effects, Object, Prompt};

/// `turn/start`. Its schema is passed on as it was written: the order of its fields matters to the model.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Begin<'a> {
    thread_id: Option<&'a str>,
    input: Vec<Input<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
}

/// `turn/steer`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Steer<'a> {
    thread_id: Option<&'a str>,
    input: Vec<Input<'a>>,
    expected_turn_id: &'a str,
}

impl Conversation {
    pub(super) fn prompted(&mut self, prompt: Prompt, effects: &mut Effects) {
        match &self.turn {
            Turn::Idle => self.begin(prompt, effects),
            // A running turn takes no schema.
            Turn::Active(_) if prompt.output_schema.is_none() => self.steer(prompt, effects),
            Turn::Active(_) | Turn::Asked => self.queue.push_back(prompt),
        }
    }

    pub(super) fn begin(&mut self, prompt: Prompt, effects: &mut Effects) {
        let (thread_id, output_schema) = (self.thread.as_deref(), prompt.output_schema.as_deref());
        let params = Begin { thread_id, input: input(&prompt), output_schema };
        let id = self.calls.send("turn/start", &params, effects);
        self.calls.expect(id, Purpose::Begin(prompt));
        self.turn = Turn::Asked;
    }

    fn steer(&mut self, prompt: Prompt, effects: &mut Effects) {
        let Turn::Active(turn) = &self.turn else { return self.queue.push_back(prompt) };
        let params = Steer { thread_id: self.thread.as_deref(), input: input(&prompt), expected_turn_id: turn };
        let id = self.calls.send("turn/steer", &params, effects);
        self.calls.expect(id, Purpose::Steer(prompt));
    }

    /// A turn was promised. Its beginning may have been told before (0.166), and then this is no news.
    pub(super) fn accepted(&mut self, turn: &Object<'_>, effects: &mut Effects) {
        self.tries = 0;
        if let (Turn::Asked, Some(turn)) = (&self.turn, turn.filled("id")) {
            self.begun(&turn, effects);
        }
    }

    /// There will be no turn.
    pub(super) fn not_begun(&mut self, prompt: Prompt, fault: Fault, effects: &mut Effects) {
        self.turn = Turn::Idle;
        if is_busy(&fault) {
            self.queue.push_front(prompt);
            return self.try_later(fault, effects);
        }
        self.rest(effects);
    }

    /// The turn was over before it heard the prompt, or is of a kind that takes none: then the next turn is for it.
    pub(super) fn not_steered(&mut self, prompt: Prompt, effects: &mut Effects) {
        match self.turn {
            Turn::Idle => self.begin(prompt, effects),
            Turn::Asked | Turn::Active(_) => self.queue.push_back(prompt),
        }
    }

    /// A turn of the session is under way, by our prompt or without it.
    pub(super) fn begun(&mut self, turn: &str, effects: &mut Effects) {
        self.turn = Turn::Active(turn.to_owned());
        if std::mem::take(&mut self.stopping) {
            return self.interrupt(effects);
        }
        let waiting = std::mem::take(&mut self.queue);
        waiting.into_iter().for_each(|prompt| self.prompted(prompt, effects));
    }

    pub(super) fn ended(&mut self, completed: &TurnCompleted, events: &[Event], effects: &mut Effects) {
        (self.turn, self.stopping) = (Turn::Idle, false);
        effects.disarm(ASK_AGAIN);
        effects.disarm(INQUIRY);
        // A request outlives its turn until it is answered (0.166).
        self.cancel_requests(effects);
        let left = left_running(completed, events);
        if !left.is_empty() {
            return self.look_for(left, effects);
        }
        self.rest(effects);
    }

    /// Nothing is under way: the next prompt, or rest.
    pub(super) fn rest(&mut self, effects: &mut Effects) {
        if !matches!(self.turn, Turn::Idle) || self.sweeping || !self.children.is_empty() {
            return;
        }
        match self.queue.pop_front() {
            Some(prompt) => self.begin(prompt, effects),
            None => effects.push(Effect::Settled),
        }
    }

    pub(super) fn child_began(&mut self, params: &Object<'_>) {
        let (thread, turn) = (params.filled("threadId"), params.object("turn").filled("id"));
        if let (Some(thread), Some(turn)) = (thread, turn) {
            self.children.insert(thread, turn);
        }
    }

    pub(super) fn child_ended(&mut self, params: &Object<'_>, effects: &mut Effects) {
        let thread = params.str("threadId").unwrap_or_default();
        if self.children.remove(&*thread).is_some() && matches!(self.turn, Turn::Idle) {
            self.rest(effects);
        }
    }
}
