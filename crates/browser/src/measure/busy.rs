//! Watching a busy session: load of the main thread, and growth of the heap.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    stream::{BusySession, collect_garbage, enable_metrics},
    trace,
};
use crate::trial::PageTrial;

/// Time for the page to settle before it is measured.
const WARM_UP_TIME: Duration = Duration::from_secs(5);

/// Watches for `seconds`, in a browser that writes a trace. The trace is available only after the browser has quit.
pub fn measure_stream(trial: &PageTrial, rate: u64, seconds: u64) -> anyhow::Result<Value> {
    let talk = BusySession::start(trial, rate)?;
    let tab = trial.open_tab(&talk.page_path())?;
    tab.wait_for("@entry[data-kind=answer]", "")?;
    enable_metrics(&tab)?;
    std::thread::sleep(WARM_UP_TIME);
    collect_garbage(&tab)?;
    let before = talk.take_sample(trial, &tab)?;
    trace::mark_begin(&tab)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(500));
        talk.continue_if_idle(trial)?;
    }
    trace::mark_end(&tab)?;
    // Garbage is collected after the mark, because the page did not cause that work.
    collect_garbage(&tab)?;
    let after = talk.take_sample(trial, &tab)?;
    let time = after.at.duration_since(before.at).as_secs_f64();
    Ok(json!({
        "events_a_second": (after.events - before.events) / time,
        "heap_mb": after.heap / 1e6,
        "heap_growth_mb": (after.heap - before.heap) / 1e6,
        "nodes": after.nodes,
        "nodes_growth": after.nodes - before.nodes,
        "server_mb": after.server,
    }))
}

/// Adds the figures of the trace.
pub fn add_trace_figures(figures: &mut Value, work: &trace::MainThreadWork) {
    figures["busy_percent"] = json!(work.busy_percent);
    figures["script_percent"] = json!(work.script_percent);
    figures["layout_percent"] = json!(work.layout_percent);
    figures["longest_ms"] = json!(work.longest_ms);
}
