//! How much memory a process uses.

use std::fs;

use anyhow::Context as _;

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
