//! One session, for those who follow and steer it.

use std::{fmt, sync::Arc};

use futures_util::stream::StreamExt as _;
use switchboard_event::{Event, Id};

use crate::{
    AgentError, AgentEvent, Answer, Approval, CancelToken, Decision, Messages, Order, PromptRequest, SessionView,
    Transport,
    cancel::{self, Watch},
    typed,
};

/// A session. Whoever drops it decides nothing: the session goes on.
#[derive(Clone)]
pub struct Session {
    transport: Arc<dyn Transport>,
    id: Id,
    agent_type: String,
    /// What was before is not told.
    begin: u64,
    watch: Option<Arc<Watch>>,
}

impl Session {
    pub(crate) fn new(transport: Arc<dyn Transport>, view: &SessionView, begin: u64) -> Self {
        Self { transport, id: view.id.clone(), agent_type: view.agent_type.clone(), begin, watch: None }
    }

    /// The same, and ended when the token is used. Must be called inside of a tokio runtime.
    #[must_use]
    pub fn with_cancel(mut self, token: &CancelToken) -> Self {
        let watch = Watch::new(token.clone(), self.transport.clone(), self.id.to_string());
        self.watch = Some(Arc::new(watch));
        self
    }

    /// Its id.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The agent.
    #[must_use]
    pub fn agent_type(&self) -> &str {
        &self.agent_type
    }

    /// What happens in it: each event once and in order, until it has ended and all were seen. From its beginning, or
    /// from the beginning of the run if it was resumed. Nothing follows an error.
    #[must_use]
    pub fn events(&self) -> Messages<AgentEvent> {
        typed::typed(self.log(), self.begin)
    }

    /// The same behind a `seq`: for a program that returns. What was before is read again, and not told.
    #[must_use]
    pub fn events_after(&self, seq: u64) -> Messages<AgentEvent> {
        typed::typed(self.log_after(self.begin.min(seq)), seq)
    }

    /// The same as they are in the log, with all that the agent said verbatim.
    #[must_use]
    pub fn log(&self) -> Messages<Event> {
        self.log_after(self.begin)
    }

    /// The same behind a `seq`.
    #[must_use]
    pub fn log_after(&self, seq: u64) -> Messages<Event> {
        let log = self.transport.follow(&self.id, seq);
        let log = match &self.watch {
            Some(watch) => cancel::ending(log, watch.clone()),
            None => log,
        };
        let agent = self.agent_type.clone();
        log.map(move |event| event.map_err(|error| error.with_agent(&agent))).boxed()
    }

    /// What is known about it now.
    ///
    /// # Errors
    /// If it cannot be had; so all that follow.
    pub async fn view(&self) -> Result<SessionView, AgentError> {
        self.transport.get(&self.id).await
    }

    /// What the agent waits for.
    pub async fn approvals(&self) -> Result<Vec<Approval>, AgentError> {
        self.transport.approvals(&self.id).await
    }

    /// Gives the agent another prompt: it joins the turn or waits, as the agent can. An ended session is resumed.
    pub async fn prompt(&self, prompt: impl Into<PromptRequest>) -> Result<(), AgentError> {
        self.order(Order::Prompt(prompt.into())).await
    }

    /// Allows what the agent asks for, this once.
    pub async fn approve(&self, request: &str) -> Result<(), AgentError> {
        self.answer(request, Decision::Accept).await
    }

    /// Does not allow it; the agent goes on without, and is told why.
    pub async fn decline(&self, request: &str, reason: Option<&str>) -> Result<(), AgentError> {
        let reason = reason.map(str::to_owned);
        self.answer(request, Answer { reason, ..Answer::from(Decision::Decline) }).await
    }

    /// Answers a request, in any way. The first answer counts.
    pub async fn answer(&self, request: &str, answer: impl Into<Answer>) -> Result<(), AgentError> {
        self.order(Order::Answer { request: Id::from(request), answer: answer.into() }).await
    }

    /// Stops the turn; the session goes on.
    pub async fn interrupt(&self) -> Result<(), AgentError> {
        self.order(Order::Interrupt).await
    }

    /// Ends the session.
    pub async fn cancel(&self) -> Result<(), AgentError> {
        self.order(Order::Cancel).await
    }

    /// Wants something of the session.
    pub async fn order(&self, order: Order) -> Result<(), AgentError> {
        self.transport.order(&self.id, order).await.map_err(|error| error.with_agent(&self.agent_type))
    }
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Session").field("id", &self.id).field("agent_type", &self.agent_type).finish_non_exhaustive()
    }
}
