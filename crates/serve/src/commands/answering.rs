//! What agents ask, and what they are answered. The first answer that makes sense counts.

use std::{sync::Arc, time::Duration};

use axum::http::{Method, StatusCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_engine::{CommandError, Session};
use switchboard_event::{About, Call, Change, Id, Outcome, Question, RequestOpened, RequestOption, Timestamp};
use switchboard_store::{Session as Stored, State};

use crate::{
    Problem, Service, foreign,
    order::{ApprovalAnswer, ApprovalDecision},
    requests::Requests,
    service::Place,
};

/// How long another process may take to say what its session asks.
const GLANCE: Duration = Duration::from_millis(300);

/// Something that an agent asks, and that nobody has answered yet.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// The id to answer to.
    pub id: Id,
    /// The session.
    pub session_id: Id,
    /// What it is about.
    pub about: About,
    /// One line for people.
    pub title: String,
    /// Why the agent asks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The command that would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub command: Option<String>,
    /// Where it would run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cwd: Option<String>,
    /// The files that would change.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<Change>,
    /// The tool call that it is about.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<Box<Call>>,
    /// The questions to answer.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub questions: Vec<Question>,
    /// The answers that the agent offers.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<RequestOption>,
    /// Only a person may answer, and only for this one time.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub requires_person: bool,
    /// When it is declined by itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

impl Approval {
    fn new(session: &str, request: &RequestOpened) -> Self {
        Self {
            id: request.request.clone(),
            session_id: session.into(),
            about: request.about,
            title: request.title.clone(),
            reason: request.reason.clone(),
            command: request.command.clone(),
            cwd: request.cwd.clone(),
            changes: request.changes.clone(),
            call: request.call.clone(),
            questions: request.questions.clone(),
            options: request.options.clone(),
            requires_person: request.requires_person,
            expires_at: request.expires_at,
        }
    }
}

/// What is open.
#[derive(Serialize, Deserialize, JsonSchema)]
pub struct Approvals {
    /// Oldest first.
    pub approvals: Vec<Approval>,
}

/// An answer that was taken.
#[derive(Clone, Debug, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    /// The request.
    pub id: Id,
    /// What became of it.
    pub outcome: Outcome,
}

impl Service {
    /// What the agent of a session asks, oldest first. Nothing of a session that has ended is open.
    ///
    /// # Errors
    /// If there is no such session.
    pub async fn approvals(&self, id: &str) -> Result<Vec<Approval>, Problem> {
        let stored = self.stored(id).await?;
        self.open_approvals(&stored).await
    }

    /// The same of a session that was just looked up.
    pub(crate) async fn open_approvals(&self, stored: &Stored) -> Result<Vec<Approval>, Problem> {
        let shown = |open: Vec<Arc<RequestOpened>>| open.iter().map(|open| Approval::new(&stored.id, open)).collect();
        if let Some(session) = self.engine().session(&stored.id) {
            return Ok(shown(session.requests()));
        }
        if stored.state != State::Waiting {
            return Ok(Vec::new());
        }
        if let Some(owner) = stored.owner.filter(|owner| Some(*owner) != self.setup().owner) {
            let path = format!("/api/sessions/{}/approvals", foreign::segment(&stored.id));
            let socket = self.socket(owner);
            let asked = foreign::call::<Approvals>(&socket, Method::GET, &path, None::<&()>);
            // A process that is stopped answers nobody, and the log knows too.
            if let Ok(Ok(Approvals { approvals })) = tokio::time::timeout(GLANCE, asked).await {
                return Ok(approvals);
            }
        }
        // Whoever runs it does not say; but the log does, if one reads it all.
        let id = stored.id.clone();
        Ok(shown(self.ask(move |log| Requests::read(log, &id)).await?.into_open()))
    }

    /// Answers what the agent of a session asks.
    ///
    /// # Errors
    /// If nobody asks that, somebody has answered, or the answer makes no sense.
    pub async fn answer(&self, id: &str, request: &str, answer: &ApprovalAnswer) -> Result<Answered, Problem> {
        let refused = match self.place(id).await? {
            Place::Elsewhere(socket) => {
                let path = format!("/api/sessions/{}/approvals/{}", foreign::segment(id), foreign::segment(request));
                return foreign::call(&socket, Method::POST, &path, Some(answer)).await;
            }
            Place::Here(session) => {
                let outcome = outcome(&session, request, answer.decision);
                match session.answer(answer.answer(request)).await {
                    Ok(()) => return Ok(Answered { id: request.into(), outcome }),
                    Err(error) => error,
                }
            }
            Place::Ended(_) => CommandError::Ended,
        };
        match refused {
            CommandError::Ended | CommandError::NotOpen => Err(self.too_late(id, request).await?),
            other => Err(other.into()),
        }
    }

    /// Why an answer finds nobody waiting for it.
    async fn too_late(&self, id: &str, request: &str) -> Result<Problem, Problem> {
        Ok(if self.ever_asked(id, request).await? {
            Problem::conflict("not_open", format!("request {request} is not open: it was answered or withdrawn"))
        } else {
            let detail = format!("session {id} has never asked {request}");
            Problem::new(StatusCode::NOT_FOUND, "no_request", detail)
                .with_hint("GET /api/sessions/{id}/approvals lists what is open")
        })
    }
}

/// What becomes of a request with this decision.
fn outcome(session: &Session, request: &str, decision: ApprovalDecision) -> Outcome {
    let is_question = session.requests().iter().any(|open| open.request == *request && open.about == About::Question);
    match decision {
        ApprovalDecision::Accept | ApprovalDecision::AcceptForSession if is_question => Outcome::Answered,
        ApprovalDecision::Accept | ApprovalDecision::AcceptForSession => Outcome::Allowed,
        ApprovalDecision::Decline => Outcome::Declined,
        ApprovalDecision::Cancel => Outcome::Cancelled,
    }
}
