//! Programs with a watch beside them: how long they took, and how much memory.

use std::{
    fs,
    io::Read as _,
    process::{Child, Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};

/// How often the peak of memory is read; it never falls, so only what happens in the last moment can be missed.
const PAUSE: Duration = Duration::from_millis(2);

/// A program that has ended.
pub struct Timed {
    /// From its start to its end, in milliseconds.
    pub ms: f64,
    /// What it said.
    pub said: String,
}

/// Runs a program to its end.
pub fn timed(command: &mut Command) -> anyhow::Result<Timed> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let mut said = String::new();
    child.stdout.take().context("no output")?.read_to_string(&mut said)?;
    let output = child.wait_with_output()?;
    let ms = began.elapsed().as_secs_f64() * 1e3;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{} ended with {}: {complaint}", command.get_program().display(), output.status);
    Ok(Timed { ms, said })
}

/// Runs a program to its end; says how long it took, and the most memory of it and of what it started, in megabytes.
pub fn weighed(command: &mut Command) -> anyhow::Result<(f64, f64)> {
    let began = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let mut peak = 0;
    loop {
        peak = peak.max(high_water(child.id()));
        if let Some(status) = child.try_wait()? {
            ensure!(status.success(), "{} ended with {status}", command.get_program().display());
            return Ok((began.elapsed().as_secs_f64() * 1e3, kilobytes(peak)));
        }
        thread::sleep(PAUSE);
    }
}

/// The most memory that a process ever used, in kilobytes.
pub fn high_water(pid: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).unwrap_or(0)
}

/// The time that a process has had a processor to itself, in seconds.
pub fn processor(child: &Child) -> anyhow::Result<f64> {
    ticks(&child.id().to_string(), 11)
}

/// The least and the middle of some runs.
#[derive(Clone, Copy, Debug)]
pub struct Runs {
    /// The shortest.
    pub least: f64,
    /// The one in the middle.
    pub median: f64,
    /// What processors did for one of them: it says what something costs also where others work beside it.
    pub processor: f64,
}

/// Runs something so often.
pub fn runs(times: u32, mut run: impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<Runs> {
    (0..times.max(1)).map(|_| one(&mut run)).collect::<anyhow::Result<Vec<_>>>().map(Runs::of)
}

/// Runs two things in turn, so often each: what the machine does beside them is then the same for both.
pub fn in_turn(
    times: u32,
    mut first: impl FnMut() -> anyhow::Result<f64>,
    mut second: impl FnMut() -> anyhow::Result<f64>,
) -> anyhow::Result<(Runs, Runs)> {
    let pairs = (0..times.max(1)).map(|_| Ok((one(&mut first)?, one(&mut second)?)));
    let (firsts, seconds) = pairs.collect::<anyhow::Result<Vec<_>>>()?.into_iter().unzip();
    Ok((Runs::of(firsts), Runs::of(seconds)))
}

/// How long one run took, and what processors did for it, both in milliseconds.
fn one(run: &mut impl FnMut() -> anyhow::Result<f64>) -> anyhow::Result<(f64, f64)> {
    let before = children()?;
    let ms = run()?;
    Ok((ms, (children()? - before) * 1e3))
}

impl Runs {
    fn of(mut all: Vec<(f64, f64)>) -> Self {
        let count = u32::try_from(all.len()).map_or(f64::NAN, f64::from);
        let processor = all.iter().map(|(_, processor)| processor).sum::<f64>() / count;
        all.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        let at = |place: usize| all.get(place).map_or(f64::NAN, |(ms, _)| *ms);
        Self { least: at(0), median: at(all.len() / 2), processor }
    }
}

/// The time that processors have worked for all programs that were started here and have ended, in seconds.
fn children() -> anyhow::Result<f64> {
    ticks("self", 13)
}

fn ticks(process: &str, place: usize) -> anyhow::Result<f64> {
    let stat = fs::read_to_string(format!("/proc/{process}/stat"))?;
    // The name of the program, in brackets, may have anything in it.
    let (_, rest) = stat.rsplit_once(')').context("no such file as it was")?;
    let ticks = rest.split_whitespace().skip(place).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / 100.0)
}

#[expect(clippy::cast_precision_loss, reason = "shown in a table")]
fn kilobytes(number: u64) -> f64 {
    number as f64 / 1024.0
}
