//! A session that another process runs, as one who watches steers it. Ctrl-C leaves it, and it goes on.

use std::{ops::ControlFlow, path::PathBuf, sync::Arc};

use switchboard_agents::{Abilities, Answer, Decision, agent};
use switchboard_client as client;
use switchboard_event::Id;
use switchboard_store::{Log, Session};

use super::process;
use crate::{
    failure::Failure,
    watch::{Asked, Steer},
};

/// A session of another process.
pub struct There {
    log: Arc<dyn Log>,
    data: PathBuf,
    id: Id,
    abilities: Abilities,
}

impl There {
    /// A session of the log.
    pub fn new(log: Arc<dyn Log>, data: PathBuf, session: &Session) -> Self {
        let abilities = agent(&session.agent).map_or(Abilities::NONE, |agent| agent.abilities);
        Self { log, data, id: session.id.clone(), abilities }
    }

    async fn pass_on(&self, answer: &Answer) -> Result<(), Failure> {
        // Whoever runs it now, which need not be who ran it when this began.
        let Some(session) = self.log.session(&self.id)? else { return Ok(()) };
        let Some(remote) = process::of(&self.data, &session)? else { return Ok(()) };
        match remote.answer(&self.id, &answer.request, &said(answer)).await {
            Err(error) if matches!(error.code.as_deref(), Some("not_open" | "ended")) => Ok(()),
            other => other.map_err(Failure::Remote),
        }
    }
}

impl Steer for There {
    fn abilities(&self) -> &Abilities {
        &self.abilities
    }

    async fn answer(&self, answer: Answer) -> Result<(), String> {
        self.pass_on(&answer).await.map_err(|error| error.to_string())
    }

    async fn stop(&self, _: Asked) -> ControlFlow<()> {
        ControlFlow::Break(())
    }
}

/// An answer, as it is sent.
fn said(answer: &Answer) -> client::Answer {
    client::Answer {
        decision: match answer.decision {
            Decision::Allow => client::Decision::Accept,
            Decision::AllowSession => client::Decision::AcceptForSession,
            Decision::Decline => client::Decision::Decline,
            Decision::Cancel => client::Decision::Cancel,
        },
        option: answer.option.clone(),
        reason: answer.message.clone(),
        input: answer.input.clone(),
        answers: answer.answers.clone(),
    }
}
