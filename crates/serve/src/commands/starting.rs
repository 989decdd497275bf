//! Starting sessions, and continuing them: with the next prompt while they run, with another run when they have ended.

use std::{path::Path, time::Duration};

use axum::http::{Method, StatusCode};
use serde_json::Value;
use switchboard_engine::{CommandError, RequestAudience, SessionHandle, SessionTimeouts, StartRequest};
use switchboard_event::{SandboxMode, SessionConfig, describe_ignored};
use switchboard_store::SessionRecord;
use tokio::sync::OwnedSemaphorePermit;

use crate::{
    Problem, Service, foreign, logs,
    order::{PromptRequest, SessionRequest},
    service::Place,
    view::SessionView,
};

/// How long we wait before we look again at a session that somebody else is just starting.
const BETWEEN: Duration = Duration::from_millis(20);

/// How long a session that is ending may take before a follow-up is refused.
const ENDING: Duration = Duration::from_secs(15);

impl Service {
    /// Starts a session, or continues the one that the request names.
    ///
    /// # Errors
    /// If the request makes no sense, or the session cannot be started.
    pub async fn start(&self, request: &SessionRequest) -> Result<SessionView, Problem> {
        request.check()?;
        let wanted = self.wanted(request)?;
        let session = match &request.session_id {
            Some(id) => match self.go_on(id, request, wanted.clone()).await {
                Err(unknown) if unknown.code == "no_session" && self.serves() => {
                    return self.adopt(id, request, wanted).await;
                }
                other => return other,
            },
            None => self.begin(wanted).await?,
        };
        self.view(session.id()).await
    }

    /// Gives a session another prompt.
    ///
    /// # Errors
    /// If there is no such session, or it cannot take one.
    pub async fn prompt(&self, id: &str, request: &PromptRequest) -> Result<SessionView, Problem> {
        request.settings()?;
        let request = SessionRequest {
            session_id: Some(id.to_owned()),
            prompt: request.prompt.clone(),
            images: request.images.clone(),
            config: request.config.clone(),
            ignored_fields: request.ignored_fields.clone(),
            ..SessionRequest::default()
        };
        self.start(&request).await
    }

    /// Writes into a session that runs here that fields of a request were ignored.
    pub(crate) async fn remark_ignored(&self, id: &str, fields: &[String]) {
        if let (Some(text), Some(session)) = (describe_ignored(fields), self.engine().session(id)) {
            // A session that has just ended takes no notice.
            drop(session.write_remark(text).await);
        }
    }

    /// Starts a session of its own, with what a request does not say as the server has it.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn begin(&self, mut wanted: StartRequest) -> Result<SessionHandle, Problem> {
        self.resolve_roots(&mut wanted.config).await?;
        let folder = self.folder(wanted.config.working_directory.as_deref()).await?;
        wanted.config.working_directory = Some(folder.path().to_string_lossy().into_owned());
        wanted.working_directory = Some(folder);
        wanted.config.approval_mode.get_or_insert(self.setup().approval);
        wanted.config.sandbox_mode.get_or_insert(SandboxMode::None);
        self.launch(wanted).await
    }

    /// Goes on with a session that only its agent has, by its whole id.
    async fn adopt(&self, id: &str, request: &SessionRequest, wanted: StartRequest) -> Result<SessionView, Problem> {
        let named = id.to_owned();
        let mut wanted = self
            .logs()
            .ask(move |library| {
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
            // We ran it before: then it goes on as that.
            Some(own) => self.go_on(&own, request, wanted).await,
            None => self.view(self.begin(wanted).await?.id()).await,
        }
    }

    /// What the request means to the engine.
    pub(super) fn wanted(&self, request: &SessionRequest) -> Result<StartRequest, Problem> {
        let limits = self.setup().limits;
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

    async fn go_on(&self, id: &str, request: &SessionRequest, wanted: StartRequest) -> Result<SessionView, Problem> {
        loop {
            match self.place(id).await? {
                Place::Elsewhere(socket) => {
                    return foreign::call(&socket, Method::POST, "/api/sessions", Some(request)).await;
                }
                Place::Here(session) => {
                    if self.join(&session, &wanted).await? {
                        return self.view(id).await;
                    }
                }
                Place::Ended(stored) => match self.resume(&stored, wanted.clone()).await {
                    Ok(session) => return self.view(session.id()).await,
                    // Somebody was faster, and this prompt comes after theirs.
                    Err(problem) if problem.code == "running" || problem.code == "elsewhere" => {
                        tokio::time::sleep(BETWEEN).await;
                    }
                    Err(problem) => return Err(problem),
                },
            }
        }
    }

    /// Gives a running session the next prompt. Says no if it ended before that, all of it.
    async fn join(&self, session: &SessionHandle, wanted: &StartRequest) -> Result<bool, Problem> {
        let id = session.id();
        if wanted.fork {
            let detail = format!("session {id} is running: a copy can be continued once it has ended");
            return Err(Problem::conflict("running", detail));
        }
        let stored = self.stored(id).await?;
        fits(&stored.agent, wanted)?;
        unchanged(&wanted.config, &stored)?;
        for remark in &wanted.remarks {
            // A session that has just ended takes no notice.
            drop(session.write_remark(remark.clone()).await);
        }
        let prompt = wanted.prompt.clone().unwrap_or_default();
        match session.send_prompt(prompt).await {
            Ok(()) => Ok(true),
            Err(CommandError::Ended) => {
                let ended = tokio::time::timeout(ENDING, session.wait_for_outcome()).await;
                ended.map_err(|_| Problem::conflict("ending", format!("session {id} is just ending: try again")))?;
                Ok(false)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Continues a session that has ended, as the agent itself does it.
    pub(crate) async fn resume(
        &self,
        stored: &SessionRecord,
        mut wanted: StartRequest,
    ) -> Result<SessionHandle, Problem> {
        fits(&stored.agent, &wanted)?;
        if wanted.config.writable_roots.is_none() {
            wanted.config.writable_roots = stored.parse_config()?.writable_roots;
        }
        self.resolve_roots(&mut wanted.config).await?;
        let given = wanted.config.working_directory.take();
        let folder = self.folder(Some(given.as_deref().unwrap_or(&stored.cwd))).await?;
        wanted.config.working_directory = given.map(|_| folder.path().to_string_lossy().into_owned());
        wanted.working_directory = Some(folder);
        wanted.resume = Some(stored.id.clone());
        self.launch(wanted).await
    }

    /// Directories that may be written besides the workspace must be where sessions may work, too. They are named
    /// without links from now on.
    async fn resolve_roots(&self, config: &mut SessionConfig) -> Result<(), Problem> {
        for root in config.writable_roots.iter_mut().flatten() {
            *root = self.folder(Some(root)).await?.path().to_string_lossy().into_owned();
        }
        for path in config.writable_paths.iter().flatten().map(Path::new).filter(|path| path.is_absolute()) {
            // A file that is not there yet has a directory that is.
            let directory = if path.is_dir() { Some(path) } else { path.parent() };
            self.folder(directory.and_then(Path::to_str)).await?;
        }
        Ok(())
    }

    /// Starts a session, whether or not whoever asked for it is still there.
    async fn launch(&self, wanted: StartRequest) -> Result<SessionHandle, Problem> {
        if !self.serves() {
            let detail = "this process ends with the sessions it has, and begins no others";
            return Err(Problem::conflict("no_server", detail).with_hint("`switchboard serve` begins sessions"));
        }
        let (service, place) = (self.clone(), self.place_for_one()?);
        let launched = tokio::spawn(async move {
            let session = service.engine().start_session(wanted).await?;
            service.welcome(&session, place);
            Ok(session)
        });
        let lost = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the session was lost");
        launched.await.map_err(lost)?
    }

    /// Counts a session that has started, and its end.
    fn welcome(&self, session: &SessionHandle, place: OwnedSemaphorePermit) {
        self.metrics().started(session);
        let (service, session) = (self.clone(), session.clone());
        tokio::spawn(async move {
            let outcome = session.wait_for_outcome().await;
            service.metrics().ended(&session, outcome.reason);
            drop(place);
        });
    }
}

/// A session that runs keeps its settings; saying what they are already is no harm.
fn unchanged(config: &SessionConfig, stored: &SessionRecord) -> Result<(), Problem> {
    let values = |config: &SessionConfig| serde_json::to_value(config).unwrap_or_default();
    let (given, held) = (values(config), values(&stored.parse_config()?));
    let differs = |(name, value): (&String, &Value)| (held.get(name) != Some(value)).then(|| name.clone());
    match given.as_object().into_iter().flatten().find_map(differs) {
        None => Ok(()),
        Some(name) => {
            let detail = format!("config.{name}: the session is running, and keeps its settings until it has ended");
            Err(Problem::conflict("running", detail).with_hint("POST …/model and …/mode change a running session"))
        }
    }
}

/// The agent that is named, if one is, is the session's.
fn fits(agent: &str, wanted: &StartRequest) -> Result<(), Problem> {
    if wanted.agent.is_empty() || wanted.agent == agent {
        return Ok(());
    }
    let detail = format!("the session is of {agent}, and {} cannot continue it", wanted.agent);
    Err(Problem::conflict("other_agent", detail))
}
