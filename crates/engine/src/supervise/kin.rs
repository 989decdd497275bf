//! Which processes belong to sessions: a confined agent must not use us to start one that is not. Whoever descends from
//! a supervisor does, of whichever program of ours; those whom we descend from ourselves do not count.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read as _},
    os::unix::ffi::OsStrExt as _,
    path::{Path, PathBuf},
};

use super::{
    hidden::SUPERVISE,
    process::{self, Stat},
};

/// How often a line of ancestors is walked again that changed under our eyes.
const WALKS: usize = 5;

/// Whether a process belongs to a session. Nothing if it cannot be told, since the process has ended.
pub fn is_of_session(pid: u32) -> Option<bool> {
    let own = ancestors(std::process::id()).unwrap_or_default();
    let line = (0..WALKS).find_map(|_| ancestors(pid))?;
    Some(line.into_iter().any(|pid| !own.contains(&pid) && is_supervisor(pid)))
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
    let roots = supervisors()?;
    if roots.is_empty() {
        return Ok(Sockets::default());
    }
    // Looked at after the supervisors were found: who is started meanwhile descends from one of them, or does not.
    let all: Vec<_> = process::all()?.collect();
    let kin: HashSet<u32> = process::descendants(&all, roots).iter().map(|stat| stat.process.pid).collect();
    let mut found = Sockets { any_session: true, ..Sockets::default() };
    for pid in all.iter().map(|stat| stat.process.pid) {
        if kin.contains(&pid) {
            // A thread may have files that its process does not show.
            let threads = entries(&PathBuf::from(format!("/proc/{pid}/task")));
            found.inside.extend(threads.iter().flat_map(|thread| held(&thread.join("fd"))));
        } else {
            found.outside.extend(held(&PathBuf::from(format!("/proc/{pid}/fd"))));
        }
    }
    Ok(found)
}

/// There is a session on this machine. One small read a process.
pub fn any_session() -> io::Result<bool> {
    Ok(!supervisors()?.is_empty())
}

/// All supervisors but those that we descend from.
fn supervisors() -> io::Result<Vec<u32>> {
    let own = ancestors(std::process::id()).unwrap_or_default();
    Ok(process::pids()?.filter(|pid| !own.contains(pid) && is_supervisor(*pid)).collect())
}

/// The process, its parent, and so on. Nothing if one of them ended meanwhile.
fn ancestors(pid: u32) -> Option<Vec<u32>> {
    let (mut line, mut next) = (Vec::new(), pid);
    while next != 0 && !line.contains(&next) {
        line.push(next);
        next = Stat::of(next)?.parent;
    }
    Some(line)
}

fn is_supervisor(pid: u32) -> bool {
    // The name and the mode are short, and all processes are asked.
    let mut begin = [0; 64];
    let read = File::open(format!("/proc/{pid}/cmdline")).and_then(|mut file| file.read(&mut begin));
    let command = begin.get(..read.unwrap_or_default()).unwrap_or_default();
    command.split(|byte| *byte == 0).nth(1) == Some(SUPERVISE.as_bytes())
}

fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path()).collect()
}

/// The inodes of the sockets among open files; none of a process that is not ours to look at.
fn held(files: &Path) -> Vec<u64> {
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
    fn nobody_knows_a_process_that_is_gone() {
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
