//! Sessions that need not be kept any longer, deleted as time goes by.

use std::{sync::Arc, time::Duration};

use switchboard_store::{Retention, SessionLog};
use tokio::{task::spawn_blocking, time::sleep};

use crate::host;

/// The first check is delayed so that it does not slow down the start of the server.
const FIRST: Duration = Duration::from_secs(10);

/// How often it is looked.
const BETWEEN: Duration = Duration::from_secs(3600);

/// Deletes what ended longer ago than this, for as long as the server runs.
pub fn keep(log: Arc<dyn SessionLog>, age: Duration) {
    tokio::spawn(async move {
        sleep(FIRST).await;
        loop {
            let (log, retention) = (log.clone(), Retention { older_than: Some(age), ..Retention::default() });
            // What could not be deleted now is tried again.
            drop(spawn_blocking(move || log.expire_sessions(&retention, host::now())).await);
            sleep(BETWEEN).await;
        }
    });
}
