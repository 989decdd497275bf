//! What an agent offers before there is a session: it is started, asked, and ended. Nothing of it is kept.

use std::{sync::Arc, time::Duration};

use switchboard_event::{Info, SessionConfig};
use tokio::time::{Instant, timeout, timeout_at};

use crate::{Engine, Limits, Session, StartError, StartRequest, nowhere::Nowhere, paths::WorkingDirectory};

/// How long an agent may take to say what it offers, once it is ready.
const PATIENCE: Duration = Duration::from_secs(5);

/// After so long without news, it has said all of it. What is asked for beside the handshake is answered within that.
const QUIET: Duration = Duration::from_millis(400);

/// How long an agent may take to be ready.
const HANDSHAKE: Duration = Duration::from_secs(30);

impl Engine {
    /// What an agent offers: models, modes, options, commands. An agent that says less offers less.
    ///
    /// # Errors
    /// If it cannot be started, or ends before it is ready.
    pub async fn discover(
        &self,
        agent: &str,
        config: SessionConfig,
        working_directory: Option<WorkingDirectory>,
    ) -> Result<Info, StartError> {
        let aside = self.beside(Arc::new(Nowhere));
        let limits = Limits { handshake: HANDSHAKE, ..Limits::default() };
        let agent = agent.to_owned();
        let request = StartRequest { agent, config, working_directory, stay: true, limits, ..StartRequest::default() };
        let session = aside.start(request).await?;
        let offered = offered(&session).await;
        // Whatever it is doing, nobody needs it any more.
        drop(session.cancel().await);
        match offered {
            Some(info) => Ok(info),
            None => Err(unready(&session).await),
        }
    }
}

async fn offered(session: &Session) -> Option<Info> {
    if !session.ready().await {
        return None;
    }
    let (mut follower, end) = (session.follow(), Instant::now() + PATIENCE);
    // Quiet, silent for good, or unending: what is known then is what it offers.
    while let Ok(Ok(Ok(Some(_)))) = timeout_at(end, timeout(QUIET, follower.next())).await {}
    Some(session.info())
}

async fn unready(session: &Session) -> StartError {
    let outcome = session.outcome().await;
    let why = outcome.error.map_or_else(|| "it ended".to_owned(), |fault| fault.message);
    StartError::BadRequest(format!("{} cannot say what it offers: {why}", session.agent().title))
}
