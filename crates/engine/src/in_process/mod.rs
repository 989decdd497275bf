//! The client library without a network: sessions of this process, and what the log knows of others.

mod errors;
mod words;

use std::collections::VecDeque;

use futures_util::{
    FutureExt as _,
    future::ready,
    stream::{StreamExt as _, once, unfold},
};
use switchboard_client::{
    AgentError, AgentErrorKind, Approval, Messages, Order, PromptRequest, Reply, SessionPage, SessionQuery,
    SessionRequest, SessionState, SessionView, Transport,
};
use switchboard_event::Event;
use switchboard_store::{Filter, State, StoreError};

use self::errors::{of_command, of_start, of_store};
use crate::{Engine, Follower, Session};

/// Sessions of an engine, for [`switchboard_client::AgentClient`].
#[derive(Clone)]
pub struct InProcess {
    engine: Engine,
}

impl InProcess {
    /// The sessions of this engine.
    #[must_use]
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    fn view(&self, id: &str) -> Result<SessionView, AgentError> {
        let stored = self.engine.log().session(id).map_err(|error| of_store(&error))?;
        let stored = stored.ok_or_else(|| of_store(&StoreError::NoSession(id.to_owned())))?;
        let running = self.running(id);
        let approvals = running.as_ref().map_or(0, |session| session.requests().len());
        Ok(words::view(stored, running.is_some(), approvals))
    }

    fn running(&self, id: &str) -> Option<Session> {
        self.engine.session(id).filter(|session| !session.is_over())
    }

    /// The session, if it runs here; nothing if it has ended.
    fn steerable(&self, id: &str) -> Result<Option<Session>, AgentError> {
        if let Some(session) = self.engine.session(id) {
            return Ok(Some(session).filter(|session| !session.is_over()));
        }
        if self.view(id)?.state.is_final() {
            return Ok(None);
        }
        let elsewhere = AgentError::new(AgentErrorKind::PermissionDenied, format!("another process runs session {id}"));
        Err(elsewhere.with_code("elsewhere").with_hint("connect to a server, or to that process's own socket"))
    }

    async fn start(&self, request: SessionRequest) -> Result<SessionView, AgentError> {
        if let Some(id) = request.session_id.as_ref().filter(|_| !request.fork)
            && let Some(session) = self.steerable(id)?
        {
            let prompt = PromptRequest { prompt: request.prompt, images: request.images, config: None };
            session.prompt(words::prompt(prompt)).await.map_err(|error| of_command(&error))?;
            return self.view(id);
        }
        let agent = request.agent_type.clone();
        let started = self.engine.start(words::start(request)).await;
        let session = started.map_err(|error| of_start(&error).with_agent(&agent))?;
        self.view(session.id())
    }

    async fn command(&self, id: &str, order: Order) -> Result<(), AgentError> {
        let Some(session) = self.steerable(id)? else {
            return match order {
                Order::Prompt(PromptRequest { prompt, images, config }) => {
                    let session_id = Some(id.into());
                    let request = SessionRequest { prompt, images, config, session_id, ..SessionRequest::default() };
                    self.start(request).await.map(drop)
                }
                Order::Cancel => Ok(()),
                _ => Err(errors::ended()),
            };
        };
        match words::command(order) {
            Some(command) => session.command(command).await.map_err(|error| of_command(&error)),
            None => {
                // That it has ended by itself meanwhile is as good.
                session.cancel().await.unwrap_or_default();
                Ok(())
            }
        }
    }

    async fn remove(&self, id: &str) -> Result<(), AgentError> {
        if let Some(session) = self.steerable(id)? {
            session.cancel().await.unwrap_or_default();
            session.outcome().await;
        }
        self.engine.log().delete(id).map_err(|error| of_store(&error))
    }

    fn page(&self, query: &SessionQuery) -> Result<SessionPage, AgentError> {
        let limit = usize::try_from(query.limit.unwrap_or(50)).unwrap_or(50);
        let filter = Filter { states: states(query.state), limit: Some(limit + 1), ..words::filter(query) };
        let mut found = self.engine.log().sessions(&filter).map_err(|error| of_store(&error))?;
        let more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().map(|last| last.number.to_string()).filter(|_| more);
        let sessions = found.into_iter().map(|stored| {
            let running = self.running(&stored.id);
            let approvals = running.as_ref().map_or(0, |session| session.requests().len());
            words::view(stored, running.is_some(), approvals)
        });
        Ok(SessionPage { sessions: sessions.collect(), next })
    }
}

/// The states of the log that are wanted; nothing means any.
fn states(state: Option<SessionState>) -> Vec<State> {
    match state {
        None | Some(SessionState::Other) => Vec::new(),
        Some(SessionState::Running) => vec![State::Running, State::Waiting, State::Idle],
        Some(SessionState::Done) => vec![State::Done],
        Some(SessionState::Failed) => vec![State::Failed],
        Some(SessionState::Cancelled) => vec![State::Cancelled],
    }
}

impl Transport for InProcess {
    fn create(&self, request: SessionRequest) -> Reply<'_, SessionView> {
        self.start(request).boxed()
    }

    fn list(&self, query: SessionQuery) -> Reply<'_, SessionPage> {
        async move { self.page(&query) }.boxed()
    }

    fn get<'a>(&'a self, id: &'a str) -> Reply<'a, SessionView> {
        async move { self.view(id) }.boxed()
    }

    fn delete<'a>(&'a self, id: &'a str) -> Reply<'a, ()> {
        self.remove(id).boxed()
    }

    fn approvals<'a>(&'a self, id: &'a str) -> Reply<'a, Vec<Approval>> {
        let open = self.steerable(id).map(|session| session.map(|session| session.requests()).unwrap_or_default());
        let shown = open.map(|open| open.iter().map(|request| Approval::new(&id.into(), request)).collect());
        ready(shown).boxed()
    }

    fn order<'a>(&'a self, id: &'a str, order: Order) -> Reply<'a, ()> {
        self.command(id, order).boxed()
    }

    fn follow(&self, id: &str, after: u64) -> Messages<Event> {
        match self.engine.follow(id, after) {
            Ok(follower) => {
                let following = Following { follower, ready: VecDeque::new(), over: false };
                unfold(following, |mut of| async move { Some((of.next().await?, of)) }).boxed()
            }
            Err(error) => once(ready(Err(of_store(&error)))).boxed(),
        }
    }
}

struct Following {
    follower: Follower,
    ready: VecDeque<Event>,
    over: bool,
}

impl Following {
    async fn next(&mut self) -> Option<Result<Event, AgentError>> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some(Ok(event));
            }
            if self.over {
                return None;
            }
            let slice = match self.follower.next().await {
                Ok(slice) => slice?,
                Err(error) => return self.failed(&error),
            };
            match slice.events() {
                Ok(events) => self.ready.extend(events),
                Err(error) => return self.failed(&error),
            }
        }
    }

    fn failed(&mut self, error: &StoreError) -> Option<Result<Event, AgentError>> {
        self.over = true;
        Some(Err(of_store(error)))
    }
}
