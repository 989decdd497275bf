//! What agents offer: models, modes, options, commands. Before there is a session an agent has to be started to say so,
//! which is done once in a while and once at a time.

use std::{
    collections::HashMap,
    sync::Arc,
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use switchboard_event::{Info, SessionConfig};

use crate::{Problem, Service};

/// How long what an agent said holds.
const HOLDS: Duration = Duration::from_secs(5 * 60);

/// What agents said that they offer, by agent and folder.
#[derive(Default)]
pub struct Offers(Mutex<HashMap<(String, String), Place>>);

/// One agent in one folder. Whoever asks while somebody else does waits for the same answer.
type Place = Arc<tokio::sync::Mutex<Option<(Instant, Info)>>>;

impl Offers {
    fn place(&self, agent: &str, cwd: &str) -> Place {
        let mut places = self.0.lock();
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
        let info = self.engine().discover_capabilities(agent, SessionConfig::default(), Some(folder)).await?;
        *known = Some((Instant::now(), info.clone()));
        Ok(info)
    }
}
