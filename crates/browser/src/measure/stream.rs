//! A session that speaks all the time at a rate, of everything that agents do; and what the page that shows it costs, by
//! Chromium's own counters.

use std::time::Instant;

use anyhow::Context as _;
use serde_json::{Value, json};

use crate::{tab::Tab, trial::Trial};

/// So many pieces are said in a round.
const PIECES: u64 = 400;

/// A prompt has at most so many rounds: prompts are bounded.
const ROUNDS: u64 = 250;

/// A session that goes on for ever, prompt by prompt.
pub struct Talk {
    id: String,
    rate: u64,
}

/// What Chromium counted so far.
#[derive(Clone, Copy, Debug)]
pub struct Sample {
    /// When.
    pub at: Instant,
    /// Seconds that the main thread was busy.
    pub busy: f64,
    /// Bytes of JavaScript's heap that are used.
    pub heap: f64,
    /// Nodes of all documents.
    pub nodes: f64,
    /// Listeners.
    pub listeners: f64,
    /// Events of the session.
    pub events: f64,
    /// The server's memory in megabytes.
    pub server: f64,
}

impl Talk {
    /// Begins one.
    pub fn begin(trial: &Trial, rate: u64) -> anyhow::Result<Self> {
        let id = trial.perform_with(&script(rate), json!({ "stay": true }))?;
        Ok(Self { id, rate })
    }

    /// Where it is shown.
    pub fn path(&self) -> String {
        format!("/s/{}", self.id)
    }

    /// Says more, if all was said.
    pub fn go_on(&self, trial: &Trial) -> anyhow::Result<()> {
        let view = trial.api().get(&format!("/api/sessions/{}", self.id))?;
        if view["activity"] == "idle" {
            let prompt = json!({ "prompt": script(self.rate) });
            trial.api().call("POST", &format!("/api/sessions/{}/prompt", self.id), Some(&prompt))?;
        }
        Ok(())
    }

    /// What was counted until now.
    pub fn sample(&self, trial: &Trial, tab: &Tab) -> anyhow::Result<Sample> {
        let told = tab.command("Performance.getMetrics", json!({}))?;
        let all = told["metrics"].as_array().context("no metrics")?;
        let metric = |name: &str| {
            let one = all.iter().find(|metric| metric["name"] == name);
            one.and_then(|metric| metric["value"].as_f64()).with_context(|| format!("no {name}"))
        };
        let view = trial.api().get(&format!("/api/sessions/{}", self.id))?;
        Ok(Sample {
            at: Instant::now(),
            busy: metric("TaskDuration")?,
            heap: metric("JSHeapUsedSize")?,
            nodes: metric("Nodes")?,
            listeners: metric("JSEventListeners")?,
            events: view["events"].as_f64().context("no events")?,
            server: megabytes(trial.server.borrow().memory()?.now),
        })
    }
}

/// Throws away what nobody holds, so that what is left is held.
pub fn collect(tab: &Tab) -> anyhow::Result<()> {
    tab.command("HeapProfiler.collectGarbage", json!({})).map(drop)
}

/// Begins to count.
pub fn watch(tab: &Tab) -> anyhow::Result<Value> {
    tab.command("Performance.enable", json!({}))
}

#[expect(clippy::cast_precision_loss, reason = "shown with a few digits")]
fn megabytes(kilobytes: u64) -> f64 {
    kilobytes as f64 / 1024.0
}

/// Rounds of a thought, a text with blocks, a long text in pieces, a command with output and a change.
fn script(rate: u64) -> String {
    let round = |n: u64| {
        format!(
            "think about round {n}\n\
             say \"## Round {n}\\n\\nSome *words* about `{n}`.\\n\\n```rust\\nfn round() {{}}\\n```\\n\"\n\
             burst {PIECES} at {rate}\n\
             run step {n} => \"a line of output\\n\" * 20\n\
             edit src/round.rs\n"
        )
    };
    (1..=ROUNDS).map(round).collect()
}
