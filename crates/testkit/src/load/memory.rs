//! How much memory and time a process uses.

use std::fs;

use anyhow::Context as _;

/// How many ticks the system counts in a second, on every machine that we know.
const TICKS: f64 = 100.0;

/// The time that a process has had a processor to itself, in seconds: it says what something costs also where others work
/// beside it.
pub fn processor(pid: u32) -> anyhow::Result<f64> {
    let file = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    // The name of the program, in brackets, may have anything in it.
    let (_, rest) = stat.rsplit_once(')').context("no such file as it was")?;
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / TICKS)
}

/// The memory of a process, in kilobytes.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// What it uses now.
    pub now: u64,
    /// The most that it ever used.
    pub peak: u64,
}

impl Memory {
    /// Of a process.
    pub fn of(pid: u32) -> anyhow::Result<Self> {
        let file = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).with_context(|| format!("no {name}"))
        };
        Ok(Self { now: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}
