//! Prompts and turns: a prompt starts a turn or joins the running one. The session settles when its turn and those of
//! its subagents are over.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{Event, Fault, TurnCompleted};

use super::{
    calls::RequestPurpose,
    content::{CodexPromptPart, prompt_parts},
    conversation::{CodexDriver, CodexTurnState, is_overloaded},
    interrupts::{ASK_AGAIN, INQUIRY, interrupted_commands},
};
use crate::{AgentPrompt, DriverEffect, DriverEffects, JsonObject};

/// Parameters of `turn/start`. The schema is passed on verbatim, because the order of its fields matters to the model.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodexTurnStartParams<'a> {
    thread_id: Option<&'a str>,
    input: Vec<CodexPromptPart<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a RawValue>,
}

/// Parameters of `turn/steer`.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct CodexTurnSteerParams<'a> {
    thread_id: Option<&'a str>,
    input: Vec<CodexPromptPart<'a>>,
    expected_turn_id: &'a str,
}

impl CodexDriver {
    pub(super) fn handle_prompt(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        match &self.turn {
            CodexTurnState::Idle => self.start_turn(prompt, effects),
            // A running turn accepts no schema.
            CodexTurnState::Active(_) if prompt.output_schema.is_none() => self.steer_turn(prompt, effects),
            CodexTurnState::Active(_) | CodexTurnState::Asked => self.queue.push_back(prompt),
        }
    }

    pub(super) fn start_turn(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        let (thread_id, output_schema) = (self.thread.as_deref(), prompt.output_schema.as_deref());
        let params = CodexTurnStartParams { thread_id, input: prompt_parts(&prompt), output_schema };
        let id = self.calls.send("turn/start", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Begin(prompt));
        self.turn = CodexTurnState::Asked;
    }

    fn steer_turn(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        let CodexTurnState::Active(turn) = &self.turn else { return self.queue.push_back(prompt) };
        let params = CodexTurnSteerParams {
            thread_id: self.thread.as_deref(),
            input: prompt_parts(&prompt),
            expected_turn_id: turn,
        };
        let id = self.calls.send("turn/steer", &params, effects);
        self.calls.expect_reply(id, RequestPurpose::Steer(prompt));
    }

    /// Handles an accepted turn. Codex 0.166 may have reported its start before.
    pub(super) fn handle_turn_accepted(&mut self, turn: &JsonObject<'_>, effects: &mut DriverEffects) {
        self.tries = 0;
        if let (CodexTurnState::Asked, Some(turn)) = (&self.turn, turn.get_non_empty("id")) {
            self.handle_turn_started(&turn, effects);
        }
    }

    /// Handles a refused turn.
    pub(super) fn handle_turn_refused(&mut self, prompt: AgentPrompt, fault: Fault, effects: &mut DriverEffects) {
        self.turn = CodexTurnState::Idle;
        if is_overloaded(&fault) {
            self.queue.push_front(prompt);
            return self.schedule_retry(fault, effects);
        }
        self.start_next_or_settle(effects);
    }

    /// The turn ended before it received the prompt, or is of a kind that accepts none: the next turn takes the prompt.
    pub(super) fn handle_steer_refused(&mut self, prompt: AgentPrompt, effects: &mut DriverEffects) {
        match self.turn {
            CodexTurnState::Idle => self.start_turn(prompt, effects),
            CodexTurnState::Asked | CodexTurnState::Active(_) => self.queue.push_back(prompt),
        }
    }

    /// A turn of the session runs, whether a prompt started it or not.
    pub(super) fn handle_turn_started(&mut self, turn: &str, effects: &mut DriverEffects) {
        self.turn = CodexTurnState::Active(turn.to_owned());
        if std::mem::take(&mut self.stopping) {
            return self.interrupt_turn(effects);
        }
        let waiting = std::mem::take(&mut self.queue);
        waiting.into_iter().for_each(|prompt| self.handle_prompt(prompt, effects));
    }

    pub(super) fn handle_turn_completed(
        &mut self,
        completed: &TurnCompleted,
        events: &[Event],
        effects: &mut DriverEffects,
    ) {
        (self.turn, self.stopping) = (CodexTurnState::Idle, false);
        effects.disarm_timer(ASK_AGAIN);
        effects.disarm_timer(INQUIRY);
        // A request outlives its turn until it is answered (0.166).
        self.cancel_requests(effects);
        let left = interrupted_commands(completed, events);
        if !left.is_empty() {
            return self.find_leftover_commands(left, effects);
        }
        self.start_next_or_settle(effects);
    }

    /// If nothing is running, starts the next queued prompt, or settles the session.
    pub(super) fn start_next_or_settle(&mut self, effects: &mut DriverEffects) {
        if !matches!(self.turn, CodexTurnState::Idle) || self.sweeping || !self.children.is_empty() {
            return;
        }
        match self.queue.pop_front() {
            Some(prompt) => self.start_turn(prompt, effects),
            None => effects.push(DriverEffect::Settled),
        }
    }

    pub(super) fn track_child_turn(&mut self, params: &JsonObject<'_>) {
        let (thread, turn) = (params.get_non_empty("threadId"), params.get_object("turn").get_non_empty("id"));
        if let (Some(thread), Some(turn)) = (thread, turn) {
            self.children.insert(thread, turn);
        }
    }

    pub(super) fn finish_child_turn(&mut self, params: &JsonObject<'_>, effects: &mut DriverEffects) {
        let thread = params.get_str("threadId").unwrap_or_default();
        if self.children.remove(&*thread).is_some() && matches!(self.turn, CodexTurnState::Idle) {
            self.start_next_or_settle(effects);
        }
    }
}
