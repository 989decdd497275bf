//! Watching a session that speaks all the time: how busy the main thread is, and what grows.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{
    stream::{Talk, collect, watch},
    trace,
};
use crate::trial::Trial;

/// How long things may take to settle before they are measured.
const WARM: Duration = Duration::from_secs(5);

/// Watches for so long, in a browser that is traced. What the trace says is known when the browser has ended.
pub fn figures(trial: &Trial, rate: u64, seconds: u64) -> anyhow::Result<Value> {
    let talk = Talk::begin(trial, rate)?;
    let tab = trial.tab(&talk.path())?;
    tab.see("@entry[data-kind=answer]", "")?;
    watch(&tab)?;
    std::thread::sleep(WARM);
    collect(&tab)?;
    let before = talk.sample(trial, &tab)?;
    trace::begin(&tab)?;
    let end = Instant::now() + Duration::from_secs(seconds);
    while Instant::now() < end {
        std::thread::sleep(Duration::from_millis(500));
        talk.go_on(trial)?;
    }
    trace::end(&tab)?;
    // Garbage is collected behind the mark: that is work which the page did not cause.
    collect(&tab)?;
    let after = talk.sample(trial, &tab)?;
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

/// Adds what the trace says.
pub fn add(figures: &mut Value, work: &trace::Work) {
    figures["busy_percent"] = json!(work.busy_percent);
    figures["script_percent"] = json!(work.script_percent);
    figures["layout_percent"] = json!(work.layout_percent);
    figures["longest_ms"] = json!(work.longest_ms);
}
