//! Starting sessions, and continuing them: with the next prompt while they run, with another run after they have ended.

use std::{path::Path, time::Duration};

use axum::http::{Method, StatusCode};
use serde_json::Value;
use switchboard_agents::find_agent;
use switchboard_client::{FollowUpRequest, SessionView, StartSessionRequest};
use switchboard_engine::{CommandError, RequestAudience, SessionHandle, SessionTimeouts, StartRequest};
use switchboard_event::{Id, SandboxMode, SessionConfig, describe_ignored};
use switchboard_store::SessionRecord;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    Problem, Service, logs,
    requests::{PromptRequest, RunRequest, SessionRequest},
    service::SessionLocation,
};

/// The time between two checks of a session that another client is just starting.
const RETRY_INTERVAL: Duration = Duration::from_millis(20);

/// How long an ending session may take before a follow-up is refused.
const END_TIMEOUT: Duration = Duration::from_secs(15);

impl Service {
    /// Starts a session, or continues the one that the request names.
    pub async fn start(&self, request: &SessionRequest) -> Result<SessionView, Problem> {
        request.check()?;
        let wanted = self.to_start_request(request)?;
        let session = match &request.session_id {
            Some(id) => match self.continue_session(id, request, wanted.clone()).await {
                Err(unknown) if unknown.code == "no_session" && self.accepts_sessions() => {
                    return self.adopt(id, request, wanted).await;
                }
                other => return other,
            },
            None => match self.start_elsewhere(request).await? {
                Some(started) => return Ok(started),
                None => self.start_new(wanted).await?,
            },
        };
        self.session_view(session.id()).await
    }

    pub async fn prompt(&self, id: &str, request: &PromptRequest) -> Result<SessionView, Problem> {
        self.follow_up(id, request, false).await
    }

    /// Sends a prompt. A session that is continued with it stays open afterwards.
    pub(crate) async fn prompt_open(&self, id: &str, request: &PromptRequest) -> Result<SessionView, Problem> {
        self.follow_up(id, request, true).await
    }

    async fn follow_up(&self, id: &str, request: &PromptRequest, stay: bool) -> Result<SessionView, Problem> {
        request.settings()?;
        let FollowUpRequest { prompt, images, config } = request.request.clone();
        let session_id = Some(Id::from(id));
        let continued =
            StartSessionRequest { session_id, prompt, images, config, stay, ..StartSessionRequest::default() };
        let ignored_fields = request.ignored_fields.clone();
        self.start(&SessionRequest { request: continued, ignored_fields }).await
    }

    /// Writes a remark about ignored fields of a request into a session that runs here.
    pub(crate) async fn report_ignored_fields(&self, id: &str, fields: &[String]) {
        if let (Some(text), Some(session)) = (describe_ignored(fields), self.engine().session(id)) {
            // A session that has just ended accepts no remark.
            drop(session.write_remark(text).await);
        }
    }

    /// Starts a new session. The server's defaults apply to settings that the request lacks.
    pub async fn start_new(&self, mut wanted: StartRequest) -> Result<SessionHandle, Problem> {
        self.take_node_choice(&mut wanted.config)?;
        self.resolve_roots(&mut wanted.config).await?;
        let folder = self.open_directory(wanted.config.working_directory.as_deref()).await?;
        wanted.config.working_directory = Some(folder.path().to_string_lossy().into_owned());
        wanted.working_directory = Some(folder);
        wanted.config.approval_mode.get_or_insert(self.config().approval_mode);
        wanted.config.sandbox_mode.get_or_insert(SandboxMode::None);
        self.launch_session(wanted).await
    }

    /// Continues a session that only the agent's own log has, by its full ID.
    async fn adopt(&self, id: &str, request: &SessionRequest, wanted: StartRequest) -> Result<SessionView, Problem> {
        let named = id.to_owned();
        let mut wanted = self
            .logs()
            .query(move |library| {
                let mut wanted = wanted;
                if library.find_session(&named)?.id != named {
                    return Err(Problem::no_session(&named));
                }
                logs::adopt(library, &named, &mut wanted)?;
                Ok(wanted)
            })
            .await
            .map_err(|problem| if problem.code == "no_session" { Problem::no_session(id) } else { problem })?;
        match wanted.resume.take() {
            // Switchboard ran it before and continues its own session.
            Some(own) => self.continue_session(&own, request, wanted).await,
            None => self.session_view(self.start_new(wanted).await?.id()).await,
        }
    }

    /// Converts a request to the engine's.
    pub(super) fn to_start_request(&self, request: &SessionRequest) -> Result<StartRequest, Problem> {
        let limits = self.config().timeouts;
        Ok(StartRequest {
            agent: request.agent()?.to_owned(),
            prompt: request.prompt()?,
            config: request.settings()?,
            fork: request.fork,
            command: request.command.clone(),
            env: request.env.clone(),
            audience: RequestAudience::Client,
            stay: request.stay,
            remarks: describe_ignored(&request.ignored_fields).into_iter().collect(),
            timeouts: SessionTimeouts {
                total: request.timeout()?.or(limits.total),
                approval: request.approval_timeout()?.unwrap_or(limits.approval),
                ..limits
            },
            ..StartRequest::default()
        })
    }

    async fn continue_session(
        &self,
        id: &str,
        request: &SessionRequest,
        wanted: StartRequest,
    ) -> Result<SessionView, Problem> {
        loop {
            match self.locate_session(id).await? {
                SessionLocation::Elsewhere(peer) => {
                    return self.forward(&peer, Method::POST, "/api/sessions", Some(request)).await;
                }
                SessionLocation::Here(session) => {
                    if self.send_next_prompt(&session, &wanted).await? {
                        return self.session_view(id).await;
                    }
                }
                SessionLocation::Ended(stored) => match self.resume_on_node(&stored, request, &wanted).await {
                    Ok(view) => return Ok(view),
                    // Another client was faster, and this prompt follows theirs.
                    Err(problem) if problem.code == "running" || problem.code == "elsewhere" => {
                        tokio::time::sleep(RETRY_INTERVAL).await;
                    }
                    Err(problem) => return Err(problem),
                },
            }
        }
    }

    /// Continues a session that has ended, on the node that has its agent's files.
    async fn resume_on_node(
        &self,
        stored: &SessionRecord,
        request: &SessionRequest,
        wanted: &StartRequest,
    ) -> Result<SessionView, Problem> {
        if let Some(node) = self.other_node(stored) {
            return self.continue_on_node(&node, request).await;
        }
        let session = self.resume(stored, wanted.clone()).await?;
        self.session_view(session.id()).await
    }

    /// Sends the next prompt to a running session. Returns false if the session ended before that.
    async fn send_next_prompt(&self, session: &SessionHandle, wanted: &StartRequest) -> Result<bool, Problem> {
        let id = session.id();
        if wanted.fork {
            let detail = format!("session {id} is running; it can be forked once it has ended");
            return Err(Problem::conflict("running", detail));
        }
        let stored = self.session_record(id).await?;
        check_agent(&stored.agent, wanted)?;
        let mut config = wanted.config.clone();
        Self::drop_node_choice(&mut config, &stored)?;
        check_settings_unchanged(&config, &stored)?;
        for remark in &wanted.remarks {
            // A session that has just ended accepts no remark.
            drop(session.write_remark(remark.clone()).await);
        }
        let prompt = wanted.prompt.clone().unwrap_or_default();
        match self.wait_for_command(session.send_prompt(prompt)).await? {
            Ok(()) => Ok(true),
            Err(CommandError::Ended) => {
                let ended = tokio::time::timeout(END_TIMEOUT, session.wait_for_outcome()).await;
                ended.map_err(|_| Problem::conflict("ending", format!("session {id} is ending; try again")))?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Continues a session that has ended, with the agent's own resume.
    pub(crate) async fn resume(
        &self,
        stored: &SessionRecord,
        mut wanted: StartRequest,
    ) -> Result<SessionHandle, Problem> {
        check_agent(&stored.agent, &wanted)?;
        self.check_own_node(stored)?;
        Self::drop_node_choice(&mut wanted.config, stored)?;
        if wanted.config.writable_roots.is_none() {
            wanted.config.writable_roots = stored.parse_config()?.writable_roots;
        }
        self.resolve_roots(&mut wanted.config).await?;
        let given = wanted.config.working_directory.take();
        let folder = self.open_directory(Some(given.as_deref().unwrap_or(&stored.cwd))).await?;
        wanted.config.working_directory = given.map(|_| folder.path().to_string_lossy().into_owned());
        wanted.working_directory = Some(folder);
        wanted.resume = Some(stored.id.clone());
        self.launch_session(wanted).await
    }

    /// Checks that additional writable directories are where sessions may work, and resolves their symbolic links.
    async fn resolve_roots(&self, config: &mut SessionConfig) -> Result<(), Problem> {
        for root in config.writable_roots.iter_mut().flatten() {
            *root = self.open_directory(Some(root)).await?.path().to_string_lossy().into_owned();
        }
        for path in config.writable_paths.iter().flatten().map(Path::new).filter(|path| path.is_absolute()) {
            // A file that does not exist yet has a directory.
            let directory = if path.is_dir() { Some(path) } else { path.parent() };
            self.open_directory(directory.and_then(Path::to_str)).await?;
        }
        Ok(())
    }

    /// Starts a session even if the client disconnects meanwhile.
    async fn launch_session(&self, wanted: StartRequest) -> Result<SessionHandle, Problem> {
        if !self.accepts_sessions() {
            let detail = "this process accepts no new sessions";
            return Err(Problem::conflict("no_server", detail).with_hint("start sessions with `switchboard serve`"));
        }
        self.check_not_draining()?;
        self.check_log_available()?;
        let (service, slot) = (self.clone(), self.reserve_session_slot()?);
        let launched = tokio::spawn(async move {
            let session = service.engine().start_session(wanted).await?;
            service.count_run(&session, slot);
            Ok(session)
        });
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the session did not start");
        launched.await.map_err(failed)?
    }

    /// Counts the start and the end of a session.
    fn count_run(&self, session: &SessionHandle, slot: OwnedSemaphorePermit) {
        self.metrics().count_start(session);
        let (service, session) = (self.clone(), session.clone());
        tokio::spawn(async move {
            let outcome = session.wait_for_outcome().await;
            service.metrics().count_end(&session, outcome.reason);
            drop(slot);
        });
    }
}

/// Checks that a request changes no setting of a running session.
fn check_settings_unchanged(config: &SessionConfig, stored: &SessionRecord) -> Result<(), Problem> {
    let values = |config: &SessionConfig| serde_json::to_value(config).unwrap_or_default();
    let (given, held) = (values(config), values(&stored.parse_config()?));
    let differs = |(name, value): (&String, &Value)| (held.get(name) != Some(value)).then(|| name.clone());
    match given.as_object().into_iter().flatten().find_map(differs) {
        None => Ok(()),
        Some(name) => {
            let detail = format!("config.{name}: settings of a running session cannot be changed");
            Err(Problem::conflict("running", detail).with_hint("POST …/model and …/mode change a running session"))
        }
    }
}

/// Checks that a request does not name another agent than the session's.
fn check_agent(agent: &str, wanted: &StartRequest) -> Result<(), Problem> {
    if wanted.agent.is_empty() || wanted.agent == agent {
        return Ok(());
    }
    let detail = format!("the session belongs to {agent}; {} cannot continue it", wanted.agent);
    Err(Problem::conflict("other_agent", detail))
}

/// Cancels a session on drop, when its only reader is gone.
pub struct CancelOnDrop(SessionHandle);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        let session = self.0.clone();
        if !session.is_over() {
            tokio::spawn(async move { session.cancel().await });
        }
    }
}

impl Service {
    /// Starts a session without approvals.
    pub async fn run(&self, request: RunRequest) -> Result<(SessionHandle, CancelOnDrop), Problem> {
        let request = SessionRequest::from(request);
        let session = self.start_unattended(&request).await.map_err(with_run_field_names)?;
        Ok((session.clone(), CancelOnDrop(session)))
    }

    async fn start_unattended(&self, request: &SessionRequest) -> Result<SessionHandle, Problem> {
        request.check()?;
        let wanted = StartRequest { audience: RequestAudience::None, ..self.to_start_request(request)? };
        let stored = match &request.session_id {
            Some(id) => Some(self.session_record(id).await?),
            None => None,
        };
        // Of the two forms of an agent, the interactive one is only used here if it reports more.
        if find_agent(&wanted.agent).is_some_and(|agent| agent.abilities.detailed_one_shot) {
            let one_shot = StartRequest { one_shot: true, ..wanted.clone() };
            match self.start_or_resume(stored.as_ref(), one_shot).await {
                // The one-shot form supports less.
                Err(problem) if problem.code == "unsupported" => {}
                started => return started,
            }
        }
        self.start_or_resume(stored.as_ref(), wanted).await
    }

    async fn start_or_resume(
        &self,
        stored: Option<&SessionRecord>,
        wanted: StartRequest,
    ) -> Result<SessionHandle, Problem> {
        match stored {
            Some(stored) => self.resume(stored, wanted).await,
            None => self.start_new(wanted).await,
        }
    }
}

/// The fields of a run have other names than those of a session.
const RUN_FIELD_NAMES: [(&str, &str); 3] =
    [("agentType:", "driver:"), ("prompt:", "task:"), ("config.workingDirectory:", "cwd:")];

fn with_run_field_names(problem: Problem) -> Problem {
    let renamed = RUN_FIELD_NAMES
        .iter()
        .find_map(|(ours, theirs)| Some(format!("{theirs}{}", problem.detail.strip_prefix(ours)?)));
    Problem { detail: renamed.map_or(problem.detail, Into::into), ..problem }
}
