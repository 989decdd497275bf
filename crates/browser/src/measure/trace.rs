//! Chromium's own trace of everything its threads did, from its start to its end; and how long the main thread of the
//! page was busy between two marks that the page made.

use std::{fs, path::Path};

use anyhow::{Context as _, ensure};
use serde::Deserialize;

use crate::tab::Tab;

/// What is traced: tasks of threads, the marks of pages, and what tasks do.
const KINDS: &str = "toplevel,blink.user_timing,devtools.timeline";

/// The marks.
const BEGIN: &str = "measure:begin";
const END: &str = "measure:end";

/// What a task of a thread is called, and what it does.
const TASK: &[&str] = &["ThreadControllerImpl::RunTask"];
const SCRIPT: &[&str] = &["FunctionCall", "EvaluateScript", "RunMicrotasks", "EventDispatch"];
const LAYOUT: &[&str] = &["Layout", "UpdateLayoutTree", "PrePaint", "Paint", "Layerize", "Commit"];

/// The flags with which a browser writes its trace to a file when it ends.
pub fn flags(file: &Path) -> [String; 4] {
    [
        format!("--trace-startup={KINDS}"),
        format!("--trace-startup-file={}", file.display()),
        "--trace-startup-format=json".to_owned(),
        "--trace-startup-duration=0".to_owned(),
    ]
}

/// From here on.
pub fn begin(tab: &Tab) -> anyhow::Result<()> {
    mark(tab, BEGIN)
}

/// Until here.
pub fn end(tab: &Tab) -> anyhow::Result<()> {
    mark(tab, END)
}

fn mark(tab: &Tab, name: &str) -> anyhow::Result<()> {
    tab.js("performance.mark(arguments[0])", &[name.into()]).map(drop)
}

/// What the main thread of a page did between the marks, in shares of the time and in milliseconds.
#[derive(Debug, PartialEq)]
pub struct Work {
    /// How much of the time it was busy.
    pub busy_percent: f64,
    /// How much of the time it ran scripts.
    pub script_percent: f64,
    /// How much of the time it computed styles and places, and painted.
    pub layout_percent: f64,
    /// The longest time in which it did nothing else.
    pub longest_ms: f64,
}

#[derive(Deserialize)]
struct Trace {
    #[serde(rename = "traceEvents")]
    steps: Vec<Step>,
}

/// Something that a thread did.
#[derive(Deserialize)]
struct Step {
    name: String,
    #[serde(rename = "ph")]
    phase: String,
    #[serde(rename = "pid")]
    process: u64,
    #[serde(rename = "tid")]
    thread: u64,
    /// In microseconds, as its length is.
    #[serde(rename = "ts")]
    begin: f64,
    #[serde(default, rename = "dur")]
    length: f64,
}

/// Reads the trace of a browser that has ended.
pub fn read(file: &Path) -> anyhow::Result<Work> {
    let text = fs::read_to_string(file).context("the browser wrote no trace")?;
    let trace: Trace = serde_json::from_str(&text).context("the trace is torn")?;
    work(&trace.steps)
}

fn work(steps: &[Step]) -> anyhow::Result<Work> {
    let mark = |name: &str| steps.iter().find(|step| step.name == name);
    let (first, last) = (mark(BEGIN).context("the trace has no begin")?, mark(END).context("the trace has no end")?);
    let thread = (first.process, first.thread);
    ensure!((last.process, last.thread) == thread, "the page went to another thread");
    let time = last.begin - first.begin;
    ensure!(time > 0.0, "no time went by");
    let of = |names: &[&str]| {
        let its = steps.iter().filter(|step| (step.process, step.thread) == thread && step.phase == "X");
        let spans = its.filter(|step| names.contains(&step.name.as_str()));
        spans.map(|step| (step.begin.max(first.begin), (step.begin + step.length).min(last.begin))).collect()
    };
    let share = |names: &[&str]| 100.0 * covered(of(names)) / time;
    let longest = of(TASK).iter().map(|(begin, end)| end - begin).fold(0.0, f64::max);
    let work = Work {
        busy_percent: share(TASK),
        script_percent: share(SCRIPT),
        layout_percent: share(LAYOUT),
        longest_ms: longest / 1e3,
    };
    ensure!(work.busy_percent > 0.0, "the trace has no task of the page");
    Ok(work)
}

/// How much time spans cover. They may lie in each other, and end before they begin: those are outside.
fn covered(mut spans: Vec<(f64, f64)>) -> f64 {
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
    use super::{BEGIN, END, Step, Trace, Work, work};

    fn step(name: &str, thread: u64, begin: f64, length: f64) -> String {
        let phase = if length > 0.0 { "X" } else { "R" };
        format!(r#"{{"name":"{name}","ph":"{phase}","pid":7,"tid":{thread},"ts":{begin},"dur":{length}}}"#)
    }

    fn steps(lines: &[String]) -> Vec<Step> {
        let text = format!(r#"{{"traceEvents":[{}]}}"#, lines.join(","));
        serde_json::from_str::<Trace>(&text).map(|trace| trace.steps).unwrap_or_default()
    }

    #[test]
    fn only_the_page_s_thread_between_the_marks_counts_and_nothing_twice() -> anyhow::Result<()> {
        let task = "ThreadControllerImpl::RunTask";
        let seen = steps(&[
            step(task, 1, 0.0, 1_100.0),
            step(BEGIN, 1, 1_000.0, 0.0),
            step(task, 1, 2_000.0, 400.0),
            step(task, 1, 2_100.0, 100.0),
            step("FunctionCall", 1, 2_100.0, 200.0),
            step("Layout", 1, 2_300.0, 100.0),
            step(task, 2, 3_000.0, 5_000.0),
            step(END, 1, 11_000.0, 0.0),
            step(task, 1, 12_000.0, 500.0),
        ]);
        let expected = Work { busy_percent: 5.0, script_percent: 2.0, layout_percent: 1.0, longest_ms: 0.4 };
        assert_eq!(work(&seen)?, expected);
        Ok(())
    }

    #[test]
    fn a_trace_that_ended_too_early_is_told() {
        let told = work(&steps(&[step(BEGIN, 1, 1.0, 0.0)])).map_err(|error| error.to_string());
        assert_eq!(told, Err("the trace has no end".to_owned()));
    }
}
