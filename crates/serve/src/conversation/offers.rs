//! What agents offer: models, modes, options, commands. Before there is a session an agent has to be started to say so,
//! which is done once in a while and once at a time.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use switchboard_event::{Body, Event, Info, SessionConfig};
use switchboard_store::{Log, Page, StoreError};

use crate::{Problem, Service};

/// How long what an agent said holds.
const HOLDS: Duration = Duration::from_secs(5 * 60);

/// So much of a log is read at once.
const PAGE: Page = Page { after: 0, limit: 4096, max_bytes: 4 << 20 };

/// What every event about the session as a whole has in it.
const MARK: &str = r#""kind":"session."#;

/// What agents said that they offer, by agent and folder.
#[derive(Default)]
pub struct Offers(Mutex<HashMap<(String, String), Place>>);

/// One agent in one folder. Whoever asks while somebody else does waits for the same answer.
type Place = Arc<tokio::sync::Mutex<Option<(Instant, Info)>>>;

impl Offers {
    fn place(&self, agent: &str, cwd: &str) -> Place {
        let mut places = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        places.entry((agent.to_owned(), cwd.to_owned())).or_default().clone()
    }
}

impl Service {
    /// What an agent offers in a folder, by default the server's.
    ///
    /// # Errors
    /// If it cannot be started.
    pub async fn discover(&self, agent: &str, cwd: Option<&str>) -> Result<Info, Problem> {
        let folder = self.folder(cwd).await?;
        let place = self.offers().place(agent, &folder.path().to_string_lossy());
        let mut known = place.lock().await;
        if let Some((_, info)) = known.as_ref().filter(|(at, _)| at.elapsed() < HOLDS) {
            return Ok(info.clone());
        }
        let info = self.engine().discover(agent, SessionConfig::default(), Some(folder)).await?;
        *known = Some((Instant::now(), info.clone()));
        Ok(info)
    }
}

/// What the agent of a session said about itself, as the log has it.
pub(super) fn of_session(log: &dyn Log, session: &str) -> Result<Info, StoreError> {
    let (mut info, mut after) = (Info::default(), 0);
    loop {
        let (rows, _) = log.sound_rows(session, Page { after, ..PAGE })?;
        let Some(last) = rows.last() else { return Ok(info) };
        after = last.seq;
        for row in rows.iter().filter(|row| row.json.contains(MARK)) {
            let event = Event::from_json(&row.json).map_err(|error| StoreError::Event(session.into(), error))?;
            match event.body {
                Body::SessionStarted(started) => info.learn(&started.info),
                Body::SessionUpdated(updated) => info.learn(&updated.info),
                _ => {}
            }
        }
    }
}
