//! Running programs and measuring their time and memory.

use std::{
    fs,
    io::Read as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};

/// The peak never falls, so a poll can only miss the last moment.
const MEMORY_POLL_INTERVAL: Duration = Duration::from_millis(2);

pub struct TimedOutput {
    /// From start to exit, in milliseconds.
    pub ms: f64,
    pub said: String,
}

pub fn run_timed(command: &mut Command) -> anyhow::Result<TimedOutput> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut said = String::new();
    child.stdout.take().context("no output")?.read_to_string(&mut said)?;
    let output = child.wait_with_output()?;
    let ms = began.elapsed().as_secs_f64() * 1e3;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}: {complaint}", command.get_program().display(), output.status);
    Ok(TimedOutput { ms, said })
}

/// Runs a program to its end. Returns milliseconds, and its peak memory in megabytes.
pub fn run_measuring_memory(command: &mut Command) -> anyhow::Result<(f64, f64)> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peak = 0;
    loop {
        peak = peak.max(peak_memory_kb(child.id()));
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "{} ended with {status}", command.get_program().display());
            return Ok((began.elapsed().as_secs_f64() * 1e3, kilobytes_to_megabytes(peak)));
        }
        thread::sleep(MEMORY_POLL_INTERVAL);
    }
}

/// Returns the peak memory of a process.
fn peak_memory_kb(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// Returns the processor time of a process.
pub fn cpu_seconds(child: &Child) -> anyhow::Result<f64> {
    read_cpu_seconds(&child.id().to_string(), 11)
}

/// Minimum and median of repeated runs.
#[derive(Clone, Copy, Debug)]
pub struct RunStatistics {
    pub least: f64,
    pub median: f64,
    /// Processor milliseconds per run. Unlike the elapsed time, they do not depend on other work of the machine.
    pub processor: f64,
}

pub fn repeat_runs(times: u32, mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<RunStatistics> {
    (0..times.max(1)).map(|_| time_run(&mut run)).collect::<anyhow::Result<Vec<_>>>().map(RunStatistics::from_samples)
}

/// Alternates two measurements, so that other work of the machine affects both.
pub fn alternate_runs(
    times: u32,
    mut first: impl FnMut() -> anyhow::Result<f64>,
    mut second: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<(RunStatistics, RunStatistics)> {
    let pairs = (0..times.max(1)).map(|_| Ok((time_run(&mut first)?, time_run(&mut second)?)));
    let (firsts, seconds) = pairs.collect::<anyhow::Result<Vec<_>>>()?.into_iter().unzip();
    Ok((RunStatistics::from_samples(firsts), RunStatistics::from_samples(seconds)))
}

/// Returns elapsed and processor milliseconds of one run.
fn time_run(run: &mut impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<(f64, f64)> {
    let before = children_cpu_seconds()?;
    let ms = run()?;
    Ok((ms, (children_cpu_seconds()? - before) * 1e3))
}

impl RunStatistics {
    fn from_samples(mut all: Vec<(f64, f64)>) -> Self {
        let count = u32::try_from(all.len()).map_or(f64::NAN, f64::from);
        let processor = all.iter().map(|(_, processor)| processor).sum::<f64>() / count;
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let at = |place: usize| all.get(place).map_or(f64::NAN, |(ms, _)| *ms);
        Self { least: at(0), median: at(all.len() / 2), processor }
    }
}

/// Returns the processor time of all exited children.
fn children_cpu_seconds() -> anyhow::Result<f64> {
    read_cpu_seconds("self", 13)
}

fn read_cpu_seconds(process: &str, place: usize) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The program name in parentheses may contain anything.
    let (_, rest) = stat.rsplit_once(')').context("no such file as it was")?;
    let ticks = rest.split_whitespace().skip(place).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "shown in a table")]
fn kilobytes_to_megabytes(number: u64) -> f64 {
    number as f64 / 1024.0
}
