//! Metrics for Prometheus. Counting is cheap; gauges that need a lookup are updated when the metrics are read.

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

pub const MEDIA_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AgentLabels {
    agent: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct EndedLabels {
    agent: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    method: &'static str,
    route: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StreamLabels {
    wire: &'static str,
    dialect: &'static str,
}

/// Creates the histogram of a route, from a tenth of a millisecond to the longest wait.
#[derive(Clone)]
struct DurationBuckets;

impl MetricConstructor<Histogram> for DurationBuckets {
    fn new_metric(&self) -> Histogram {
        Histogram::new([0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 60.0])
    }
}

pub struct Metrics {
    registry: Registry,
    started: Family<AgentLabels, Counter>,
    ended: Family<EndedLabels, Counter>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram, DurationBuckets>,
    streams: Family<StreamLabels, Gauge>,
    events: Counter,
    /// The last event of each running session that was counted.
    counted: Mutex<HashMap<Id, u64>>,
    sampled: SampledGauges,
}

/// The gauges that are updated when the metrics are read.
#[derive(Clone, Default)]
struct SampledGauges {
    running: Gauge,
    waiting: Gauge,
    log: Gauge,
    memory: Gauge,
    files: Gauge,
}

impl Metrics {
    #[must_use]
    pub fn new() -> Self {
        let mut registry = Registry::with_prefix("switchboard");
        let (started, ended, requests) = (Family::default(), Family::default(), Family::default());
        let (durations, streams) = (Family::new_with_constructor(DurationBuckets), Family::default());
        let (events, sampled) = (Counter::default(), SampledGauges::default());
        registry.register("build", "The running version", Info::new([("version", env!("CARGO_PKG_VERSION"))]));
        registry.register("sessions_started", "Session runs started", Family::clone(&started));
        registry.register("sessions_ended", "Session runs ended, by reason", Family::clone(&ended));
        registry.register("sessions_running", "Sessions run by this process", sampled.running.clone());
        registry.register("sessions_waiting", "Running sessions with an open request", sampled.waiting.clone());
        registry.register("events_appended", "Events appended to the log by this process", events.clone());
        registry.register("requests", "Requests answered", Family::clone(&requests));
        registry.register_with_unit(
            "request_duration",
            "Time to the start of the response",
            Unit::Seconds,
            durations.clone(),
        );
        registry.register("streams_open", "Open streams", Family::clone(&streams));
        registry.register_with_unit("log_size", "Size of the log on disk", Unit::Bytes, sampled.log.clone());
        registry.register_with_unit("memory_resident", "Resident memory", Unit::Bytes, sampled.memory.clone());
        registry.register("open_files", "Open files, sockets and pipes", sampled.files.clone());
        let counted = Mutex::default();
        Self { registry, started, ended, requests, durations, streams, events, counted, sampled }
    }

    pub(crate) fn count_start(&self, session: &SessionHandle) {
        self.started.get_or_create(&AgentLabels { agent: session.agent().name }).inc();
        self.counted.lock().insert(session.id().clone(), session.follow().position());
    }

    pub(crate) fn count_end(&self, session: &SessionHandle, reason: Option<EndReason>) {
        let reason = match reason {
            Some(EndReason::Completed) => "completed",
            Some(EndReason::Failed) => "failed",
            Some(EndReason::Cancelled) => "cancelled",
            Some(EndReason::Timeout) => "timeout",
            None => "unwritten",
        };
        self.ended.get_or_create(&EndedLabels { agent: session.agent().name, reason }).inc();
        self.count_events(session);
    }

    /// Counts the events of a session since the last count.
    fn count_events(&self, session: &SessionHandle) {
        let follower = session.follow();
        let (first, last) = (follower.position(), follower.last_seq());
        let mut counted = self.counted.lock();
        // Of two runs of a session, the earlier one may be counted last.
        let before = counted.get(session.id()).copied().unwrap_or(first);
        self.events.inc_by(last.saturating_sub(before));
        counted.insert(session.id().clone(), last.max(before));
        if session.is_over() {
            counted.remove(session.id());
        }
    }

    pub(crate) fn count_request(&self, method: &'static str, route: &str, status: u16, after: Duration) {
        self.requests.get_or_create(&RequestLabels { method, route: route.to_owned(), status }).inc();
        self.durations.get_or_create(&DurationLabels { method, route: route.to_owned() }).observe(after.as_secs_f64());
    }

    /// Counts an open stream until the returned value is dropped.
    #[must_use]
    pub fn count_stream(&self, wire: &'static str, dialect: &'static str) -> OpenStream {
        let gauge = self.streams.get_or_create_owned(&StreamLabels { wire, dialect });
        gauge.inc();
        OpenStream(gauge)
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

pub struct OpenStream(Gauge);

impl Drop for OpenStream {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl Service {
    /// Returns all metrics as text.
    pub async fn metrics_text(&self) -> Result<String, Problem> {
        let sessions = self.engine().sessions();
        sessions.iter().for_each(|session| self.metrics().count_events(session));
        let waiting = sessions.iter().filter(|session| session.with_state(|state| !state.requests.is_empty())).count();
        let data: Arc<Path> = self.config().data.clone().into();
        let size = self.query_log(move |_| Ok(directory_size(&data))).await?;
        let sampled = &self.metrics().sampled;
        sampled.running.set(to_gauge_value(sessions.len()));
        sampled.waiting.set(to_gauge_value(waiting));
        sampled.log.set(size.try_into().unwrap_or(i64::MAX));
        sampled.memory.set(resident_memory());
        sampled.files.set(to_gauge_value(fs::read_dir("/proc/self/fd").map(Iterator::count).unwrap_or_default()));
        let mut text = String::new();
        let written = encode(&mut text, &self.metrics().registry);
        let failed = |_| Problem::new(StatusCode::INTERNAL_SERVER_ERROR, "internal", "the metrics cannot be written");
        written.map(|()| text).map_err(failed)
    }
}

fn to_gauge_value(count: usize) -> i64 {
    count.try_into().unwrap_or(i64::MAX)
}

/// Returns the total size of the files in a directory.
fn directory_size(folder: &Path) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let sizes = entries.filter_map(|entry| entry.metadata().ok().filter(fs::Metadata::is_file).map(|file| file.len()));
    sizes.sum()
}

/// Returns the resident memory of this process.
fn resident_memory() -> i64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    let kilobytes = line.and_then(|line| line.trim().trim_end_matches(" kB").parse::<i64>().ok());
    kilobytes.unwrap_or_default().saturating_mul(1024)
}
