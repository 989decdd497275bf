//! Sessions that need not be kept any longer, deleted as time goes by.

use std::{sync::Arc, time::Duration};

use switchboard_store::{Log, Retention};
use tokio::{task::spawn_blocking, time::sleep};

use crate::host;

/// Not at once: whoever starts a server wants something else of it.
const FIRST: Duration = Duration::from_secs(10);

/// How often it is looked.
const BETWEEN: Duration = Duration::from_secs(3600);

/// Deletes what ended longer ago than this, for as long as the server runs.
pub fn keep(log: Arc<dyn Log>, age: Duration) {
    tokio::spawn(async move {
        sleep(FIRST).await;
        loop {
            let (log, retention) = (log.clone(), Retention { older_than: Some(age), ..Retention::default() });
            // What could not be deleted now is tried again.
            drop(spawn_blocking(move || log.expire(&retention, host::now())).await);
            sleep(BETWEEN).await;
        }
    });
}
