//! `measure`: the page's weight, its first paint, and the cost of watching a busy session. Each case prints one line of
//! JSON; `cargo xtask bench board` makes tables from it.

pub mod trace;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use crate::scenario::{PageTrial, trace_file};
use crate::scenarios::history;
use crate::tab::BrowserTab;
use crate::{BrowserPrograms, print_line};

/// Measure the page, as JSON
#[derive(Args)]
pub struct MeasureArgs {
    #[command(flatten)]
    place: BrowserPrograms,
    /// What is measured
    #[arg(value_enum)]
    case: MeasureCase,
    /// For how long something is watched
    #[arg(long, default_value_t = 20)]
    seconds: u64,
    /// How many events a second
    #[arg(long, default_value_t = 1_000)]
    rate: u64,
    /// How often something is done
    #[arg(long, default_value_t = 10)]
    runs: u32,
}

/// What can be measured.
#[derive(Clone, Copy, ValueEnum)]
enum MeasureCase {
    /// The page without content: its weight, and when it is painted first.
    Paint,
    /// A session that says something all the time.
    Stream,
    /// A long session that is opened.
    Open,
}

pub fn run(args: &MeasureArgs) -> anyhow::Result<()> {
    let traced = matches!(args.case, MeasureCase::Stream);
    let trial = if traced { PageTrial::with_trace(&args.place)? } else { PageTrial::new(&args.place)? };
    let mut figures = match args.case {
        MeasureCase::Paint => measure_paint(&trial, args.runs)?,
        MeasureCase::Stream => measure_stream(&trial, args.rate, args.seconds)?,
        MeasureCase::Open => measure_open(&trial, args.runs)?,
    };
    trial.check_console()?;
    let stage = trial.shut_down();
    if traced {
        add_trace_figures(&mut figures, &trace::read_trace(&trace_file(&stage))?);
    }
    print_line(&figures.to_string());
    Ok(())
}

fn median(figures: &mut [f64]) -> f64 {
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(0.0)
}

/// Returns size and number of the loaded files that are not content, and the paint times.
const PAINT_TIMING_JS: &str = "const own = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')]\
    .filter(it => !new URL(it.name).pathname.startsWith('/api/')); \
    return { bytes: own.reduce((sum, it) => sum + it.decodedBodySize, 0), files: own.length, \
        paint: performance.getEntriesByName('first-paint')[0]?.startTime, \
        content: performance.getEntriesByName('first-contentful-paint')[0]?.startTime }";

/// Loads the page repeatedly with the cache disabled.
fn measure_paint(trial: &PageTrial, runs: u32) -> anyhow::Result<Value> {
    trial.start_script("text A card to show")?;
    let tab = trial.open_tab("/")?;
    tab.send_cdp_command("Network.enable", json!({}))?;
    tab.send_cdp_command("Network.setCacheDisabled", json!({ "cacheDisabled": true }))?;
    let (mut first, mut content, mut weight) = (Vec::new(), Vec::new(), Value::Null);
    for _ in 0..runs.max(1) {
        trial.show_page(&tab, "/")?;
        tab.wait_for("@card", "")?;
        let painted = || {
            let loaded = tab.run_js(PAINT_TIMING_JS, &[])?;
            Ok(Some(loaded).filter(|loaded| loaded["content"].is_number()))
        };
        let loaded = tab.wait_until("the first paint", painted)?;
        first.push(loaded["paint"].as_f64().context("no paint")?);
        content.push(loaded["content"].as_f64().context("no paint")?);
        weight = loaded;
    }
    let most = content.iter().copied().fold(0.0, f64::max);
    Ok(json!({ "bytes": weight["bytes"], "files": weight["files"], "first_paint_ms": median(&mut first),
        "content_paint_ms": median(&mut content), "content_paint_most_ms": most }))
}

/// Records when the end of the session is in the page.
const SESSION_END_OBSERVER_JS: &str = "new MutationObserver((_, watch) => { \
    if (![...document.querySelectorAll('[data-test=entry]')].some(it => it.textContent.includes('This is the very end'))) \
        return; \
    watch.disconnect(); requestAnimationFrame(() => window.__shown = performance.now()); \
    }).observe(document, {childList: true, subtree: true, characterData: true})";

/// Opens the session after a restart of the server, and then repeatedly.
fn measure_open(trial: &PageTrial, runs: u32) -> anyhow::Result<Value> {
    let id = trial.start_script(&history::long_script(1_600))?;
    let view = trial.api_client().wait_for_end(&id, Duration::from_secs(120))?;
    let tab = trial.open_tab("/")?;
    tab.send_cdp_command("Page.addScriptToEvaluateOnNewDocument", json!({ "source": SESSION_END_OBSERVER_JS }))?;
    trial.expect_console_error("ERR_");
    trial.server.borrow_mut().restart(&trial.stage)?;
    let first = time_opening(trial, &tab, &id)?;
    let again = (0..runs.max(1)).map(|_| time_opening(trial, &tab, &id)).collect::<anyhow::Result<Vec<_>>>();
    Ok(json!({ "session_events": view["events"], "first_ms": first, "again_ms": median(&mut again?),
        "elements": tab.count_elements("*")? }))
}

fn time_opening(trial: &PageTrial, tab: &BrowserTab, id: &str) -> anyhow::Result<f64> {
    trial.show_page(tab, &format!("/s/{id}"))?;
    tab.wait_until_js("the end of the session", "return window.__shown ?? null", &[])?.as_f64().context("no time")
}

/// Time for the page to settle before it is measured.
const WARM_UP_TIME: Duration = Duration::from_secs(5);

/// Watches for `seconds`, in a browser that writes a trace. The trace is available only after the browser has quit.
fn measure_stream(trial: &PageTrial, rate: u64, seconds: u64) -> anyhow::Result<Value> {
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
