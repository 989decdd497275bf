//! `turn/…`: prompts, and stopping them.

use std::{sync::Arc, time::Duration};

use switchboard_agents::AgentPrompt;
use switchboard_dialects::harness::{
    Done, HarnessRequestId, RpcError, SandboxSettings, TurnInterruptParams, TurnStartParams, code, result_response,
};
use switchboard_event::SessionConfig;
use switchboard_store::SessionPhase;
use tokio::{
    sync::oneshot,
    time::{Instant, sleep_until},
};

use super::{
    connection::Connection,
    input,
    refusal::refusal,
    thread::{OpenThread, Starting},
};
use crate::conversation::Changes;

/// After a turn that was going on already, the next one begins within this time, if there is one.
const JOINED: Duration = Duration::from_secs(5);

async fn until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}

/// Somebody else's turn began at the same moment, and the agent took the prompt as a part of it.
fn joined() -> RpcError {
    RpcError::new(code::TURN_IN_PROGRESS, "another client began a turn at the same moment, and the prompt joined it")
}

/// Returns settings as changes of a thread, with those that the request has under other names.
pub fn changes_of(mut config: SessionConfig, given: &SessionConfig) -> Result<Changes, RpcError> {
    config.add_given(given).map_err(|error| RpcError::bad_params(error.to_string()))?;
    Changes::try_from(config)
        .map_err(|field| RpcError::bad_params(format!("{field}: it is set when a thread is started, and stays")))
}

impl Connection {
    pub(super) async fn turn_start(
        &self,
        id: &HarnessRequestId,
        mut params: TurnStartParams,
        given: SessionConfig,
    ) -> Result<(), RpcError> {
        let thread = self.thread(&params.thread_id)?;
        let prompt = input::prompt(self.service(), std::mem::take(&mut params.input)).await?;
        if self.is_busy(&thread).await? {
            let text = format!("a turn of thread {} is in progress", params.thread_id);
            return Err(RpcError::new(code::TURN_IN_PROGRESS, text));
        }
        let changes = self.changes(&thread, params, &given).await?;
        self.begin(id, &thread, prompt, &changes).await
    }

    /// A turn is going on: one that the client was told of, or one that it will be.
    async fn is_busy(&self, thread: &OpenThread) -> Result<bool, RpcError> {
        if thread.turn().is_some() || thread.conversation.is_in_turn() {
            return Ok(true);
        }
        let id = thread.conversation.id();
        if self.service().engine().session(id).is_some() {
            return Ok(false);
        }
        let stored = self.service().stored(id).await.map_err(refusal)?;
        Ok(matches!(stored.state, SessionPhase::Running | SessionPhase::Waiting)
            && stored.owner != self.service().setup().owner)
    }

    async fn changes(
        &self,
        thread: &OpenThread,
        params: TurnStartParams,
        given: &SessionConfig,
    ) -> Result<Changes, RpcError> {
        let chosen = params.config.unwrap_or_default();
        let chosen = if chosen.is_empty() {
            Changes::default()
        } else {
            self.selectors(&thread.conversation).await?.changes(chosen)?
        };
        let sandbox = params.sandbox_policy.map(SandboxSettings::from);
        let own = SessionConfig {
            model: params.model,
            mode: chosen.mode,
            options: chosen.options,
            working_directory: params.cwd,
            approval_mode: params.approval_policy.map(Into::into),
            sandbox_mode: sandbox.as_ref().map(|sandbox| sandbox.mode),
            writable_roots: sandbox.as_ref().map(|sandbox| sandbox.writable_roots.clone()),
            network_access: sandbox.and_then(|sandbox| sandbox.network_access),
            ..SessionConfig::default()
        };
        changes_of(own, given)
    }

    /// Gives the prompt, and waits for its turn to begin: whoever tells of that answers the request first.
    async fn begin(
        &self,
        id: &HarnessRequestId,
        thread: &Arc<OpenThread>,
        prompt: AgentPrompt,
        changes: &Changes,
    ) -> Result<(), RpcError> {
        let (answered, mut begun) = oneshot::channel();
        thread.expect_turn(Starting { id: id.clone(), answered });
        let mut ends = thread.ends();
        if let Err(problem) = thread.conversation.prompt(prompt, changes).await {
            return if thread.expect_no_turn() { Err(refusal(problem)) } else { Ok(()) };
        }
        let (before, mut late) = (ends.borrow().turns, None);
        loop {
            let now = *ends.borrow_and_update();
            if let Some(error) = self.over(thread, now.runs).await? {
                return if thread.expect_no_turn() { Err(error) } else { Ok(()) };
            }
            if now.turns > before {
                late.get_or_insert(Instant::now() + JOINED);
            }
            tokio::select! {
                // Either way, nobody waits for it any more.
                _ = &mut begun => return Ok(()),
                _ = ends.changed() => {}
                () = self.outbox().gone() => return Ok(()),
                () = until(late), if !thread.conversation.is_in_turn() => {
                    return if thread.expect_no_turn() { Err(joined()) } else { Ok(()) };
                }
            }
        }
    }

    /// Why no turn will begin, if the session has ended and all of it was told.
    async fn over(&self, thread: &OpenThread, ends: u32) -> Result<Option<RpcError>, RpcError> {
        let stored = self.service().stored(thread.conversation.id()).await.map_err(refusal)?;
        if !stored.state.is_final() || ends < stored.runs {
            return Ok(None);
        }
        let fault = stored.parse_end().ok().flatten().and_then(|end| end.error);
        let why = fault.map_or_else(|| "the agent ended before the turn began".to_owned(), |fault| fault.message);
        Ok(Some(RpcError::new(code::INTERNAL_ERROR, why).with_data("ended", None)))
    }

    /// Waits until all of a session was told that has ended.
    pub(super) async fn told_the_end(&self, thread: &OpenThread) {
        let mut ends = thread.ends();
        loop {
            let ended = *ends.borrow_and_update();
            // One that is gone has no end to wait for.
            if !matches!(self.over(thread, ended.runs).await, Ok(None)) || ends.changed().await.is_err() {
                return;
            }
        }
    }

    pub(super) async fn turn_interrupt(
        &self,
        id: &HarnessRequestId,
        params: &TurnInterruptParams,
    ) -> Result<(), RpcError> {
        let thread = self.thread(&params.thread_id)?;
        if thread.turn().as_ref() != Some(&params.turn_id) {
            let text = format!("turn {} of thread {} is not running", params.turn_id, params.thread_id);
            return Err(RpcError::new(code::NOT_RUNNING, text));
        }
        match thread.conversation.interrupt().await {
            Ok(()) => {}
            Err(problem) if problem.code == "ended" => {
                return Err(RpcError::new(code::NOT_RUNNING, String::from(problem.detail)));
            }
            Err(problem) => return Err(refusal(problem)),
        }
        self.say(result_response(id, Done {})).await;
        Ok(())
    }
}
