//! `session/prompt`, `session/cancel`, and prompts that are withdrawn with `$/cancel_request`.

use std::{pin::pin, sync::Arc, time::Duration};

use agent_client_protocol::{
    Error, RequestCancellation, Result,
    v1::schema::{Meta, PromptRequest, PromptResponse, StopReason, Usage as WireUsage},
};
use serde_json::json;
use switchboard_agents::{AgentPrompt, WhileRunning};
use switchboard_dialects::acp::{StopReason as Stop, stop_reason, token_usage};
use switchboard_event::{Fault, TurnCompleted, Usage};
use switchboard_store::SessionPhase;
use tokio::sync::oneshot::Receiver;

use super::{editor::EditorConnection, errors, open_session::OpenSession, prompt_content, prompt_queue::PromptOutcome};
use crate::Problem;

/// The time between two checks whether a command that started no turn is done.
const IDLE_CHECK_INTERVAL: Duration = Duration::from_millis(50);

/// A prompt that waits for its turn.
pub struct PendingPrompt {
    open: Arc<OpenSession>,
    prompt: AgentPrompt,
    number: u64,
}

impl EditorConnection {
    /// Queues a prompt at once, so that messages after it find it.
    pub fn accept_prompt(&self, request: &PromptRequest) -> Result<PendingPrompt> {
        let prompt = prompt_content::build_prompt(&request.prompt)?;
        let (open, number) = self.add_prompt(&request.session_id.0, &prompt.text)?;
        Ok(PendingPrompt { open, prompt, number })
    }

    /// Stops the current turn of a session and cancels all queued prompts.
    pub fn cancel(&self, id: &str) {
        // A notification gets no response, and only an open session can be stopped.
        let Ok(open) = self.find_session(id) else { return };
        open.count_cancel();
        if open.prompts().cancel() {
            open.stop();
        }
    }
}

impl OpenSession {
    /// Stops the current turn; an agent that cannot stop a turn is ended.
    pub fn stop(self: Arc<Self>) {
        tokio::spawn(async move {
            let conversation = &self.conversation;
            let stopped = match conversation.agent().abilities.interrupt {
                true => conversation.interrupt().await,
                false => conversation.cancel().await,
            };
            // The turn may have ended by itself.
            drop(stopped);
        });
    }
}

impl PendingPrompt {
    /// Sends the prompt to the agent and waits for the end of its turn.
    async fn run(self) -> Result<PromptResponse> {
        let open = self.open.clone();
        let _lock = open.prompt_lock.lock().await;
        let outcome = open.prompts().start_sending(self.number);
        let ended = match outcome {
            Some(outcome) => self.send_and_wait(outcome).await,
            None => Ok(None),
        };
        let cancelled = open.prompts().is_cancelled(self.number);
        open.prompts().remove(self.number);
        match ended? {
            _ if cancelled => Ok(PromptResponse::new(StopReason::Cancelled)),
            Some(ended) => prompt_response(ended),
            None => Ok(PromptResponse::new(StopReason::EndTurn)),
        }
    }

    /// Does the same until the request is cancelled, which cancels this prompt alone.
    pub async fn run_until_cancelled(self, cancellation: RequestCancellation) -> Result<PromptResponse> {
        let (open, number) = (self.open.clone(), self.number);
        let mut run = pin!(self.run());
        tokio::select! {
            ended = &mut run => return ended,
            () = cancellation.cancelled() => {}
        }
        if open.prompts().withdraw(number) {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        }
        open.count_cancel();
        open.stop();
        run.await
    }

    /// Returns how the turn ended; `None` if there was none.
    async fn send_and_wait(&self, mut outcome: Receiver<PromptOutcome>) -> Result<Option<PromptOutcome>, Problem> {
        let is_command = self.send().await?;
        let conversation = &self.open.conversation;
        let run = conversation.service().session_record(self.open.id()).await?.runs;
        let steers = conversation.agent().abilities.while_running == WhileRunning::Steer;
        self.open.prompts().mark_accepted(self.number, run, steers && !is_command);
        if self.open.prompts().is_cancelled(self.number) {
            self.open.clone().stop();
        }
        if is_command { self.wait_for_command(outcome).await } else { Ok((&mut outcome).await.ok()) }
    }

    /// Sends the prompt; returns whether it was a slash command.
    async fn send(&self) -> Result<bool, Problem> {
        let (conversation, changes) = (&self.open.conversation, self.open.take_changes());
        if let Some((name, arguments)) = prompt_content::parse_slash_command(&self.prompt) {
            conversation.change(&changes).await?;
            let known = conversation.info().await?.commands;
            if known.iter().any(|known| known.name.strip_prefix('/').unwrap_or(&known.name) == name) {
                conversation.send_slash_command(name, arguments).await?;
                return Ok(true);
            }
        }
        conversation.prompt(self.prompt.clone(), &changes).await?;
        Ok(false)
    }

    /// Waits for a command, which may need no turn: then it is done when the agent is idle.
    async fn wait_for_command(&self, mut outcome: Receiver<PromptOutcome>) -> Result<Option<PromptOutcome>, Problem> {
        loop {
            match tokio::time::timeout(IDLE_CHECK_INTERVAL, &mut outcome).await {
                Ok(ended) => return Ok(ended.ok()),
                Err(_) => {
                    let stored = self.open.conversation.service().session_record(self.open.id()).await?;
                    if stored.state == SessionPhase::Idle {
                        self.open.wait_until_sent(stored.head).await;
                        if self.open.prompts().is_without_turn(self.number) {
                            return Ok(None);
                        }
                    }
                }
            }
        }
    }
}

fn prompt_response(ended: PromptOutcome) -> Result<PromptResponse, Error> {
    match ended {
        PromptOutcome::Turn(turn, usage) => turn_response(&turn, &usage),
        PromptOutcome::Lost(fault) => {
            let unknown = || Fault::new(Default::default(), "the agent ended before it answered");
            Err(errors::agent_error(&fault.unwrap_or_else(unknown)))
        }
    }
}

fn turn_response(turn: &TurnCompleted, usage: &Usage) -> Result<PromptResponse> {
    let Some(stop) = stop_reason(turn) else {
        let unknown = || Fault::new(Default::default(), "the turn failed");
        return Err(errors::agent_error(&turn.error.clone().unwrap_or_else(unknown)));
    };
    let mut response = PromptResponse::new(match stop {
        Stop::EndTurn => StopReason::EndTurn,
        Stop::MaxTokens => StopReason::MaxTokens,
        Stop::MaxTurnRequests => StopReason::MaxTurnRequests,
        Stop::Refusal => StopReason::Refusal,
        Stop::Cancelled => StopReason::Cancelled,
    });
    if !usage.is_zero() {
        let used = token_usage(usage);
        let used = WireUsage::new(used.total_tokens, used.input_tokens, used.output_tokens)
            .thought_tokens(used.thought_tokens)
            .cached_read_tokens(used.cached_read_tokens)
            .cached_write_tokens(used.cached_write_tokens);
        response = response.usage(used);
    }
    if let Some(cost) = turn.cost_usd.or(usage.cost_usd) {
        let meta = Meta::from_iter([("switchboard".to_owned(), json!({"costUsd": cost}))]);
        response = response.meta(meta);
    }
    Ok(response)
}
