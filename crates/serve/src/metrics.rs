//! What is counted, for Prometheus. Counting is cheap; what has to be looked up is looked up when somebody asks.

use std::{collections::HashMap, fs, path::Path, sync::Arc, time::Duration};

use axum::http::StatusCode;
use parking_lot::Mutex;
use prometheus_client::{
    encoding::{EncodeLabelSet, text::encode},
    metrics::{
        counter::Counter,
        family::{Family, MetricConstructor},
        gauge::Gauge,
        histogram::Histogram,
        info::Info,
    },
    registry::{Registry, Unit},
};
use switchboard_engine::SessionHandle;
use switchboard_event::{EndReason, Id};

use crate::{Problem, Service};

/// The media type of what [`Service::metrics_text`] gives.
pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OfAgent {
    agent: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Ended {
    agent: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Asked {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Timed {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Streamed {
    wire: &'static str,
    dialect: &'static str,
}

/// Makes the histogram of a route: from a tenth of a millisecond to the longest that anybody waits.
#[derive(Clone)]
struct Durations;

impl MetricConstructor<Histogram> for Durations {
    fn new_metric(&self) -> Histogram {
        Histogram::new([0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0])
    }
}

/// What is counted.
pub struct Metrics {
    registry: Registry,
    started: Family<OfAgent, Counter>,
    ended: Family<Ended, Counter>,
    asked: Family<Asked, Counter>,
    timed: Family<Timed, Histogram, Durations>,
    streams: Family<Streamed, Gauge>,
    events: Counter,
    /// Up to which event each session that runs has been counted.
    counted: Mutex<HashMap<Id, u64>>,
    looked: Looked,
}

/// What is looked up when somebody asks.
#[derive(Clone, Default)]
struct Looked {
    running: Gauge,
    waiting: Gauge,
    log: Gauge,
    memory: Gauge,
    files: Gauge,
}

impl Metrics {
    /// Nothing has happened yet.
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("switchboard");
        let (started, ended, asked) = (Family::default(), Family::default(), Family::default());
        let (timed, streams) = (Family::new_with_constructor(Durations), Family::default());
        let (events, looked) = (Counter::default(), Looked::default());
        registry.register("build", "The version that runs", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("sessions_started", "Runs of sessions that were started", Family::clone(&started));
        registry.register("sessions_ended", "Runs of sessions that ended, and how", Family::clone(&ended));
        registry.register("sessions_running", "Sessions that this process runs", looked.running.clone());
        registry.register("sessions_waiting", "Of those, the ones that wait for an answer", looked.waiting.clone());
        registry.register("events_appended", "Events that this process appended to the log", events.clone());
        registry.register("requests", "Requests that were answered", Family::clone(&asked));
        registry.register_with_unit("request_duration", "Until an answer began", Unit::Seconds, timed.clone());
        registry.register("streams_open", "Streams that somebody reads", Family::clone(&streams));
        registry.register_with_unit("log_size", "What the log takes on disk", Unit::Bytes, looked.log.clone());
        registry.register_with_unit("memory_resident", "Memory in use", Unit::Bytes, looked.memory.clone());
        registry.register("open_files", "Open files, sockets and pipes", looked.files.clone());
        let counted = Mutex::default();
        Self { registry, started, ended, asked, timed, streams, events, counted, looked }
    }

    /// A run of a session was started.
    pub(crate) fn started(&self, session: &SessionHandle) {
        self.started.get_or_create(&OfAgent { agent: session.agent().name }).inc();
        self.counted.lock().insert(session.id().clone(), session.follow().position());
    }

    /// A run of a session ended.
    pub(crate) fn ended(&self, session: &SessionHandle, reason: Option<EndReason>) {
        let reason = match reason {
            Some(EndReason::Completed) => "completed",
            Some(EndReason::Failed) => "failed",
            Some(EndReason::Cancelled) => "cancelled",
            Some(EndReason::Timeout) => "timeout",
            None => "unwritten",
        };
        self.ended.get_or_create(&Ended { agent: session.agent().name, reason }).inc();
        self.count(session);
    }

    /// Counts what a session has said since it was last counted.
    fn count(&self, session: &SessionHandle) {
        let follower = session.follow();
        let (first, last) = (follower.position(), follower.last_seq());
        let mut counted = self.counted.lock();
        // Of two runs of a session, the earlier may come to be counted last.
        let before = counted.get(session.id()).copied().unwrap_or(first);
        self.events.inc_by(last.saturating_sub(before));
        counted.insert(session.id().clone(), last.max(before));
        if session.is_over() {
            counted.remove(session.id());
        }
    }

    /// A request was answered.
    pub(crate) fn answered(&self, method: &'static str, route: &str, status: u16, after: Duration) {
        self.asked.get_or_create(&Asked { method, route: route.to_owned(), status }).inc();
        self.timed.get_or_create(&Timed { method, route: route.to_owned() }).observe(after.as_secs_f64());
    }

    /// Somebody reads a stream, until what this gives is dropped.
    #[must_use]
    pub fn stream(&self, wire: &'static str, dialect: &'static str) -> OpenStream {
        let gauge = self.streams.get_or_create_owned(&Streamed { wire, dialect });
        gauge.inc();
        OpenStream(gauge)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

/// A stream that somebody reads.
pub struct OpenStream(Gauge);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Service {
    /// Everything that is counted, as text.
    ///
    /// # Errors
    /// If the log cannot be read.
    pub async fn metrics_text(&self) -> Result<String, Problem> {
        let sessions = self.engine().sessions();
        sessions.iter().for_each(|session| self.metrics().count(session));
        let waiting = sessions.iter().filter(|session| session.with_state(|state| !state.requests.is_empty())).count();
        let data: Arc<Path> = self.setup().data.clone().into();
        let size = self.ask(move |_| Ok(size_of(&data))).await?;
        let looked = &self.metrics().looked;
        looked.running.set(number(sessions.len()));
        looked.waiting.set(number(waiting));
        looked.log.set(size.try_into().unwrap_or(i64::MAX));
        looked.memory.set(resident());
        looked.files.set(number(fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or_default()));
        let mut text = String::new();
        let written = encode(&mut text, &self.metrics().registry);
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the figures cannot be written");
        written.map(|()| text).map_err(failed)
    }
}

fn number(count: usize) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// What the files of a folder take.
fn size_of(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| entry.metadata().ok().filter(fs::Metadata::is_file).map(|file| file.len()));
    sizes.sum()
}

/// The memory of this process, as the kernel counts it.
fn resident() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<i64>().ok());
    kilobytes.unwrap_or_default().saturating_mul(1024)
}
