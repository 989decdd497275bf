//! A session that streams at a fixed rate with all kinds of items, and the cost of the page that shows it, by
//! Chromium's own counters.

use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::{tab::BrowserTab, trial::PageTrial};

const PIECES_PER_ROUND: u64 = 400;

/// Prompts are limited in size, so a prompt has at most this number of rounds.
const MAX_ROUNDS_PER_PROMPT: u64 = 250;

/// A session that continues indefinitely, prompt by prompt.
pub struct BusySession {
    id: String,
    rate: u64,
}

/// Chromium's counters at one point in time.
#[derive(Clone, Copy, Debug)]
pub struct PageSample {
    pub at: Instant,
    /// Seconds that the main thread has been busy.
    pub busy: f64,
    /// Used bytes of the JavaScript heap.
    pub heap: f64,
    /// Nodes of all documents.
    pub nodes: f64,
    pub listeners: f64,
    pub events: f64,
    /// The server's memory in megabytes.
    pub server: f64,
}

impl BusySession {
    pub fn start(trial: &PageTrial, rate: u64) -> anyhow::Result<Self> {
        let id = trial.start_script_with(&busy_script(rate), json!({ "stay": true }))?;
        Ok(Self { id, rate })
    }

    pub fn page_path(&self) -> String {
        format!("/s/{}", self.id)
    }

    /// Sends the next prompt if the session is idle.
    pub fn continue_if_idle(&self, trial: &PageTrial) -> anyhow::Result<()> {
        let view = trial.api_client().get(&format!("/api/sessions/{}", self.id))?;
        if view["activity"] == "idle" {
            let prompt = json!({ "prompt": busy_script(self.rate) });
            trial.api_client().call("POST", &format!("/api/sessions/{}/prompt", self.id), Some(&prompt))?;
        }
        Ok(())
    }

    pub fn take_sample(&self, trial: &PageTrial, tab: &BrowserTab) -> anyhow::Result<PageSample> {
        let told = tab.send_cdp_command("Performance.getMetrics", json!({}))?;
        let all = told["metrics"].as_array().context("no metrics")?;
        let metric = |name: &str| {
            let one = all.iter().find(|metric| metric["name"] == name);
            one.and_then(|metric| metric["value"].as_f64()).with_context(|| format!("no {name}"))
        };
        let view = trial.api_client().get(&format!("/api/sessions/{}", self.id))?;
        Ok(PageSample {
            at: Instant::now(),
            busy: metric("TaskDuration")?,
            heap: metric("JSHeapUsedSize")?,
            nodes: metric("Nodes")?,
            listeners: metric("JSEventListeners")?,
            events: view["events"].as_f64().context("no events")?,
            server: kilobytes_to_megabytes(trial.server.borrow().memory_usage()?.now),
        })
    }
}

/// Collects garbage, so that the heap holds only reachable objects.
pub fn collect_garbage(tab: &BrowserTab) -> anyhow::Result<()> {
    tab.send_cdp_command("HeapProfiler.collectGarbage", json!({})).map(drop)
}

/// Enables Chromium's performance counters.
pub fn enable_metrics(tab: &BrowserTab) -> anyhow::Result<Value> {
    tab.send_cdp_command("Performance.enable", json!({}))
}

#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
fn kilobytes_to_megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Each round has a thought, a text with blocks, a long text in pieces, a command with output and a change.
fn busy_script(rate: u64) -> String {
    let round = |n: u64| {
        format!(
            "think about round {n}\n\
             say \"## Round {n}\\n\\nSome *words* about `{n}`.\\n\\n```rust\\nfn round() {{}}\\n```\\n\"\n\
             burst {PIECES_PER_ROUND} at {rate}\n\
             run step {n} => \"a line of output\\n\" * 20\n\
             edit src/round.rs\n"
        )
    };
    (1..=MAX_ROUNDS_PER_PROMPT).map(round).collect()
}
