//! What `/proc` tells about processes. Never trusts a pid alone: it is reused, a pid with its start time is not.

use std::{
    collections::HashMap,
    ffi::OsStr,
    fs, io,
    os::{fd::OwnedFd, unix::ffi::OsStrExt as _},
};

use rustix::{
    io::Errno,
    process::{Pid, PidfdFlags, Signal, kill_process, kill_process_group, pidfd_open, pidfd_send_signal},
};

use super::spec::SESSION_VARIABLE;

/// One process, for as long as the machine runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Process {
    /// Its number, which another process may get later.
    pub pid: u32,
    /// When it started, in the kernel's ticks since boot.
    pub start_time: u64,
}

/// When the process with this pid started, in the kernel's ticks since boot; nothing if there is none.
pub fn start_time(pid: u32) -> Option<u64> {
    Stat::of(pid).map(|stat| stat.process.start_time)
}

/// What we need of `/proc/PID/stat`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stat {
    /// The process.
    pub process: Process,
    /// Its parent.
    pub parent: u32,
    /// Its process group.
    pub group: u32,
    /// It has ended, and its parent has not asked how.
    pub is_dead: bool,
}

impl Stat {
    /// Reads it; nothing if there is no such process.
    pub fn of(pid: u32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    /// `PID (NAME) STATE PARENT GROUP …`. A name may contain anything, also `) R 1`.
    fn parse(pid: u32, line: &[u8]) -> Option<Self> {
        let end = line.iter().rposition(|byte| *byte == b')')?;
        let mut fields = std::str::from_utf8(line.get(end + 2..)?).ok()?.split(' ');
        let state = fields.next()?;
        let parent = fields.next()?.parse().ok()?;
        let group = fields.next()?.parse().ok()?;
        let start_time = fields.nth(16)?.parse().ok()?;
        Some(Self { process: Process { pid, start_time }, parent, group, is_dead: matches!(state, "Z" | "X") })
    }
}

impl Process {
    /// A handle that becomes readable when the process ends.
    pub fn open(self, flags: PidfdFlags) -> io::Result<OwnedFd> {
        let gone = || io::Error::from(Errno::SRCH);
        let handle = pidfd_open(to_pid(self.pid).ok_or_else(gone)?, flags)?;
        // The handle is of the process that has the pid now. If that is ours, it stays ours.
        if start_time(self.pid) == Some(self.start_time) { Ok(handle) } else { Err(gone()) }
    }

    /// Sends it a signal, and never to another that got its pid. Gives a handle that becomes readable when it ends.
    pub fn kill(self, signal: Signal) -> io::Result<OwnedFd> {
        let handle = self.open(PidfdFlags::empty())?;
        pidfd_send_signal(&handle, signal)?;
        Ok(handle)
    }

    /// It was started with the mark of a session. Nobody has the mark of no session.
    pub fn is_marked(self, session: &str) -> bool {
        if session.is_empty() {
            return false;
        }
        let mark = format!("{SESSION_VARIABLE}={session}");
        let environment = fs::read(format!("/proc/{}/environ", self.pid)).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes())
    }
}

/// Sends a signal to the process group of a process; to the process alone as long as it leads none. Never to another
/// that got its pid.
pub fn signal_group(process: Process, signal: Signal) {
    let Some(pid) = to_pid(process.pid).filter(|_| start_time(process.pid) == Some(process.start_time)) else { return };
    if kill_process_group(pid, signal) == Err(Errno::SRCH) {
        kill_process(pid, signal).ok();
    }
}

/// A pid as the system's calls take it.
pub fn to_pid(pid: u32) -> Option<Pid> {
    Pid::from_raw(i32::try_from(pid).ok()?)
}

/// A pid as we write it.
pub fn from_pid(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().unsigned_abs()
}

/// All processes of the machine that we can see, as a rule the youngest first, each looked at when it is its turn.
pub fn all() -> io::Result<impl Iterator<Item = Stat>> {
    Ok(pids()?.filter_map(Stat::of))
}

/// Their numbers, in the same order.
pub fn pids() -> io::Result<impl Iterator<Item = u32>> {
    let entries = fs::read_dir("/proc")?.filter_map(Result::ok);
    // Listed before any is looked at: where processes start faster than we look, the list would not end.
    let pids: Vec<u32> = entries.filter_map(|entry| number(&entry.file_name())).collect();
    Ok(pids.into_iter().rev())
}

/// The children of a process with one thread, the youngest first. None where the kernel has no such list
/// (`CONFIG_PROC_CHILDREN`).
pub fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_ascii_whitespace().rev().filter_map(|pid| pid.parse().ok()).collect()
}

fn number(name: &OsStr) -> Option<u32> {
    std::str::from_utf8(name.as_bytes()).ok()?.parse().ok()
}

/// Those among `all` that descend from one of `roots`, without the roots.
pub fn descendants(all: &[Stat], roots: impl IntoIterator<Item = u32>) -> Vec<Stat> {
    let mut children: HashMap<u32, Vec<Stat>> = HashMap::new();
    for stat in all {
        children.entry(stat.parent).or_default().push(*stat);
    }
    let (mut found, mut parents): (Vec<Stat>, Vec<u32>) = (Vec::new(), roots.into_iter().collect());
    while let Some(parent) = parents.pop() {
        // Taken out, so that a list that was read while it changed cannot lead us in circles.
        let young = children.remove(&parent).unwrap_or_default();
        parents.extend(young.iter().map(|stat| stat.process.pid));
        found.extend(young);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::{Process, Stat, descendants, start_time};

    fn stat(pid: u32, parent: u32) -> Stat {
        Stat { process: Process { pid, start_time: 1 }, parent, group: pid, is_dead: false }
    }

    #[test]
    fn a_name_cannot_fake_the_rest() {
        let line = b"7 (a) R 1 1 (x) S 5 6 7 0 -1 8 9 10 11 12 13 14 15 16 17 18 19 0 4242 21 22\n";
        let read = Stat::parse(7, line).unwrap();
        let process = Process { pid: 7, start_time: 4242 };
        assert_eq!(read, Stat { process, parent: 5, group: 6, is_dead: false });
        assert_eq!(Stat::parse(7, b"7 (half a li"), None);
    }

    #[test]
    fn we_have_a_start_time_and_nobody_has_pid_zero() {
        assert!(start_time(std::process::id()).is_some());
        assert_eq!(start_time(0), None);
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
