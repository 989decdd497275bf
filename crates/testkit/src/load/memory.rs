//! Memory and processor time of a process.

use std::fs;

use anyhow::Context as _;

/// The same on all supported machines.
const CLOCK_TICKS_PER_SECOND: f64 = 100.0;

/// Returns the processor time of a process. Unlike the elapsed time, it does not depend on other work of the machine.
pub fn cpu_seconds(pid: u32) -> anyhow::Result<f64> {
    let file = format!("/proc/{pid}/stat");
    let stat = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
    // The program name in parentheses may contain anything.
    let (_, rest) = stat.rsplit_once(')').context("no such file as it was")?;
    let ticks = rest.split_whitespace().skip(11).take(2).filter_map(|ticks| ticks.parse::<f64>().ok());
    Ok(ticks.sum::<f64>() / CLOCK_TICKS_PER_SECOND)
}

/// The memory of a process, in kilobytes.
#[derive(Clone, Copy, Debug)]
pub struct ProcessMemory {
    pub now: u64,
    /// Highest value so far.
    pub peak: u64,
}

impl ProcessMemory {
    pub fn read_for(pid: u32) -> anyhow::Result<Self> {
        let file = format!("/proc/{pid}/status");
        let status = fs::read_to_string(&file).with_context(|| format!("cannot read {file}"))?;
        let field = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name));
            line.and_then(|line| line.trim().strip_suffix(" kB")?.parse().ok()).with_context(|| format!("no {name}"))
        };
        Ok(Self { now: field("VmRSS:")?, peak: field("VmHWM:")? })
    }
}
