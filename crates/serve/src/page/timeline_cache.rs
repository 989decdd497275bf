//! The timelines of sessions that were looked at lately.

use std::sync::Arc;

use parking_lot::Mutex;
use switchboard_engine::Engine;
use switchboard_event::Id;

use super::{session_summaries::PriceTable, session_timeline::SessionTimeline, source::SessionEvents};

/// The maximum size of all timelines; the least recently used go first.
const MAX_TIMELINE_BYTES: usize = 96 << 20;

/// The timelines of sessions that were looked at lately, the latest last.
#[derive(Default)]
pub struct TimelineCache(Mutex<Vec<(Id, Arc<SessionTimeline>)>>);

impl TimelineCache {
    /// Returns the timeline of a session.
    pub fn get(&self, session: &Id, engine: &Engine, prices: &Arc<PriceTable>) -> Arc<SessionTimeline> {
        let mut timelines = self.0.lock();
        let known = timelines.iter().position(|(id, _)| id == session).map(|at| timelines.remove(at));
        let (id, timeline) = known.unwrap_or_else(|| {
            let media = format!("/api/page/sessions/{session}/media");
            let events = SessionEvents { engine: engine.clone(), session: session.clone(), media };
            (session.clone(), Arc::new(SessionTimeline::new(Box::new(events), prices.clone())))
        });
        timelines.push((id, timeline.clone()));
        timeline
    }

    /// Removes timelines until the rest is small enough.
    pub fn shrink(&self) {
        let mut timelines = self.0.lock();
        let mut bytes: usize = timelines.iter().map(|(_, timeline)| timeline.bytes()).sum();
        // The last one stays, however large it is.
        while bytes > MAX_TIMELINE_BYTES && timelines.len() > 1 {
            bytes = bytes.saturating_sub(timelines.remove(0).1.bytes());
        }
    }

    /// Removes the timeline of a session that was deleted.
    pub fn remove(&self, session: &str) {
        self.0.lock().retain(|(id, _)| *id != *session);
    }
}
