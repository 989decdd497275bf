//! Deleting sessions. One that runs is ended first, which may take longer than anybody wants to wait.

use std::time::Duration;

use axum::http::{Method, StatusCode};
use switchboard_store::StoreError;

use crate::{Problem, Service, foreign, service::Place, view::Standing};

/// How long whoever asks has to wait at most.
const WAITING: Duration = Duration::from_millis(4600);

/// How long an agent may take to end when it is told to, before it is killed.
const ENDING: Duration = Duration::from_millis(2500);

/// What became of a session that is to be deleted.
pub enum Deleted {
    /// It is gone.
    Gone,
    /// It will be, once it has ended.
    Later(Standing),
}

impl Service {
    /// Deletes a session.
    ///
    /// # Errors
    /// If there is none, or the log cannot be written.
    pub async fn delete(&self, id: &str) -> Result<Deleted, Problem> {
        let (service, wanted) = (self.clone(), id.to_owned());
        let mut deleting = tokio::spawn(async move {
            let deleted = service.delete_fully(&wanted).await;
            if let Ok(Deleted::Gone) = deleted {
                service.rooms().deleted(&wanted);
            }
            deleted
        });
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "it was not deleted");
        if let Ok(deleted) = tokio::time::timeout(WAITING, &mut deleting).await {
            return deleted.map_err(failed)?;
        }
        match self.stored(id).await {
            // It goes on without us.
            Ok(stored) => Ok(Deleted::Later((&stored).into())),
            // It was deleted in the last moment, and the task knows by whom.
            Err(_) => deleting.await.map_err(failed)?,
        }
    }

    async fn delete_fully(&self, id: &str) -> Result<Deleted, Problem> {
        loop {
            match self.place(id).await? {
                Place::Elsewhere(socket) => {
                    let path = format!("/api/sessions/{}", foreign::segment(id));
                    let later: Option<Standing> = foreign::call(&socket, Method::DELETE, &path, None::<&()>).await?;
                    return Ok(later.map_or(Deleted::Gone, Deleted::Later));
                }
                Place::Here(session) => {
                    // One that has ended by itself meanwhile is no failure.
                    drop(session.cancel().await);
                    if tokio::time::timeout(ENDING, session.wait_for_outcome()).await.is_err() {
                        drop(session.kill().await);
                        session.wait_for_outcome().await;
                    }
                }
                Place::Ended(_) => {
                    let wanted = id.to_owned();
                    match self.ask(move |log| Ok(log.delete_session(&wanted))).await? {
                        Ok(()) => return Ok(Deleted::Gone),
                        // It was continued in the last moment: from the beginning.
                        Err(StoreError::Open(_) | StoreError::NotOwner(_)) => {}
                        Err(error) => return Err(error.into()),
                    }
                }
            }
        }
    }
}
