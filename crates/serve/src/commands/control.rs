//! Controlling sessions: interrupting, canceling and deleting them, changing their settings, answering their requests.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use serde::Serialize;
use switchboard_agents::AgentCommand;
use switchboard_client::{
    Answered, Approval, ApprovalAnswer, ApprovalDecision, Approvals, CommandRequest, ModeRequest, ModelRequest,
    OptionRequest,
};
use switchboard_engine::{CommandError, SessionHandle, to_request_answer};
use switchboard_event::{About, EventBody, Kind, Outcome, RequestOpened, SessionState};
use switchboard_store::{PageQuery, SessionLog, SessionPhase, SessionRecord, StoreError};

use crate::{
    Problem, Service, private_socket,
    service::{SessionLocation, SessionStanding},
};

/// How long a caller waits for a session to be cancelled; the cancellation continues after that.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(2);

const MAX_ARGUMENTS_CHARS: usize = 100_000;

/// The maximum time for another process to list open requests.
const APPROVALS_TIMEOUT: Duration = Duration::from_millis(300);

/// How long a caller waits for a session to be deleted.
const DELETE_TIMEOUT: Duration = Duration::from_millis(4600);

/// How long an agent may take to end before it is killed.
const END_TIMEOUT: Duration = Duration::from_millis(2500);

impl Service {
    /// Ends a session. One that has ended is unchanged.
    pub async fn cancel(&self, id: &str) -> Result<SessionStanding, Problem> {
        match self.locate_session(id).await? {
            SessionLocation::Elsewhere(peer) => {
                let path = format!("/api/sessions/{}/cancel", private_socket::encode_path_segment(id));
                self.forward(&peer, Method::POST, &path, None::<&()>).await
            }
            SessionLocation::Here(session) => {
                let cancelling = tokio::spawn(async move { session.cancel().await });
                // The session may have ended by itself. A slow cancellation shows in the log later.
                drop(tokio::time::timeout(CANCEL_TIMEOUT, cancelling).await);
                Ok((&self.session_record(id).await?).into())
            }
            SessionLocation::Ended(stored) => Ok((&*stored).into()),
        }
    }

    /// Stops the current turn.
    pub async fn interrupt(&self, id: &str) -> Result<SessionStanding, Problem> {
        self.send_command(id, AgentCommand::Interrupt, "interrupt", None::<&()>).await
    }

    pub async fn set_model(&self, id: &str, request: &ModelRequest) -> Result<SessionStanding, Problem> {
        check_length("model", &request.model)?;
        self.send_command(id, AgentCommand::SetModel(request.model.clone()), "model", Some(request)).await
    }

    pub async fn set_mode(&self, id: &str, request: &ModeRequest) -> Result<SessionStanding, Problem> {
        check_length("mode", &request.mode)?;
        self.send_command(id, AgentCommand::SetMode(request.mode.clone()), "mode", Some(request)).await
    }

    pub async fn set_option(&self, id: &str, request: &OptionRequest) -> Result<SessionStanding, Problem> {
        check_length("id", &request.id)?;
        let command = AgentCommand::SetOption { id: request.id.clone(), value: request.value.clone() };
        self.send_command(id, command, "option", Some(request)).await
    }

    pub async fn send_slash_command(&self, id: &str, request: &CommandRequest) -> Result<SessionStanding, Problem> {
        check_length("name", &request.name)?;
        if request.arguments.chars().count() > MAX_ARGUMENTS_CHARS {
            return Err(Problem::bad_field("arguments", "must have at most 100,000 characters"));
        }
        let CommandRequest { name, arguments } = request.clone();
        let name = name.strip_prefix('/').map_or(name.clone(), str::to_owned);
        self.send_command(id, AgentCommand::Slash { name, arguments }, "command", Some(request)).await
    }

    async fn send_command(
        &self,
        id: &str,
        command: AgentCommand,
        operation: &str,
        body: Option<&impl Serialize>,
    ) -> Result<SessionStanding, Problem> {
        match self.locate_session(id).await? {
            SessionLocation::Elsewhere(peer) => {
                let path = format!("/api/sessions/{}/{operation}", private_socket::encode_path_segment(id));
                self.forward(&peer, Method::POST, &path, body).await
            }
            SessionLocation::Here(session) => {
                self.wait_for_command(session.send_command(command)).await??;
                Ok((&self.session_record(id).await?).into())
            }
            SessionLocation::Ended(_) => {
                Err(Problem::conflict("ended", format!("session {id} has ended"))
                    .with_hint("send a prompt to continue it"))
            }
        }
    }
}

fn check_length(field: &str, text: &str) -> Result<(), Problem> {
    match text.chars().count() {
        1..=1000 => Ok(()),
        _ => Err(Problem::bad_field(field, "must have 1 to 1000 characters")),
    }
}

impl Service {
    /// Returns the open requests of a session, oldest first.
    pub async fn approvals(&self, id: &str) -> Result<Vec<Approval>, Problem> {
        let stored = self.session_record(id).await?;
        self.open_approvals(&stored).await
    }

    pub(crate) async fn open_approvals(&self, stored: &SessionRecord) -> Result<Vec<Approval>, Problem> {
        let to_approvals = |open: &[RequestOpened]| open.iter().map(|open| Approval::new(&stored.id, open)).collect();
        if let Some(session) = self.engine().session(&stored.id) {
            return Ok(session.with_state(|state| to_approvals(&state.requests)));
        }
        if stored.state != SessionPhase::Waiting {
            return Ok(Vec::new());
        }
        if let Some(owner) = stored.owner.filter(|owner| Some(*owner) != self.config().owner) {
            let path = format!("/api/sessions/{}/approvals", private_socket::encode_path_segment(&stored.id));
            let peer = self.peer(owner);
            let asked = self.forward::<Approvals>(&peer, Method::GET, &path, None::<&()>);
            // A stopped process does not respond, but the log has the requests too.
            if let Ok(Ok(Approvals { approvals })) = tokio::time::timeout(APPROVALS_TIMEOUT, asked).await {
                return Ok(approvals);
            }
        }
        // The other process did not respond: reads the events of the session.
        let id = stored.id.clone();
        let state = self.query_log(move |log| log.read_state(&id, SessionState::REQUEST_KINDS)).await?;
        Ok(to_approvals(&state.requests))
    }

    pub async fn answer(&self, id: &str, request: &str, answer: &ApprovalAnswer) -> Result<Answered, Problem> {
        let refused = match self.locate_session(id).await? {
            SessionLocation::Elsewhere(peer) => {
                let path = format!(
                    "/api/sessions/{}/approvals/{}",
                    private_socket::encode_path_segment(id),
                    private_socket::encode_path_segment(request)
                );
                return self.forward(&peer, Method::POST, &path, Some(answer)).await;
            }
            SessionLocation::Here(session) => {
                let outcome = request_outcome(&session, request, answer.decision);
                let answered = session.answer_request(to_request_answer(request.into(), answer.clone()));
                match self.wait_for_command(answered).await? {
                    Ok(()) => return Ok(Answered { id: request.into(), outcome }),
                    Err(error) => error,
                }
            }
            SessionLocation::Ended(_) => CommandError::Ended,
        };
        match refused {
            CommandError::Ended | CommandError::NotOpen => Err(self.describe_late_answer(id, request).await?),
            other => Err(other.into()),
        }
    }

    /// Returns why there is no request for an answer.
    async fn describe_late_answer(&self, id: &str, request: &str) -> Result<Problem, Problem> {
        let (session, wanted) = (id.to_owned(), request.to_owned());
        let was_opened = self.query_log(move |log| was_opened(log, &session, &wanted)).await?;
        Ok(if was_opened {
            Problem::conflict("not_open", format!("request {request} is not open; it was answered or withdrawn"))
        } else {
            let detail = format!("session {id} has no request {request}");
            Problem::new(StatusCode::NOT_FOUND, "no_request", detail)
                .with_hint("GET /api/sessions/{id}/approvals lists open requests")
        })
    }
}

/// Returns whether a session has ever opened a request.
fn was_opened(log: &dyn SessionLog, session: &str, request: &str) -> Result<bool, StoreError> {
    let mut page = PageQuery { after: 0, limit: 1024, max_bytes: 4 << 20, kinds: &[Kind::RequestOpened] };
    loop {
        let (rows, _) = log.read_sound_rows(session, page)?;
        let Some(last) = rows.last() else { return Ok(false) };
        page.after = last.seq;
        for row in &rows {
            if matches!(&row.decode(session)?.body, EventBody::RequestOpened(opened) if *opened.request == *request) {
                return Ok(true);
            }
        }
    }
}

fn request_outcome(session: &SessionHandle, request: &str, decision: ApprovalDecision) -> Outcome {
    let is_question = session.with_state(|state| {
        state.requests.iter().any(|open| open.request == *request && open.about == About::Question)
    });
    match decision {
        ApprovalDecision::Accept | ApprovalDecision::AcceptForSession if is_question => Outcome::Answered,
        ApprovalDecision::Accept | ApprovalDecision::AcceptForSession => Outcome::Allowed,
        ApprovalDecision::Decline => Outcome::Declined,
        ApprovalDecision::Cancel => Outcome::Cancelled,
    }
}

pub enum DeleteOutcome {
    Deleted,
    /// It will be deleted once it has ended.
    Pending(SessionStanding),
}

impl Service {
    pub async fn delete(&self, id: &str) -> Result<DeleteOutcome, Problem> {
        let (service, wanted) = (self.clone(), id.to_owned());
        let mut deleting = tokio::spawn(async move {
            let deleted = service.delete_and_wait(&wanted).await;
            if let Ok(DeleteOutcome::Deleted) = deleted {
                service.shared_sessions().mark_deleted(&wanted);
            }
            deleted
        });
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the session was not deleted");
        if let Ok(deleted) = tokio::time::timeout(DELETE_TIMEOUT, &mut deleting).await {
            return deleted.map_err(failed)?;
        }
        match self.session_record(id).await {
            // The deletion continues in the background.
            Ok(stored) => Ok(DeleteOutcome::Pending((&stored).into())),
            // It was deleted at the last moment; the task has the outcome.
            Err(_) => deleting.await.map_err(failed)?,
        }
    }

    async fn delete_and_wait(&self, id: &str) -> Result<DeleteOutcome, Problem> {
        loop {
            match self.locate_session(id).await? {
                SessionLocation::Elsewhere(peer) => {
                    let path = format!("/api/sessions/{}", private_socket::encode_path_segment(id));
                    let pending: Option<SessionStanding> =
                        self.forward(&peer, Method::DELETE, &path, None::<&()>).await?;
                    return Ok(pending.map_or(DeleteOutcome::Deleted, DeleteOutcome::Pending));
                }
                SessionLocation::Here(session) => {
                    // It may have ended by itself.
                    drop(session.cancel().await);
                    if tokio::time::timeout(END_TIMEOUT, session.wait_for_outcome()).await.is_err() {
                        drop(session.kill().await);
                        session.wait_for_outcome().await;
                    }
                }
                SessionLocation::Ended(_) => {
                    let wanted = id.to_owned();
                    match self.query_log(move |log| Ok(log.delete_session(&wanted))).await? {
                        Ok(()) => return Ok(DeleteOutcome::Deleted),
                        // It was continued at the last moment: tries again.
                        Err(StoreError::Open(_) | StoreError::NotOwner(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }
}
