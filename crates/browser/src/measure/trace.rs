//! Chromium's trace of all its threads, and how long the page's main thread was busy between two marks that the page
//! made.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::tab::BrowserTab;

/// Tasks of threads, the marks of pages, and the work within tasks.
const TRACE_CATEGORIES: &str = "toplevel,blink.user_timing,devtools.timeline";

const BEGIN_MARK: &str = "measure:begin";
const END_MARK: &str = "measure:end";

/// Names of the trace events for a thread's task, and for the work within it.
const TASK_EVENT_NAMES: &[&str] = &["ThreadControllerImpl::RunTask"];
const SCRIPT_EVENT_NAMES: &[&str] = &["FunctionCall", "EvaluateScript", "RunMicrotasks", "EventDispatch"];
const LAYOUT_EVENT_NAMES: &[&str] = &["Layout", "UpdateLayoutTree", "PrePaint", "Paint", "Layerize", "Commit"];

/// The flags that make a browser write its trace to a file when it quits.
pub fn trace_flags(file: &Path) -> [String; 4] {
    [
        format!("--trace-startup={TRACE_CATEGORIES}"),
        format!("--trace-startup-file={}", file.display()),
        "--trace-startup-format=json".to_owned(),
        "--trace-startup-duration=0".to_owned(),
    ]
}

pub fn mark_begin(tab: &BrowserTab) -> anyhow::Result<()> {
    add_mark(tab, BEGIN_MARK)
}

pub fn mark_end(tab: &BrowserTab) -> anyhow::Result<()> {
    add_mark(tab, END_MARK)
}

fn add_mark(tab: &BrowserTab, name: &str) -> anyhow::Result<()> {
    tab.run_js("performance.mark(arguments[0])", &[name.into()]).map(drop)
}

/// Work of the page's main thread between the marks, as shares of the time and in milliseconds.
#[derive(Debug, PartialEq)]
pub struct MainThreadWork {
    pub busy_percent: f64,
    pub script_percent: f64,
    /// Styles, layout and painting.
    pub layout_percent: f64,
    /// The longest single task.
    pub longest_ms: f64,
}

#[derive(Deserialize)]
struct ChromiumTrace {
    #[serde(rename = "traceEvents")]
    steps: Vec<TraceEvent>,
}

#[derive(Deserialize)]
struct TraceEvent {
    name: String,
    #[serde(rename = "ph")]
    phase: String,
    #[serde(rename = "pid")]
    process: u64,
    #[serde(rename = "tid")]
    thread: u64,
    /// In microseconds, like `length`.
    #[serde(rename = "ts")]
    begin: f64,
    #[serde(default, rename = "dur")]
    length: f64,
}

/// Reads the trace of a browser that has quit.
pub fn read_trace(file: &Path) -> anyhow::Result<MainThreadWork> {
    let text = fs::read_to_string(file).context("the browser wrote no trace")?;
    let trace: ChromiumTrace = serde_json::from_str(&text).context("the trace is torn")?;
    main_thread_work(&trace.steps)
}

fn main_thread_work(steps: &[TraceEvent]) -> anyhow::Result<MainThreadWork> {
    let mark = |name: &str| steps.iter().find(|step| step.name == name);
    let (first, last) =
        (mark(BEGIN_MARK).context("the trace has no begin")?, mark(END_MARK).context("the trace has no end")?);
    let thread = (first.process, first.thread);
    ensure!((last.process, last.thread) == thread, "the page went to another thread");
    let time = last.begin - first.begin;
    ensure!(time > 0.0, "no time went by");
    let of = |names: &[&str]| {
        let its = steps.iter().filter(|step| (step.process, step.thread) == thread && step.phase == "X");
        let spans = its.filter(|step| names.contains(&step.name.as_str()));
        spans.map(|step| (step.begin.max(first.begin), (step.begin + step.length).min(last.begin))).collect()
    };
    let share = |names: &[&str]| 100.0 * covered_time(of(names)) / time;
    let longest = of(TASK_EVENT_NAMES).iter().map(|(begin, end)| end - begin).fold(0.0, f64::max);
    let work = MainThreadWork {
        busy_percent: share(TASK_EVENT_NAMES),
        script_percent: share(SCRIPT_EVENT_NAMES),
        layout_percent: share(LAYOUT_EVENT_NAMES),
        longest_ms: longest / 1e3,
    };
    ensure!(work.busy_percent > 0.0, "the trace has no task of the page");
    Ok(work)
}

/// Returns the time that spans cover. They may overlap; a span that ends before it begins lies outside of the marks.
fn covered_time(mut spans: Vec<(f64, f64)>) -> f64 {
    spans.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (mut sum, mut until) = (0.0, f64::MIN);
    for (begin, end) in spans {
        sum += (end - begin.max(until)).max(0.0);
        until = end.max(until);
    }
    sum
}

#[cfg(test)]
mod tests {
    use super::{BEGIN_MARK, ChromiumTrace, END_MARK, MainThreadWork, TraceEvent, main_thread_work};

    fn trace_event_json(name: &str, thread: u64, begin: f64, length: f64) -> String {
        let phase = if length > 0.0 { "X" } else { "R" };
        format!(r#"{{"name":"{name}","ph":"{phase}","pid":7,"tid":{thread},"ts":{begin},"dur":{length}}}"#)
    }

    fn parse_trace_events(lines: &[String]) -> Vec<TraceEvent> {
        let text = format!(r#"{{"traceEvents":[{}]}}"#, lines.join(","));
        serde_json::from_str::<ChromiumTrace>(&text).map(|trace| trace.steps).unwrap_or_default()
    }

    #[test]
    fn only_the_page_s_thread_between_the_marks_counts_and_nothing_twice() -> anyhow::Result<()> {
        let task = "ThreadControllerImpl::RunTask";
        let seen = parse_trace_events(&[
            trace_event_json(task, 1, 0.0, 1_100.0),
            trace_event_json(BEGIN_MARK, 1, 1_000.0, 0.0),
            trace_event_json(task, 1, 2_000.0, 400.0),
            trace_event_json(task, 1, 2_100.0, 100.0),
            trace_event_json("FunctionCall", 1, 2_100.0, 200.0),
            trace_event_json("Layout", 1, 2_300.0, 100.0),
            trace_event_json(task, 2, 3_000.0, 5_000.0),
            trace_event_json(END_MARK, 1, 11_000.0, 0.0),
            trace_event_json(task, 1, 12_000.0, 500.0),
        ]);
        let expected = MainThreadWork { busy_percent: 5.0, script_percent: 2.0, layout_percent: 1.0, longest_ms: 0.4 };
        assert_eq!(main_thread_work(&seen)?, expected);
        Ok(())
    }

    #[test]
    fn a_trace_that_ended_too_early_is_told() {
        let told = main_thread_work(&parse_trace_events(&[trace_event_json(BEGIN_MARK, 1, 1.0, 0.0)]))
            .map_err(|error| error.to_string());
        assert_eq!(told, Err("the trace has no end".to_owned()));
    }
}
