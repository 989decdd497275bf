//! One task from its start to its end, for a client that has no other wire: nobody can be asked, and the session ends
//! with its reader.

use switchboard_agents::find_agent;
use switchboard_engine::{RequestAudience, SessionHandle, StartRequest};
use switchboard_store::SessionRecord;

use crate::{
    Problem, Service,
    order::{RunRequest, SessionRequest},
};

/// A session that is ended when nobody reads it any more.
pub struct EndsWithReader(SessionHandle);

impl Drop for EndsWithReader {
    fn drop(&mut self) {
        let session = self.0.clone();
        if !session.is_over() {
            tokio::spawn(async move { session.cancel().await });
        }
    }
}

impl Service {
    /// Starts a session that nobody can be asked in.
    ///
    /// # Errors
    /// If the request makes no sense, or the session cannot be started.
    pub async fn run(&self, request: RunRequest) -> Result<(SessionHandle, EndsWithReader), Problem> {
        let request = SessionRequest::from(request);
        let session = self.run_unasked(&request).await.map_err(in_words_of_a_run)?;
        Ok((session.clone(), EndsWithReader(session)))
    }

    async fn run_unasked(&self, request: &SessionRequest) -> Result<SessionHandle, Problem> {
        request.check()?;
        let wanted = StartRequest { audience: RequestAudience::None, ..self.wanted(request)? };
        let stored = match &request.session_id {
            Some(id) => Some(self.stored(id).await?),
            None => None,
        };
        // The agent's two-way form has no other use here than to tell more than the one-shot form.
        if find_agent(&wanted.agent).is_some_and(|agent| agent.abilities.detailed_one_shot) {
            let one_shot = StartRequest { one_shot: true, ..wanted.clone() };
            match self.run_form(stored.as_ref(), one_shot).await {
                // That form cannot do all that the other can.
                Err(problem) if problem.code == "unsupported" => {}
                started => return started,
            }
        }
        self.run_form(stored.as_ref(), wanted).await
    }

    async fn run_form(&self, stored: Option<&SessionRecord>, wanted: StartRequest) -> Result<SessionHandle, Problem> {
        match stored {
            Some(stored) => self.resume(stored, wanted).await,
            None => self.begin(wanted).await,
        }
    }
}

/// The fields of a run have names of their own.
const NAMES: [(&str, &str); 3] =
    [("agentType:", "driver:"), ("prompt:", "task:"), ("config.workingDirectory:", "cwd:")];

fn in_words_of_a_run(problem: Problem) -> Problem {
    let renamed =
        NAMES.iter().find_map(|(ours, theirs)| Some(format!("{theirs}{}", problem.detail.strip_prefix(ours)?)));
    Problem { detail: renamed.map_or(problem.detail, Into::into), ..problem }
}
