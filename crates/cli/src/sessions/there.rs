//! A session that another process runs, as one who watches steers it. Ctrl-C leaves it, and it goes on.

use std::{ops::ControlFlow, path::PathBuf, sync::Arc};

use switchboard_agents::{Abilities, RequestAnswer, RequestDecision, find_agent};
use switchboard_client as client;
use switchboard_event::Id;
use switchboard_store::{SessionLog, SessionRecord};

use super::process;
use crate::{
    failure::Failure,
    watch::{Asked, Steer},
};

/// A session of another process.
pub struct There {
    log: Arc<dyn SessionLog>,
    data: PathBuf,
    id: Id,
    abilities: Abilities,
}

impl There {
    /// A session of the log.
    pub fn new(log: Arc<dyn SessionLog>, data: PathBuf, session: &SessionRecord) -> Self {
        let abilities = find_agent(&session.agent).map_or(Abilities::NONE, |agent| agent.abilities);
        Self { log, data, id: session.id.clone(), abilities }
    }

    async fn pass_on(&self, answer: &RequestAnswer) -> Result<(), Failure> {
        // The current owner, which need not be the owner from when watching began.
        let Some(session) = self.log.get_session(&self.id)? else { return Ok(()) };
        let Some(remote) = process::of(&self.data, &session)? else { return Ok(()) };
        match remote.answer_approval(&self.id, &answer.request, &said(answer)).await {
            Err(error) if matches!(error.code.as_deref(), Some("not_open" | "ended")) => Ok(()),
            other => other.map_err(Failure::Remote),
        }
    }
}

impl Steer for There {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn answer(&self, answer: RequestAnswer) -> Result<(), String> {
        self.pass_on(&answer).await.map_err(|error| error.to_string())
    }

    async fn stop(&self, _: Asked) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// An answer, as it is sent.
fn said(answer: &RequestAnswer) -> client::ApprovalAnswer {
    client::ApprovalAnswer {
        decision: match answer.decision {
            RequestDecision::Allow => client::ApprovalDecision::Accept,
            RequestDecision::AllowSession => client::ApprovalDecision::AcceptForSession,
            RequestDecision::Decline => client::ApprovalDecision::Decline,
            RequestDecision::Cancel => client::ApprovalDecision::Cancel,
        },
        option: answer.option.clone(),
        reason: answer.message.clone(),
        input: answer.input.clone(),
        answers: answer.answers.clone(),
    }
}
