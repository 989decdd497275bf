//! A transport of the client library without a network: sessions of this process, and other sessions of the log.

use std::time::Duration;

use futures_util::{
    FutureExt as _, TryStreamExt as _,
    future::ready,
    stream::{StreamExt as _, iter, once, try_unfold},
};
use switchboard_agents::{AgentCommand, AgentPrompt, PromptImage, RequestAnswer, RequestDecision};
use switchboard_client::{
    Activity, AgentError, AgentErrorKind, Approval, ApprovalAnswer, ApprovalDecision, FollowUpRequest, ImageData,
    MAX_TIMEOUT_SECONDS, MessageStream, SessionAction, SessionLifecycle, SessionPage, SessionQuery, SessionStateFilter,
    SessionView, StartSessionRequest, Transport, TransportFuture,
};
use switchboard_event::{Event, Id};
use switchboard_store::{SessionFilter, SessionPhase, SessionRecord, StoreError};

use crate::{CommandError, Engine, RequestAudience, SessionHandle, SessionTimeouts, StartError, StartRequest};

/// A transport to the sessions of an engine, for [`switchboard_client::AgentClient`].
#[derive(Clone)]
pub struct InProcessTransport {
    engine: Engine,
}

impl InProcessTransport {
    pub fn new(engine: Engine) -> Self {
        Self { engine }
    }

    fn find_session(&self, id: &str) -> Result<SessionView, AgentError> {
        let stored = self.engine.log().get_session(id).map_err(|error| from_store_error(&error))?;
        Ok(self.view(stored.ok_or_else(|| from_store_error(&StoreError::NoSession(id.to_owned())))?))
    }

    fn view(&self, stored: SessionRecord) -> SessionView {
        let running = self.engine.session(&stored.id).filter(|session| !session.is_over());
        let open_requests = running.as_ref().map_or(0, |session| session.with_state(|state| state.requests.len()));
        session_view(stored, running.is_some(), open_requests)
    }

    /// Returns the session if it runs here, and `None` if it has ended. Fails if another process runs it.
    fn controllable_session(&self, id: &str) -> Result<Option<SessionHandle>, AgentError> {
        if let Some(session) = self.engine.session(id) {
            return Ok(Some(session).filter(|session| !session.is_over()));
        }
        if self.find_session(id)?.state.is_final() {
            return Ok(None);
        }
        let error = AgentError::new(AgentErrorKind::PermissionDenied, format!("another process runs session {id}"));
        Err(error.with_code("elsewhere").with_hint("connect to a server, or to that process's own socket"))
    }

    async fn start(&self, request: StartSessionRequest) -> Result<SessionView, AgentError> {
        if let Some(id) = request.session_id.as_ref().filter(|_| !request.fork)
            && let Some(session) = self.controllable_session(id)?
        {
            session.send_prompt(to_prompt(request.prompt, request.images)).await?;
            return self.find_session(id);
        }
        let agent = request.agent_type.clone();
        let started = self.engine.start_session(to_start_request(request)).await;
        let session = started.map_err(|error| AgentError::from(error).with_agent(&agent))?;
        self.find_session(session.id())
    }

    async fn perform(&self, id: &str, action: SessionAction) -> Result<(), AgentError> {
        let Some(session) = self.controllable_session(id)? else {
            return match action {
                SessionAction::Prompt(FollowUpRequest { prompt, images, config }) => {
                    let session_id = Some(id.into());
                    let request =
                        StartSessionRequest { prompt, images, config, session_id, ..StartSessionRequest::default() };
                    self.start(request).await.map(drop)
                }
                SessionAction::Cancel => Ok(()),
                _ => Err(CommandError::Ended.into()),
            };
        };
        match to_command(action) {
            Some(command) => Ok(session.send_command(command).await?),
            None => {
                // A session that has ended by itself in the meantime is fine, too.
                session.cancel().await.unwrap_or_default();
                Ok(())
            }
        }
    }

    async fn delete(&self, id: &str) -> Result<(), AgentError> {
        if let Some(session) = self.controllable_session(id)? {
            session.cancel().await.unwrap_or_default();
            session.wait_for_outcome().await;
        }
        self.engine.log().delete_session(id).map_err(|error| from_store_error(&error))
    }

    fn list(&self, query: &SessionQuery) -> Result<SessionPage, AgentError> {
        let limit = usize::try_from(query.limit.unwrap_or(50)).unwrap_or(50);
        let filter = SessionFilter {
            states: session_phases(query.state),
            limit: Some(limit + 1),
            agent: query.agent.clone(),
            project: query.project.clone(),
            cwd: query.cwd.clone(),
            node: query.node.clone(),
            text: query.text.clone(),
            archived: query.archived,
            before: query.before.as_deref().and_then(|number| number.parse().ok()),
            ..SessionFilter::default()
        };
        let mut found = self.engine.log().list_sessions(&filter).map_err(|error| from_store_error(&error))?;
        let has_more = found.len() > limit;
        found.truncate(limit);
        let next = found.last().map(|last| last.number.to_string()).filter(|_| has_more);
        Ok(SessionPage { sessions: found.into_iter().map(|stored| self.view(stored)).collect(), next })
    }
}

impl Transport for InProcessTransport {
    fn create_session(&self, request: StartSessionRequest) -> TransportFuture<'_, SessionView> {
        self.start(request).boxed()
    }

    fn list_sessions(&self, query: SessionQuery) -> TransportFuture<'_, SessionPage> {
        async move { self.list(&query) }.boxed()
    }

    fn get_session<'a>(&'a self, id: &'a str) -> TransportFuture<'a, SessionView> {
        async move { self.find_session(id) }.boxed()
    }

    fn delete_session<'a>(&'a self, id: &'a str) -> TransportFuture<'a, ()> {
        self.delete(id).boxed()
    }

    fn list_approvals<'a>(&'a self, id: &'a str) -> TransportFuture<'a, Vec<Approval>> {
        let session = self.controllable_session(id);
        let open = session.map(|session| session.map(|session| session.open_requests()).unwrap_or_default());
        let approvals = open.map(|open| open.iter().map(|request| Approval::new(&id.into(), request)).collect());
        ready(approvals).boxed()
    }

    fn send_action<'a>(&'a self, id: &'a str, action: SessionAction) -> TransportFuture<'a, ()> {
        self.perform(id, action).boxed()
    }

    fn follow_events(&self, id: &str, after: u64) -> MessageStream<Event> {
        let follower = match self.engine.follow(id, after) {
            Ok(follower) => follower,
            Err(error) => return once(ready(Err(from_store_error(&error)))).boxed(),
        };
        let slices = try_unfold(follower, async |mut follower| {
            let Some(slice) = follower.next().await? else { return Ok::<_, StoreError>(None) };
            Ok(Some((iter(slice.events()?.into_iter().map(Ok)), follower)))
        });
        slices.try_flatten().map_err(|error| from_store_error(&error)).boxed()
    }
}

fn to_start_request(request: StartSessionRequest) -> StartRequest {
    let mut config = request.config.unwrap_or_default();
    config.project_id = request.project_id.or(config.project_id);
    let timeouts = SessionTimeouts::default();
    let longest = Duration::from_secs_f64(MAX_TIMEOUT_SECONDS);
    let timeout = |seconds| Duration::try_from_secs_f64(seconds).map_or(longest, |time| time.min(longest));
    let agent = Some(request.agent_type).filter(|agent| !agent.is_empty()).or(request.agent_id);
    StartRequest {
        agent: agent.unwrap_or_default(),
        prompt: Some(to_prompt(request.prompt, request.images)),
        config,
        resume: request.session_id,
        fork: request.fork,
        command: request.command,
        env: request.env,
        audience: RequestAudience::Client,
        stay: request.stay,
        timeouts: SessionTimeouts {
            total: request.timeout_seconds.map(timeout),
            approval: request.approval_timeout_seconds.map_or(timeouts.approval, timeout),
            ..timeouts
        },
        ..StartRequest::default()
    }
}

fn to_prompt(text: String, images: Vec<ImageData>) -> AgentPrompt {
    let image = |image: ImageData| PromptImage { media_type: image.media_type, data: image.data, path: None };
    AgentPrompt { text, images: images.into_iter().map(image).collect(), output_schema: None }
}

/// Returns the command for the agent; `None` if the session is to end.
fn to_command(action: SessionAction) -> Option<AgentCommand> {
    Some(match action {
        SessionAction::Prompt(request) => AgentCommand::Prompt(to_prompt(request.prompt, request.images)),
        SessionAction::Answer { request, answer } => AgentCommand::Answer(to_request_answer(request, answer)),
        SessionAction::Interrupt => AgentCommand::Interrupt,
        SessionAction::SetModel(model) => AgentCommand::SetModel(model),
        SessionAction::SetMode(mode) => AgentCommand::SetMode(mode),
        SessionAction::SetOption { id, value } => AgentCommand::SetOption { id, value },
        SessionAction::Cancel => return None,
    })
}

pub fn to_request_answer(request: Id, answer: ApprovalAnswer) -> RequestAnswer {
    RequestAnswer {
        request,
        decision: match answer.decision {
            ApprovalDecision::Accept => RequestDecision::Allow,
            ApprovalDecision::AcceptForSession => RequestDecision::AllowSession,
            ApprovalDecision::Decline => RequestDecision::Decline,
            ApprovalDecision::Cancel => RequestDecision::Cancel,
        },
        option: answer.option,
        input: answer.input,
        answers: answer.answers,
        message: answer.reason,
    }
}

/// Returns the phases in the log that a client's filter stands for. An empty list means any.
pub fn session_phases(state: Option<SessionStateFilter>) -> Vec<SessionPhase> {
    match state {
        None => Vec::new(),
        Some(SessionStateFilter::Running) => SessionPhase::OPEN.to_vec(),
        Some(SessionStateFilter::Waiting) => vec![SessionPhase::Waiting],
        Some(SessionStateFilter::Idle) => vec![SessionPhase::Idle],
        Some(SessionStateFilter::Done) => vec![SessionPhase::Done],
        Some(SessionStateFilter::Failed) => vec![SessionPhase::Failed],
        Some(SessionStateFilter::Cancelled) => vec![SessionPhase::Cancelled],
    }
}

/// Returns the state of a session as clients see it.
pub fn session_lifecycle(phase: SessionPhase) -> SessionLifecycle {
    match phase {
        SessionPhase::Done => SessionLifecycle::Done,
        SessionPhase::Failed => SessionLifecycle::Failed,
        SessionPhase::Cancelled => SessionLifecycle::Cancelled,
        SessionPhase::Running | SessionPhase::Waiting | SessionPhase::Idle | SessionPhase::Other => {
            SessionLifecycle::Running
        }
    }
}

fn session_activity(phase: SessionPhase) -> Option<Activity> {
    match phase {
        SessionPhase::Running | SessionPhase::Other => Some(Activity::Running),
        SessionPhase::Waiting => Some(Activity::Waiting),
        SessionPhase::Idle => Some(Activity::Idle),
        SessionPhase::Done | SessionPhase::Failed | SessionPhase::Cancelled => None,
    }
}

/// Returns a session as clients see it. `is_here` tells whether this process runs it.
pub fn session_view(stored: SessionRecord, is_here: bool, open_requests: usize) -> SessionView {
    // A record of a later version is shown as far as it can be read.
    let end = stored.parse_end().unwrap_or_default();
    let config = stored.parse_config().map(|config| config.with_masked_secrets()).unwrap_or_default();
    SessionView {
        state: session_lifecycle(stored.state),
        activity: session_activity(stored.state),
        agent_type: config.agent_type.clone().unwrap_or_else(|| stored.agent.to_string()),
        agent_id: stored.agent.to_string(),
        config,
        project_id: stored.project,
        prompt: stored.prompt,
        title: stored.title,
        working_directory: stored.cwd,
        created_at: stored.created,
        updated_at: stored.updated,
        ended_at: stored.ended,
        turns: stored.turns,
        runs: stored.runs,
        events: stored.head,
        reason: end.as_ref().map(|end| end.reason),
        error: end.and_then(|end| end.error),
        sandbox: None,
        node: stored.node,
        here: is_here,
        approvals: open_requests,
        archived: stored.archived,
        id: stored.id,
    }
}

impl From<StartError> for AgentError {
    fn from(error: StartError) -> Self {
        let (kind, code) = match error {
            StartError::UnknownAgent(_) => (AgentErrorKind::ProtocolError, "unknown_agent"),
            StartError::NotInstalled { .. } | StartError::NoSuchProgram { .. } | StartError::NoSuchFile(_) => {
                (AgentErrorKind::ConnectionFailed, "not_installed")
            }
            StartError::TooOld { .. } => (AgentErrorKind::ConnectionFailed, "too_old"),
            StartError::BadDirectory { .. } => (AgentErrorKind::PermissionDenied, "bad_folder"),
            StartError::Unsupported(_) => (AgentErrorKind::ProtocolError, "unsupported"),
            StartError::BadRequest(_) => (AgentErrorKind::ProtocolError, "bad_request"),
            StartError::NoSession(_) => (AgentErrorKind::SessionNotFound, "no_session"),
            StartError::AlreadyRunning(_) => (AgentErrorKind::ProtocolError, "running"),
            StartError::Launch(_) => (AgentErrorKind::ConnectionFailed, "launch"),
            StartError::Files { .. } => (AgentErrorKind::Unknown, "files"),
            StartError::Store(ref error) => return from_store_error(error),
        };
        Self::from_text(kind, &error.to_string()).with_code(code)
    }
}

impl From<CommandError> for AgentError {
    fn from(error: CommandError) -> Self {
        let code = match error {
            CommandError::Ended => {
                let ended = Self::new(AgentErrorKind::ProtocolError, error.to_string());
                return ended.with_code("ended").with_hint("another prompt continues it");
            }
            CommandError::Unsupported(_) => "unsupported",
            CommandError::NotOpen => "not_open",
            CommandError::BadAnswer(_) => "bad_answer",
        };
        Self::from_text(AgentErrorKind::ProtocolError, &error.to_string()).with_code(code)
    }
}

fn from_store_error(error: &StoreError) -> AgentError {
    let (kind, code) = match error {
        StoreError::NoSession(_) => (AgentErrorKind::SessionNotFound, "no_session"),
        _ => (AgentErrorKind::Unknown, "log"),
    };
    AgentError::from_text(kind, &error.to_string()).with_code(code)
}
