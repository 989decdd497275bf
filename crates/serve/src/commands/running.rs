//! One task from its start to its end, for a client that has no other wire: nobody can be asked, and the session ends
//! with its reader.

use switchboard_engine::{Audience, Session};

use crate::{
    Problem, Service,
    order::{RunRequest, SessionRequest},
};

/// A session that is ended when nobody reads it any more.
pub struct EndsWithReader(Session);

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
    pub async fn run(&self, request: RunRequest) -> Result<(Session, EndsWithReader), Problem> {
        let request = SessionRequest::from(request);
        let session = self.run_unasked(&request).await.map_err(in_words_of_a_run)?;
        Ok((session.clone(), EndsWithReader(session)))
    }

    async fn run_unasked(&self, request: &SessionRequest) -> Result<Session, Problem> {
        request.check()?;
        let mut wanted = self.wanted(request)?;
        wanted.audience = Audience::Nobody;
        match &request.session_id {
            Some(id) => self.resume(&self.stored(id).await?, wanted).await,
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
