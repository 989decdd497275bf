//! Reads processes from `/proc`. Never trusts a PID alone: PIDs are reused, a PID with its start time is not.

use std::{collections::HashMap, fs, io, os::fd::OwnedFd};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal},
};
use serde::{Deserialize, Serialize};

use super::SESSION_VARIABLE;

/// One process, identified for as long as the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ProcessRef {
    /// The PID, which another process may get later.
    pub pid: u32,
    /// The start time in the kernel's ticks since boot.
    pub start_time: u64,
}

/// Returns the start time of a process in the kernel's ticks since boot; `None` if there is no such process.
pub fn process_start_time(pid: u32) -> Option<u64> {
    ProcessStat::read(pid).map(|stat| stat.process.start_time)
}

/// The fields of `/proc/PID/stat` that are used here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ProcessStat {
    pub process: ProcessRef,
    pub parent: u32,
    pub group: u32,
    /// It has ended, and its parent has not reaped it.
    pub is_dead: bool,
}

impl ProcessStat {
    /// Reads the fields of a process; `None` if there is no such process.
    pub fn read(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// Parses `PID (NAME) STATE PARENT GROUP …`. A name may contain anything, even `) R 1`.
    fn parse(pid: u32, line: &[u8]) -> Option<Self> {
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(line.get(end + 2..)?).ok()?.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let start_time = fields.nth(16)?.parse().ok()?;
        Some(Self { process: ProcessRef { pid, start_time }, parent, group, is_dead: matches!(state, "Z" | "X") })
    }
}

impl ProcessRef {
    /// Returns a handle that becomes readable when the process ends.
    pub fn open(self, flags: PidfdFlags) -> io::Result<OwnedFd> {
        let gone = || io::Error::from(Errno::SRCH);
        let handle = pidfd_open(to_pid(self.pid).ok_or_else(gone)?, flags)?;
        // The handle refers to the process that has the PID now. If that is the right one, it stays so.
        if process_start_time(self.pid) == Some(self.start_time) { Ok(handle) } else { Err(gone()) }
    }

    /// Sends it a signal, and never to another process that got its PID. Returns a handle that becomes readable when it
    /// ends.
    pub fn signal(self, signal: Signal) -> io::Result<OwnedFd> {
        let handle = self.open(PidfdFlags::empty())?;
        pidfd_send_signal(&handle, signal)?;
        Ok(handle)
    }

    /// Sends a signal to its process group, or to the process alone as long as it leads none. Never signals another
    /// process that got its PID.
    pub fn signal_group(self, signal: Signal) {
        if let Some(pid) = to_pid(self.pid).filter(|_| process_start_time(self.pid) == Some(self.start_time)) {
            signal_group_or_process(pid, signal);
        }
    }

    /// Returns whether it was started with the mark of a session. An empty session has no mark.
    pub fn is_marked(self, session: &str) -> bool {
        if session.is_empty() {
            return false;
        }
        let mark = format!("{SESSION_VARIABLE}={session}");
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    }
}

/// Sends a signal to the process group of a process, or to the process alone as long as it leads none. The caller knows
/// that no other process has got the PID.
pub fn signal_group_or_process(pid: Pid, signal: Signal) {
    if kill_process_group(pid, signal) == Err(Errno::SRCH) {
        kill_process(pid, signal).ok();
    }
}

/// Converts a PID to the type of system calls.
pub fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// Converts a PID from the type of system calls.
pub fn from_pid(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// Returns all visible processes of the machine, usually the youngest first. Each is read lazily.
pub fn processes() -> io::Result<impl Iterator<Item = ProcessStat>> {
    let entries = fs::read_dir("/proc")?.filter_map(Result::ok);
    // Listed before any is read: where processes start faster than they are read, the list would not end.
    let pids: Vec<u32> = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect();
    Ok(pids.into_iter().rev().filter_map(ProcessStat::read))
}

/// Returns the children of a process with one thread, the youngest first. Empty if the kernel has no such list
/// (`CONFIG_PROC_CHILDREN`).
pub fn child_pids(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_ascii_whitespace().rev().filter_map(|pid| pid.parse().ok()).collect()
}

/// Returns the processes among `all` that descend from one of `roots`, without the roots.
pub fn descendants(all: &[ProcessStat], roots: impl IntoIterator<Item = u32>) -> Vec<ProcessStat> {
    let mut children: HashMap<u32, Vec<ProcessStat>> = HashMap::new();
    for stat in all {
        children.entry(stat.parent).or_default().push(*stat);
    }
    let (mut found, mut parents): (Vec<ProcessStat>, Vec<u32>) = (Vec::new(), roots.into_iter().collect());
    while let Some(parent) = parents.pop() {
        // Removed, so that a list that changed while it was read cannot cause an endless loop.
        let young = children.remove(&parent).unwrap_or_default();
        parents.extend(young.iter().map(|stat| stat.process.pid));
        found.extend(young);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{ProcessRef, ProcessStat, descendants, process_start_time};

    fn stat(pid: u32, parent: u32) -> ProcessStat {
        ProcessStat { process: ProcessRef { pid, start_time: 1 }, parent, group: pid, is_dead: false }
    }

    #[test]
    fn a_name_cannot_fake_the_rest() {
        let line = b"7 (a) R 1 1 (x) S 5 6 7 0 -1 8 9 10 11 12 13 14 15 16 17 18 19 0 4242 21 22\n";
        let read = ProcessStat::parse(7, line).unwrap();
        let process = ProcessRef { pid: 7, start_time: 4242 };
        assert_eq!(read, ProcessStat { process, parent: 5, group: 6, is_dead: false });
        assert_eq!(ProcessStat::parse(7, b"7 (half a li"), None);
    }

    #[test]
    fn this_process_has_a_start_time_and_pid_zero_does_not_exist() {
        assert!(process_start_time(std::process::id()).is_some());
        assert_eq!(process_start_time(0), None);
    }

    #[test]
    fn descendants_are_found_at_any_depth_and_circles_end() {
        let all = [stat(2, 1), stat(3, 2), stat(4, 3), stat(9, 1), stat(20, 21), stat(21, 20)];
        let found = |root| {
            let mut pids: Vec<_> = descendants(&all, [root]).iter().map(|stat| stat.process.pid).collect();
            pids.sort_unstable();
            pids
        };
        assert_eq!(found(2), [3, 4]);
        assert!(found(9).is_empty());
        assert_eq!(found(20), [20, 21]);
    }
}
