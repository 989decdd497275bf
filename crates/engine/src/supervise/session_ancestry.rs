//! Which processes belong to sessions: a confined agent must not use us to start one that is not. Every descendant of a
//! supervisor does, and every child of a process that runs sessions, since that starts nothing else. Processes that we
//! descend from ourselves do not count.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use super::{
    hidden::{INIT, SUPERVISE},
    process::{self, Stat},
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

/// The sockets of processes that belong to sessions, and of all others that we can see.
#[derive(Debug, Default)]
pub struct Sockets {
    /// There is a session.
    pub any_session: bool,
    /// Inodes of sockets that processes of sessions hold.
    pub inside: HashSet<u64>,
    /// Inodes of sockets that others hold. Not looked for where there is no session.
    pub outside: HashSet<u64>,
}

/// Looks through the processes of this machine. Blocks for as long as that takes: milliseconds.
pub fn sockets() -> io::Result<Sockets> {
    let roots = session_roots()?;
    if roots.is_empty() {
        return Ok(Sockets::default());
    }
    // Listed after the roots were found: a process that is started meanwhile descends from one of them, or does not.
    let all: Vec<_> = process::all()?.collect();
    let mut members: HashSet<u32> =
        process::descendants(&all, roots.iter().copied()).iter().map(|stat| stat.process.pid).collect();
    members.extend(roots);
    let mut found = Sockets { any_session: true, ..Sockets::default() };
    for pid in all.iter().map(|stat| stat.process.pid) {
        if members.contains(&pid) {
            // A thread may have files that its process does not show.
            let threads = entries(&PathBuf::from(format!("/proc/{pid}/task")));
            found.inside.extend(threads.iter().flat_map(|thread| socket_inodes(&thread.join("fd"))));
        } else {
            found.outside.extend(socket_inodes(&PathBuf::from(format!("/proc/{pid}/fd"))));
        }
    }
    Ok(found)
}

/// Whether there is a session on this machine.
pub fn any_session() -> io::Result<bool> {
    Ok(!session_roots()?.is_empty())
}

/// The uppermost process of each session: supervisors, and children of processes that run sessions.
fn session_roots() -> io::Result<Vec<u32>> {
    let own = ancestors(std::process::id()).unwrap_or_default();
    let all: Vec<Stat> = process::all()?.collect();
    let parents: HashSet<u32> = all.iter().map(|stat| stat.parent).collect();
    let runs_sessions: HashSet<u32> = parents
        .into_iter()
        .filter(|pid| *pid == std::process::id() || (!own.contains(pid) && is_switchboard(*pid)))
        .collect();
    let is_root = |stat: &&Stat| {
        let pid = stat.process.pid;
        !stat.is_dead && !own.contains(&pid) && (runs_sessions.contains(&stat.parent) || is_supervisor(pid))
    };
    Ok(all.iter().filter(is_root).map(|stat| stat.process.pid).collect())
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

fn entries(directory: &Path) -> Vec<PathBuf> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The inodes of the sockets among open files; none of a process that we may not look at.
fn socket_inodes(files: &Path) -> Vec<u64> {
    entries(files).iter().filter_map(|file| inode(fs::read_link(file).ok()?.as_os_str().as_bytes())).collect()
}

/// `socket:[INODE]`.
fn inode(target: &[u8]) -> Option<u64> {
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::{ancestors, inode, is_of_session, is_supervisor, sockets};

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

    #[test]
    fn sockets_are_known_by_their_inode() {
        assert_eq!(inode(b"socket:[4711]"), Some(4711));
        assert_eq!(inode(b"pipe:[4711]"), None);
        assert_eq!(inode(b"/tmp/socket:[1]"), None);
        let found = sockets().unwrap();
        assert_eq!(found.any_session, !found.outside.is_empty() || !found.inside.is_empty());
    }
}
