//! Which processes belong to sessions: a confined agent must not use us to start one that is not. Every descendant of a
//! supervisor does, and every child of a process that runs sessions, since that starts nothing else. Processes that we
//! descend from ourselves do not count.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, Read as _},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    io::Errno,
    process::{geteuid, test_kill_process},
};

use super::{
    hidden::{INIT, SUPERVISE},
    process::{self, Stat, to_pid},
};

/// How often a line of ancestors is walked again that changed while it was read.
const WALKS: usize = 5;

/// Whether a process belongs to a session. `None` if it cannot be told, since the process has ended.
pub fn is_of_session(pid: u32) -> Option<bool> {
    let own = ancestors(std::process::id()).unwrap_or_default();
    let line = (0..WALKS).find_map(|_| ancestors(pid))?;
    let runs_sessions = |pid: &u32| is_supervisor(*pid) || is_switchboard(*pid);
    // We are among our own ancestors, and a descendant of ours is always one of a session.
    let (itself, above) = line.split_first()?;
    let descends = above.iter().any(|pid| *pid == std::process::id() || (!own.contains(pid) && runs_sessions(pid)));
    Some(descends || (!own.contains(itself) && is_supervisor(*itself)))
}

/// The files of a session's processes that are looked at. An agent decides how many it opens, so that all of them could
/// take any time; and whether a caller may command is decided by the sockets outside alone.
const MAX_FILES_INSIDE: usize = 2_000;

/// The sockets of processes that belong to no session, and some of those that do. Those of processes about which it
/// cannot be told are in neither.
#[derive(Debug, Default)]
pub struct Sockets {
    /// Inodes of sockets that processes of sessions hold, as far as they were looked at.
    pub inside: HashSet<u64>,
    /// Inodes of sockets that others hold.
    pub outside: HashSet<u64>,
    /// A process of a session of our user has the rights of another user, whose files cannot be looked at.
    pub has_other_users_inside: bool,
}

/// Looks through the processes of this machine. Blocks for as long as that takes: milliseconds.
pub fn sockets() -> io::Result<Sockets> {
    let mut processes = ProcessTable::read()?;
    let pids: Vec<u32> = processes.stats.keys().copied().collect();
    let (mut found, mut files_left) = (Sockets::default(), MAX_FILES_INSIDE);
    for pid in pids {
        let files = PathBuf::from(format!("/proc/{pid}/fd"));
        match processes.membership(pid) {
            Membership::SessionOf(root) => {
                let paths: Vec<_> = entries(&files).take(files_left).collect();
                files_left -= paths.len();
                found.inside.extend(socket_inodes(paths.into_iter()));
                found.has_other_users_inside |= is_our_users(root) && !is_our_users(pid);
            }
            Membership::Outside => found.outside.extend(socket_inodes(entries(&files))),
            Membership::Unknown => {}
        }
    }
    Ok(found)
}

/// Whether a process of a session of our user has the rights of another user.
pub fn has_other_users_inside() -> io::Result<bool> {
    let mut processes = ProcessTable::read()?;
    let pids: Vec<u32> = processes.stats.keys().copied().filter(|pid| !is_our_users(*pid)).collect();
    let is_inside = |pid| matches!(processes.membership(pid), Membership::SessionOf(root) if is_our_users(root));
    Ok(pids.into_iter().any(is_inside))
}

/// Whether a process has our user's rights alone. One that has ended has none.
fn is_our_users(pid: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return true };
    let (ids, own) = (status.lines().find_map(|line| line.strip_prefix("Uid:")), geteuid().as_raw().to_string());
    ids.is_some_and(|ids| ids.split_ascii_whitespace().all(|id| id == own))
}

/// All processes, each as it was when it was looked at. A process that lost its parent in between has a parent that is
/// missing here, dead, or us.
struct ProcessTable {
    stats: HashMap<u32, Stat>,
    /// We, and those we descend from.
    own: Vec<u32>,
    /// Whether the descendants of a process belong to a session; `None` if it cannot be told.
    runs_sessions: HashMap<u32, Option<bool>>,
}

/// What a process belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Membership {
    /// No session.
    Outside,
    /// A session that this process runs or supervises.
    SessionOf(u32),
    /// It cannot be told, since a process that it descends from has ended.
    Unknown,
}

impl ProcessTable {
    fn read() -> io::Result<Self> {
        let own = ancestors(std::process::id()).unwrap_or_default();
        let stats = process::all()?.map(|stat| (stat.process.pid, stat)).collect();
        Ok(Self { stats, own, runs_sessions: HashMap::new() })
    }

    fn membership(&mut self, pid: u32) -> Membership {
        if !self.own.contains(&pid) && is_supervisor(pid) {
            return Membership::SessionOf(pid);
        }
        let mut next = self.stats.get(&pid).map_or(pid, |stat| stat.parent);
        // A table that was read while it changed could lead in circles.
        for _ in 0..self.stats.len() {
            if next == std::process::id() {
                return Membership::SessionOf(next);
            }
            if next == 0 || self.own.contains(&next) {
                return Membership::Outside;
            }
            let Some(stat) = self.stats.get(&next) else {
                return if is_hidden(next) { Membership::Outside } else { Membership::Unknown };
            };
            match self.runs_sessions.entry(next).or_insert_with(|| runs_sessions(next)) {
                Some(true) => return Membership::SessionOf(next),
                Some(false) => next = stat.parent,
                None => return Membership::Unknown,
            }
        }
        Membership::Unknown
    }
}

/// Whether the descendants of a process belong to a session. `None` if it has ended.
fn runs_sessions(pid: u32) -> Option<bool> {
    if is_supervisor(pid) || is_switchboard(pid) {
        return Some(true);
    }
    // What has ended has neither a command line nor a program any more.
    Stat::of(pid).filter(|stat| !stat.is_dead).map(|_| false)
}

/// Whether a process runs that is another user's, so that the system does not list it for us (`hidepid`).
fn is_hidden(pid: u32) -> bool {
    to_pid(pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM))
}

/// The process, its parent, and so on. `None` if one of them ended meanwhile.
fn ancestors(pid: u32) -> Option<Vec<u32>> {
    let (mut line, mut next) = (Vec::new(), pid);
    while next != 0 && !line.contains(&next) {
        line.push(next);
        next = Stat::of(next)?.parent;
    }
    Some(line)
}

/// Whether a process is a supervisor, of whichever program of ours.
fn is_supervisor(pid: u32) -> bool {
    // The name and the mode are short, and all processes are asked.
    let mut begin = [0; 64];
    let read = File::open(format!("/proc/{pid}/cmdline")).and_then(|mut file| file.read(&mut begin));
    let command = begin.get(..read.unwrap_or_default()).unwrap_or_default();
    let mode = command.split(|byte| *byte == 0).nth(1);
    [SUPERVISE, INIT].iter().any(|hidden| mode == Some(hidden.as_bytes()))
}

/// Whether a process runs the same program as we do, of whichever version: then its children are of sessions. A process
/// cannot take that from its parent.
fn is_switchboard(pid: u32) -> bool {
    let identity = |path: &Path| fs::metadata(path).map(|file| (file.dev(), file.ino())).ok();
    let name = |path: &Path| {
        let target = fs::read_link(path).ok()?.file_name()?.to_owned();
        // An update has replaced the file.
        Some(target.to_str().and_then(|name| name.strip_suffix(" (deleted)")).map_or(target.clone(), Into::into))
    };
    let (own, other) = (Path::new("/proc/self/exe"), PathBuf::from(format!("/proc/{pid}/exe")));
    (identity(own).is_some() && identity(own) == identity(&other)) || (name(own).is_some() && name(own) == name(&other))
}

/// The entries of a directory; none of one that we may not look at.
fn entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

/// The inodes of the sockets among open files.
fn socket_inodes(files: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = u64> {
    files.filter_map(|file| inode(fs::read_link(file).ok()?.as_os_str().as_bytes()))
}

/// `socket:[INODE]`.
fn inode(target: &[u8]) -> Option<u64> {
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd as _;

    use super::{Membership, ProcessTable, ancestors, inode, is_of_session, is_supervisor, sockets};
    use crate::supervise::process::{Process, Stat};

    #[test]
    fn we_are_of_no_session() {
        let own = std::process::id();
        assert_eq!(ancestors(own).unwrap().first(), Some(&own));
        assert_eq!(is_of_session(own), Some(false));
        assert!(!is_supervisor(own));
    }

    #[test]
    fn a_process_that_is_gone_is_unknown() {
        // Above the highest number that the kernel gives.
        assert_eq!(is_of_session(u32::MAX), None);
    }

    /// A process loses its parent between the looks at the two.
    #[test]
    fn a_process_with_a_missing_parent_is_unknown_and_an_adopted_one_is_of_a_session() {
        let own = std::process::id();
        // Above the highest number that the kernel gives.
        let (process, parent, missing) = (u32::MAX / 2, u32::MAX / 2 - 1, u32::MAX / 2 - 2);
        let stat =
            |pid, parent, is_dead| (pid, Stat { process: Process { pid, start_time: 1 }, parent, group: pid, is_dead });
        let check = |stats: &[(u32, Stat)], expected| {
            let mut table = ProcessTable::read().unwrap();
            table.stats.extend(stats.iter().copied());
            assert_eq!(table.membership(process), expected, "{stats:?}");
        };
        check(&[stat(process, missing, false)], Membership::Unknown);
        check(&[stat(process, own, false)], Membership::SessionOf(own));
        // Its supervisor is dead, and not reaped or about to be.
        check(&[stat(process, parent, false), stat(parent, own, true)], Membership::Unknown);
        check(&[stat(process, 0, false)], Membership::Outside);
        check(&[stat(process, parent, false), stat(parent, process, false)], Membership::Unknown);
    }

    #[test]
    fn sockets_are_known_by_their_inode() {
        assert_eq!(inode(b"socket:[4711]"), Some(4711));
        assert_eq!(inode(b"pipe:[4711]"), None);
        assert_eq!(inode(b"/tmp/socket:[1]"), None);
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let file = std::fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        let inode = inode(file.as_os_str().as_encoded_bytes()).unwrap();
        let found = sockets().unwrap();
        assert!(found.outside.contains(&inode) && !found.inside.contains(&inode));
    }
}
