//! What agents ask, and what they are answered. The first answer that makes sense counts.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use switchboard_client::{Answered, Approval, Approvals};
use switchboard_engine::{CommandError, SessionHandle, to_request_answer};
use switchboard_event::{About, Event, EventBody, Kind, Outcome, RequestOpened, SessionState};
use switchboard_store::{PageQuery, SessionLog, SessionPhase, SessionRecord, StoreError};

use crate::{
    Problem, Service, foreign,
    order::{ApprovalAnswer, ApprovalDecision},
    service::Place,
};

/// How long another process may take to say what its session asks.
const GLANCE: Duration = Duration::from_millis(300);

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
    pub(crate) async fn open_approvals(&self, stored: &SessionRecord) -> Result<Vec<Approval>, Problem> {
        let shown = |open: &[RequestOpened]| open.iter().map(|open| Approval::new(&stored.id, open)).collect();
        if let Some(session) = self.engine().session(&stored.id) {
            return Ok(session.with_state(|state| shown(&state.requests)));
        }
        if stored.state != SessionPhase::Waiting {
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
        let state = self.ask(move |log| log.read_state(&id, SessionState::REQUEST_KINDS)).await?;
        Ok(shown(&state.requests))
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
                match session.answer_request(to_request_answer(request.into(), answer.clone())).await {
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
        let (session, wanted) = (id.to_owned(), request.to_owned());
        let was_opened = self.ask(move |log| was_opened(log, &session, &wanted)).await?;
        Ok(if was_opened {
            Problem::conflict("not_open", format!("request {request} is not open: it was answered or withdrawn"))
        } else {
            let detail = format!("session {id} has never asked {request}");
            Problem::new(StatusCode::NOT_FOUND, "no_request", detail)
                .with_hint("GET /api/sessions/{id}/approvals lists what is open")
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
            let event = Event::from_json(&row.json).map_err(|error| StoreError::Event(session.into(), error))?;
            if matches!(&event.body, EventBody::RequestOpened(opened) if *opened.request == *request) {
                return Ok(true);
            }
        }
    }
}

/// What becomes of a request with this decision.
fn outcome(session: &SessionHandle, request: &str, decision: ApprovalDecision) -> Outcome {
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
