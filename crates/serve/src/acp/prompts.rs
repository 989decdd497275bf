//! `session/prompt`, `session/cancel`, and a prompt that is taken back with `$/cancel_request`.

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

use super::{content, editor::Editor, errors, open::Open, tickets::Ended};
use crate::Problem;

/// How often it is looked whether a command that began no turn is done.
const LOOK: Duration = Duration::from_millis(50);

/// A prompt that waits for its turn.
pub struct Waiting {
    open: Arc<Open>,
    prompt: AgentPrompt,
    ticket: u64,
}

impl Editor {
    /// Takes note of a prompt, at once: what comes after it finds it there.
    pub fn prompted(&self, request: &PromptRequest) -> Result<Waiting> {
        let prompt = content::prompt(&request.prompt)?;
        let (open, ticket) = self.draw(&request.session_id.0, &prompt.text)?;
        Ok(Waiting { open, prompt, ticket })
    }

    /// Stops what is going on in a session. Prompts that wait are cancelled, too.
    pub fn cancel(&self, id: &str) {
        // Nobody waits for an answer, and what is not open cannot be stopped.
        let Ok(open) = self.find(id) else { return };
        open.cancelled();
        if open.tickets().cancel() {
            open.stop();
        }
    }
}

impl Open {
    /// Stops the turn, if there is one; an agent that cannot stop one is ended.
    pub fn stop(self: Arc<Self>) {
        tokio::spawn(async move {
            let conversation = &self.conversation;
            let stopped = match conversation.agent().abilities.interrupt {
                true => conversation.interrupt().await,
                false => conversation.cancel().await,
            };
            // What has ended by itself need not be stopped.
            drop(stopped);
        });
    }
}

impl Waiting {
    /// Gives the agent the prompt, and waits for the end of its turn.
    async fn run(self) -> Result<PromptResponse> {
        let open = self.open.clone();
        let _first = open.gate.lock().await;
        let told = open.tickets().give(self.ticket);
        let ended = match told {
            Some(told) => self.work(told).await,
            None => Ok(None),
        };
        let cancelled = open.tickets().is_cancelled(self.ticket);
        open.tickets().put_away(self.ticket);
        match ended? {
            _ if cancelled => Ok(PromptResponse::new(StopReason::Cancelled)),
            Some(ended) => response(ended),
            None => Ok(PromptResponse::new(StopReason::EndTurn)),
        }
    }

    /// The same for a request that the editor may take back, alone among those of its session.
    pub async fn run_unless(self, taken_back: RequestCancellation) -> Result<PromptResponse> {
        let (open, ticket) = (self.open.clone(), self.ticket);
        let mut run = pin!(self.run());
        tokio::select! {
            ended = &mut run => return ended,
            () = taken_back.cancelled() => {}
        }
        if open.tickets().take_back(ticket) {
            return Ok(PromptResponse::new(StopReason::Cancelled));
        }
        open.cancelled();
        open.stop();
        run.await
    }

    /// How the turn ended; nothing if there was none.
    async fn work(&self, told: Receiver<Ended>) -> Result<Option<Ended>, Problem> {
        let slash = self.give().await?;
        let conversation = &self.open.conversation;
        let run = conversation.service().stored(self.open.id()).await?.runs;
        let steers = conversation.agent().abilities.while_running == WhileRunning::Steer;
        self.open.tickets().taken(self.ticket, run, steers && !slash);
        if self.open.tickets().is_cancelled(self.ticket) {
            self.open.clone().stop();
        }
        let mut told = told;
        if slash {
            return self.commanded(told).await;
        }
        Ok((&mut told).await.ok())
    }

    /// Says whether it was a slash command.
    async fn give(&self) -> Result<bool, Problem> {
        let (conversation, changes) = (&self.open.conversation, self.open.changes());
        if let Some((name, arguments)) = content::slash(&self.prompt) {
            conversation.change(&changes).await?;
            let known = conversation.info().await?.commands;
            if known.iter().any(|known| known.name.strip_prefix('/').unwrap_or(&known.name) == name) {
                conversation.slash(name, arguments).await?;
                return Ok(true);
            }
        }
        conversation.prompt(self.prompt.clone(), &changes).await?;
        Ok(false)
    }

    /// A command may need no turn. Then it is over when the agent rests.
    async fn commanded(&self, mut told: Receiver<Ended>) -> Result<Option<Ended>, Problem> {
        loop {
            match tokio::time::timeout(LOOK, &mut told).await {
                Ok(ended) => return Ok(ended.ok()),
                Err(_) => {
                    let stored = self.open.conversation.service().stored(self.open.id()).await?;
                    if stored.state == SessionPhase::Idle {
                        self.open.until_told(stored.head).await;
                        if self.open.tickets().is_without_turn(self.ticket) {
                            return Ok(None);
                        }
                    }
                }
            }
        }
    }
}

fn response(ended: Ended) -> Result<PromptResponse, Error> {
    match ended {
        Ended::Turn(turn, usage) => completed(&turn, &usage),
        Ended::Lost(fault) => {
            let silent = || Fault::new(Default::default(), "the agent ended before it answered");
            Err(errors::fault(&fault.unwrap_or_else(silent)))
        }
    }
}

fn completed(turn: &TurnCompleted, usage: &Usage) -> Result<PromptResponse> {
    let Some(stop) = stop_reason(turn) else {
        let silent = || Fault::new(Default::default(), "the turn failed");
        return Err(errors::fault(&turn.error.clone().unwrap_or_else(silent)));
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
