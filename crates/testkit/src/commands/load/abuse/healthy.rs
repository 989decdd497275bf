//! The healthy client beside all the others: it runs sessions and follows them, again and again, and looks at the clock.

use std::{
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use anyhow::ensure;
use switchboard_testkit::load::{Api, Manner, Reader, Wire};

use super::super::house::verbatim;

/// How it fared.
#[derive(Default)]
pub struct Healthy {
    served: AtomicU64,
    slowest: AtomicU64,
}

/// Between two sessions.
const PAUSE: Duration = Duration::from_millis(50);

impl Healthy {
    /// How many sessions it has run.
    pub fn served(&self) -> u64 {
        self.served.load(Ordering::Acquire)
    }

    /// The longest that it had to wait for one.
    pub fn slowest(&self) -> Duration {
        Duration::from_micros(self.slowest.load(Ordering::Acquire))
    }

    /// Goes on until it is told to stop.
    pub fn run(&self, api: &Api, over: &AtomicBool) -> anyhow::Result<()> {
        while !over.load(Ordering::Acquire) {
            let began = Instant::now();
            self.one(api)?;
            let time = u64::try_from(began.elapsed().as_micros()).unwrap_or(u64::MAX);
            self.slowest.fetch_max(time, Ordering::AcqRel);
            self.served.fetch_add(1, Ordering::AcqRel);
            thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// A session from its start to its end, and its absence.
    fn one(&self, api: &Api) -> anyhow::Result<()> {
        let session = api.start("echo", "hello there")?;
        let wire = if self.served() % 2 == 0 { Wire::Sse } else { Wire::WebSocket };
        let reader = Reader { api, wire, session: &session, dialect: verbatim()?, manner: Manner::default() };
        let read = reader.run()?;
        ensure!(read.tally.gaps == 0 && read.tally.messages > 3, "{} events", read.tally.messages);
        ensure!(api.get("/api/health")?["status"] == "ok", "it is not well");
        api.call("DELETE", &format!("/api/sessions/{session}"), None)?;
        Ok(())
    }
}
