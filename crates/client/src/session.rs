//! A handle to one session, to follow and control it.

use std::{fmt, sync::Arc};

use futures_util::stream::StreamExt as _;
use switchboard_event::{Event, Id};

use crate::{
    AgentError, AgentEvent, Approval, ApprovalAnswer, ApprovalDecision, CancelToken, FollowUpRequest, MessageStream,
    SessionAction, SessionView, Transport,
    cancel::{self, CancelWatch},
    typed,
};

/// A handle to a session. Dropping it does not end the session.
#[derive(Clone)]
pub struct AgentSession {
    transport: Arc<dyn Transport>,
    id: Id,
    agent_type: String,
    /// Events up to this `seq` are not returned.
    begin: u64,
    watch: Option<Arc<CancelWatch>>,
}

impl AgentSession {
    pub(crate) fn new(transport: Arc<dyn Transport>, view: &SessionView, begin: u64) -> Self {
        Self { transport, id: view.id.clone(), agent_type: view.agent_type.clone(), begin, watch: None }
    }

    /// Cancels the session when the token is cancelled. Must be called within a tokio runtime.
    #[must_use]
    pub fn with_cancel(mut self, token: &CancelToken) -> Self {
        let watch = CancelWatch::new(token.clone(), self.transport.clone(), self.id.to_string());
        self.watch = Some(Arc::new(watch));
        self
    }

    /// Returns the session ID.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Returns the agent.
    #[must_use]
    pub fn agent_type(&self) -> &str {
        &self.agent_type
    }

    /// Returns the events of the session, each once and in order, until the session has ended. Starts at the beginning,
    /// or at the new run if the session was resumed. Nothing follows an error.
    #[must_use]
    pub fn events(&self) -> MessageStream<AgentEvent> {
        typed::typed_events(self.log(), self.begin)
    }

    /// Returns the events after a `seq`, for a program that reconnects. Earlier events are read but not returned.
    #[must_use]
    pub fn events_after(&self, seq: u64) -> MessageStream<AgentEvent> {
        typed::typed_events(self.log_after(self.begin.min(seq)), seq)
    }

    /// Returns the events as they are in the log, with the agent's records verbatim.
    #[must_use]
    pub fn log(&self) -> MessageStream<Event> {
        self.log_after(self.begin)
    }

    /// Returns the events of the log after a `seq`.
    #[must_use]
    pub fn log_after(&self, seq: u64) -> MessageStream<Event> {
        let log = self.transport.follow_events(&self.id, seq);
        let log = match &self.watch {
            Some(watch) => cancel::end_after_cancel(log, watch.clone()),
            None => log,
        };
        let agent = self.agent_type.clone();
        log.map(move |event| event.map_err(|error| error.with_agent(&agent))).boxed()
    }

    /// Returns the current view of the session.
    ///
    /// # Errors
    /// Fails if the transport fails. The methods below fail in the same way.
    pub async fn view(&self) -> Result<SessionView, AgentError> {
        self.transport.get_session(&self.id).await
    }

    /// Lists the open requests of the session.
    pub async fn list_approvals(&self) -> Result<Vec<Approval>, AgentError> {
        self.transport.list_approvals(&self.id).await
    }

    /// Sends another prompt: it joins the turn or is queued, depending on the agent. An ended session is resumed.
    pub async fn prompt(&self, prompt: impl Into<FollowUpRequest>) -> Result<(), AgentError> {
        self.send_action(SessionAction::Prompt(prompt.into())).await
    }

    /// Allows a request of the agent, this once.
    pub async fn approve(&self, request: &str) -> Result<(), AgentError> {
        self.answer(request, ApprovalDecision::Accept).await
    }

    /// Declines a request; the agent continues without it and receives the reason.
    pub async fn decline(&self, request: &str, reason: Option<&str>) -> Result<(), AgentError> {
        let reason = reason.map(str::to_owned);
        self.answer(request, ApprovalAnswer { reason, ..ApprovalAnswer::from(ApprovalDecision::Decline) }).await
    }

    /// Answers a request. The first answer wins.
    pub async fn answer(&self, request: &str, answer: impl Into<ApprovalAnswer>) -> Result<(), AgentError> {
        self.send_action(SessionAction::Answer { request: Id::from(request), answer: answer.into() }).await
    }

    /// Stops the turn; the session stays open.
    pub async fn interrupt(&self) -> Result<(), AgentError> {
        self.send_action(SessionAction::Interrupt).await
    }

    /// Ends the session.
    pub async fn cancel(&self) -> Result<(), AgentError> {
        self.send_action(SessionAction::Cancel).await
    }

    /// Performs an action on the session.
    pub async fn send_action(&self, order: SessionAction) -> Result<(), AgentError> {
        self.transport.send_action(&self.id, order).await.map_err(|error| error.with_agent(&self.agent_type))
    }
}

impl fmt::Debug for AgentSession {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("agent_type", &self.agent_type).finish_non_exhaustive()
    }
}
