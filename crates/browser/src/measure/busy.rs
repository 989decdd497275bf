//! Watching a session that speaks all the time: how busy the main thread is, and what grows.

use std::time::Duration;

use serde_json::{Value, json};

use super::stream::{Talk, collect, watch};
use crate::trial::Trial;

/// How long things may take to settle before they are measured.
const WARM: Duration = Duration::from_secs(5);

/// Watches for so long.
pub fn figures(trial: &Trial, rate: u64, seconds: u64) -> anyhow::Result<Value> {
    let talk = Talk::begin(trial, rate)?;
    let tab = trial.tab(&talk.path())?;
    tab.see("@entry[data-kind=answer]", "")?;
    watch(&tab)?;
    std::thread::sleep(WARM);
    collect(&tab)?;
    let before = talk.sample(trial, &tab)?;
    let end = before.at + Duration::from_secs(seconds);
    while std::time::Instant::now() < end {
        std::thread::sleep(Duration::from_millis(500));
        talk.go_on(trial)?;
    }
    // Measured before garbage is collected: that is work which the page did not cause.
    let busy = talk.sample(trial, &tab)?;
    collect(&tab)?;
    let after = talk.sample(trial, &tab)?;
    let time = busy.at.duration_since(before.at).as_secs_f64();
    let share = |now: f64, then: f64| 100.0 * (now - then) / time;
    Ok(json!({
        "events_a_second": (busy.events - before.events) / time,
        "busy_percent": share(busy.busy, before.busy),
        "script_percent": share(busy.script, before.script),
        "layout_percent": share(busy.layout, before.layout),
        "heap_mb": after.heap / 1e6,
        "heap_growth_mb": (after.heap - before.heap) / 1e6,
        "nodes": after.nodes,
        "nodes_growth": after.nodes - before.nodes,
        "server_mb": after.server,
    }))
}
