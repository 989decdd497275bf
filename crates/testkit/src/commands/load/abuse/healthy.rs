//! The healthy client among the others: it runs and follows sessions repeatedly and measures the time.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use switchboard_testkit::load::{FeedReader, FeedTransport, ReaderBehavior, TestApiClient};

use super::super::house::verbatim_dialect;

#[derive(Default)]
pub struct HealthyClient {
    served: AtomicU64,
    slowest: AtomicU64,
}

const SESSION_PAUSE: Duration = Duration::from_millis(50);

impl HealthyClient {
    pub fn session_count(&self) -> u64 {
        self.served.load(Ordering::Acquire)
    }

    pub fn slowest_session(&self) -> Duration {
        Duration::from_micros(self.slowest.load(Ordering::Acquire))
    }

    pub fn run(&self, api: &TestApiClient, over: &AtomicBool) -> anyhow::Result<()> {
        while !over.load(Ordering::Acquire) {
            let began = Instant::now();
            self.run_session(api)?;
            let time = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.slowest.fetch_max(time, Ordering::AcqRel);
            self.served.fetch_add(1, Ordering::AcqRel);
            thread::sleep(SESSION_PAUSE);
        }
        Ok(())
    }

    /// Runs, follows and deletes a session.
    fn run_session(&self, api: &TestApiClient) -> anyhow::Result<()> {
        let session = api.start_session("echo", "hello there")?;
        let wire = if self.session_count().is_multiple_of(2) { FeedTransport::Sse } else { FeedTransport::WebSocket };
        let reader = FeedReader {
            api,
            wire,
            session: &session,
            dialect: verbatim_dialect()?,
            manner: ReaderBehavior::default(),
        };
        let read = reader.run()?;
        ensure!(read.tally.gaps == 0 && read.tally.messages > 3, "{} events", read.tally.messages);
        ensure!(api.get("/api/health")?["status"] == "ok", "it is not well");
        api.call("DELETE", &format!("/api/sessions/{session}"), None)?;
        Ok(())
    }
}
