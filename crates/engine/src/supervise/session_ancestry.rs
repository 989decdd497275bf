//! Determines which processes belong to sessions: a confined agent must not use Switchboard to start an unconfined one.
//! Every descendant of a supervisor belongs to a session, and every child of a process that runs sessions, since such a
//! process starts nothing else. Ancestors of this process do not count. The sockets of processes and the kernel's table of
//! TCP connections tell which process is at the other end of a connection on this machine.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{self, Read as _},
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::{ffi::OsStrExt as _, fs::MetadataExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    io::Errno,
    process::{geteuid, test_kill_process},
};

use super::{
    hidden::{INIT_MODE, SUPERVISE_MODE},
    process::{ProcessStat, processes, to_pid},
};

/// The maximum number of attempts to walk a line of ancestors that changes while it is read.
const MAX_ANCESTRY_READS: usize = 5;

/// Returns whether a process belongs to a session. `None` if the process has ended, so that it is unknown.
pub fn belongs_to_session(pid: u32) -> Option<bool> {
    let own = ancestors(std::process::id()).unwrap_or_default();
    let line = (0..MAX_ANCESTRY_READS).find_map(|_| ancestors(pid))?;
    let runs_sessions = |pid: &u32| is_supervisor(*pid) || is_switchboard(*pid);
    // `own` contains this process itself, and a descendant of this process always belongs to a session.
    let (itself, above) = line.split_first()?;
    let descends = above.iter().any(|pid| *pid == std::process::id() || (!own.contains(pid) && runs_sessions(pid)));
    Some(descends || (!own.contains(itself) && is_supervisor(*itself)))
}

/// The maximum number of files of session processes that are checked. An agent decides how many it opens, so checking
/// all could take any time. Whether a caller may send commands depends only on the sockets outside.
const MAX_SESSION_FILES: usize = 2_000;

/// The sockets of processes that belong to no session, and some of those that do. Those of processes whose membership
/// is unknown are in neither set.
#[derive(Debug, Default)]
pub struct SessionSockets {
    /// Inodes of sockets that processes of sessions hold, as far as they were checked.
    pub inside: HashSet<u64>,
    /// Inodes of sockets that other processes hold.
    pub outside: HashSet<u64>,
    /// A session of the current user has a process with another user's privileges, whose files cannot be read.
    pub has_other_users_inside: bool,
}

/// Reads the processes of this machine. Blocks for some milliseconds.
pub fn scan_session_sockets() -> io::Result<SessionSockets> {
    let mut table = ProcessTable::read()?;
    let pids: Vec<u32> = table.stats.keys().copied().collect();
    let (mut found, mut files_left) = (SessionSockets::default(), MAX_SESSION_FILES);
    for pid in pids {
        let files = PathBuf::from(format!("/proc/{pid}/fd"));
        match table.membership(pid) {
            SessionMembership::SessionOf(root) => {
                let paths: Vec<_> = directory_entries(&files).take(files_left).collect();
                files_left -= paths.len();
                found.inside.extend(socket_inodes(paths.into_iter()));
                found.has_other_users_inside |= has_only_own_privileges(root) && !has_only_own_privileges(pid);
            }
            SessionMembership::Outside => found.outside.extend(socket_inodes(directory_entries(&files))),
            SessionMembership::Unknown => {}
        }
    }
    Ok(found)
}

/// Returns whether a session of the current user has a process with another user's privileges.
pub fn has_other_users_inside() -> io::Result<bool> {
    let mut table = ProcessTable::read()?;
    let pids: Vec<u32> = table.stats.keys().copied().filter(|pid| !has_only_own_privileges(*pid)).collect();
    let is_inside =
        |pid| matches!(table.membership(pid), SessionMembership::SessionOf(root) if has_only_own_privileges(root));
    Ok(pids.into_iter().any(is_inside))
}

/// Returns whether a process has only the current user's privileges. One that has ended has none.
fn has_only_own_privileges(pid: u32) -> bool {
    let Ok(status) = fs::read_to_string(format!("/proc/{pid}/status")) else { return true };
    let (ids, own) = (status.lines().find_map(|line| line.strip_prefix("Uid:")), geteuid().as_raw().to_string());
    ids.is_some_and(|ids| ids.split_ascii_whitespace().all(|id| id == own))
}

/// All processes, each as it was when it was read. A process that lost its parent in between has a parent that is
/// missing here, dead, or this process.
struct ProcessTable {
    stats: HashMap<u32, ProcessStat>,
    /// This process and its ancestors.
    own: Vec<u32>,
    /// Whether the descendants of a process belong to a session; `None` if unknown.
    runs_sessions: HashMap<u32, Option<bool>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SessionMembership {
    Outside,
    /// A session that this process runs or supervises.
    SessionOf(u32),
    /// Unknown, since an ancestor has ended.
    Unknown,
}

impl ProcessTable {
    fn read() -> io::Result<Self> {
        let own = ancestors(std::process::id()).unwrap_or_default();
        let stats = processes()?.map(|stat| (stat.process.pid, stat)).collect();
        Ok(Self { stats, own, runs_sessions: HashMap::new() })
    }

    fn membership(&mut self, pid: u32) -> SessionMembership {
        if !self.own.contains(&pid) && is_supervisor(pid) {
            return SessionMembership::SessionOf(pid);
        }
        let mut next = self.stats.get(&pid).map_or(pid, |stat| stat.parent);
        // A table that was read while it changed could lead in circles.
        for _ in 0..self.stats.len() {
            if next == std::process::id() {
                return SessionMembership::SessionOf(next);
            }
            if next == 0 || self.own.contains(&next) {
                return SessionMembership::Outside;
            }
            let Some(stat) = self.stats.get(&next) else {
                return if is_hidden(next) { SessionMembership::Outside } else { SessionMembership::Unknown };
            };
            match self.runs_sessions.entry(next).or_insert_with(|| runs_sessions(next)) {
                Some(true) => return SessionMembership::SessionOf(next),
                Some(false) => next = stat.parent,
                None => return SessionMembership::Unknown,
            }
        }
        SessionMembership::Unknown
    }
}

/// Returns whether the descendants of a process belong to a session. `None` if it has ended.
fn runs_sessions(pid: u32) -> Option<bool> {
    if is_supervisor(pid) || is_switchboard(pid) {
        return Some(true);
    }
    // A process that has ended has neither a command line nor a program.
    ProcessStat::read(pid).filter(|stat| !stat.is_dead).map(|_| false)
}

/// Returns whether a running process belongs to another user, so that the system does not list it here (`hidepid`).
fn is_hidden(pid: u32) -> bool {
    to_pid(pid).is_some_and(|pid| test_kill_process(pid) == Err(Errno::PERM))
}

/// Returns the process, its parent, and so on. `None` if one of them ended in the meantime.
fn ancestors(pid: u32) -> Option<Vec<u32>> {
    let (mut line, mut next) = (Vec::new(), pid);
    while next != 0 && !line.contains(&next) {
        line.push(next);
        next = ProcessStat::read(next)?.parent;
    }
    Some(line)
}

/// Returns whether a process is a supervisor of any Switchboard program.
fn is_supervisor(pid: u32) -> bool {
    // The name and the mode are short, and the command line of every process is read.
    let mut begin = [0; 64];
    let read = File::open(format!("/proc/{pid}/cmdline")).and_then(|mut file| file.read(&mut begin));
    let command = begin.get(..read.unwrap_or_default()).unwrap_or_default();
    let mode = command.split(|byte| *byte == 0).nth(1);
    [SUPERVISE_MODE, INIT_MODE].iter().any(|hidden| mode == Some(hidden.as_bytes()))
}

/// Returns whether a process runs the same program as this one, in any version: then its children belong to sessions. A
/// process cannot change that for its parent.
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

/// Returns the entries of a directory; none of one that may not be read.
fn directory_entries(directory: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(directory).into_iter().flatten().flatten().map(|entry| entry.path())
}

fn socket_inodes(files: impl Iterator<Item = PathBuf>) -> impl Iterator<Item = u64> {
    files.filter_map(|file| parse_socket_inode(fs::read_link(file).ok()?.as_os_str().as_bytes()))
}

/// Parses `socket:[INODE]`.
fn parse_socket_inode(target: &[u8]) -> Option<u64> {
    let number = target.strip_prefix(b"socket:[")?.strip_suffix(b"]")?;
    std::str::from_utf8(number).ok()?.parse().ok()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpSocketOwner {
    /// The user who opened it.
    pub uid: u32,
    /// The inode; `None` if no process holds the socket any more.
    pub inode: Option<u64>,
}

impl TcpSocketOwner {
    /// Returns whether a process of the current user opened it.
    pub fn is_own_users(self) -> bool {
        self.uid == geteuid().as_raw()
    }
}

#[derive(Debug, Default)]
pub struct TcpConnections(Vec<(SocketAddr, SocketAddr, TcpSocketOwner)>);

impl TcpConnections {
    pub fn read() -> Self {
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let text = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
        Self(text.iter().flat_map(|text| text.lines().skip(1)).filter_map(parse_connection).collect())
    }

    pub fn find(&self, own: SocketAddr, other: SocketAddr) -> Option<TcpSocketOwner> {
        let wanted = |(from, to, _): &&(SocketAddr, SocketAddr, TcpSocketOwner)| *from == own && *to == other;
        self.0.iter().find(wanted).map(|(_, _, socket)| *socket)
    }
}

/// Parses `sl local remote state queues timer retransmits uid timeout inode …`.
fn parse_connection(line: &str) -> Option<(SocketAddr, SocketAddr, TcpSocketOwner)> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (own, other) = (parse_address(fields.next()?)?, parse_address(fields.next()?)?);
    let uid = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok().filter(|inode| *inode != 0);
    Some((own, other, TcpSocketOwner { uid, inode }))
}

/// Parses `0100007F:1F90`: words of 32 bits in the byte order of this machine, then the port.
fn parse_address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut bytes = Vec::with_capacity(16);
    for word in ip.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?)),
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::{
        net::{TcpListener, TcpStream},
        os::fd::AsRawFd as _,
    };

    use super::{
        ProcessTable, SessionMembership, TcpConnections, ancestors, belongs_to_session, is_supervisor, parse_address,
        parse_socket_inode, scan_session_sockets,
    };
    use crate::supervise::process::{ProcessRef, ProcessStat};

    #[test]
    fn this_process_belongs_to_no_session() {
        let own = std::process::id();
        assert_eq!(ancestors(own).unwrap().first(), Some(&own));
        assert_eq!(belongs_to_session(own), Some(false));
        assert!(!is_supervisor(own));
    }

    #[test]
    fn a_process_that_has_ended_is_unknown() {
        // Above the highest PID that the kernel assigns.
        assert_eq!(belongs_to_session(u32::MAX), None);
    }

    /// A process loses its parent between the reads of the two.
    #[test]
    fn a_process_with_a_missing_parent_is_unknown_and_an_adopted_one_belongs_to_a_session() {
        let own = std::process::id();
        // Above the highest PID that the kernel assigns.
        let (process, parent, missing) = (u32::MAX / 2, u32::MAX / 2 - 1, u32::MAX / 2 - 2);
        let stat = |pid, parent, is_dead| {
            (pid, ProcessStat { process: ProcessRef { pid, start_time: 1 }, parent, group: pid, is_dead })
        };
        let check = |stats: &[(u32, ProcessStat)], expected| {
            let mut table = ProcessTable::read().unwrap();
            table.stats.extend(stats.iter().copied());
            assert_eq!(table.membership(process), expected, "{stats:?}");
        };
        check(&[stat(process, missing, false)], SessionMembership::Unknown);
        check(&[stat(process, own, false)], SessionMembership::SessionOf(own));
        // Its supervisor is dead, and not reaped or about to be.
        check(&[stat(process, parent, false), stat(parent, own, true)], SessionMembership::Unknown);
        check(&[stat(process, 0, false)], SessionMembership::Outside);
        check(&[stat(process, parent, false), stat(parent, process, false)], SessionMembership::Unknown);
    }

    #[test]
    fn sockets_are_known_by_their_inode() {
        assert_eq!(parse_socket_inode(b"socket:[4711]"), Some(4711));
        assert_eq!(parse_socket_inode(b"pipe:[4711]"), None);
        assert_eq!(parse_socket_inode(b"/tmp/socket:[1]"), None);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let file = std::fs::read_link(format!("/proc/self/fd/{}", listener.as_raw_fd())).unwrap();
        let inode = parse_socket_inode(file.as_os_str().as_encoded_bytes()).unwrap();
        let found = scan_session_sockets().unwrap();
        assert!(found.outside.contains(&inode) && !found.inside.contains(&inode));
    }

    #[test]
    fn addresses_are_read() {
        let one = u32::from_ne_bytes([127, 0, 0, 1]);
        assert_eq!(parse_address(&format!("{one:08X}:1F90")), "127.0.0.1:8080".parse().ok());
        let words = [0, 0, u32::from_ne_bytes([0, 0, 0xff, 0xff]), one].map(|word| format!("{word:08X}")).concat();
        assert_eq!(parse_address(&format!("{words}:0001")), "127.0.0.1:1".parse().ok());
        for wrong in ["", "0100007F", "0100007F:x", "zz:1"] {
            assert_eq!(parse_address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn both_ends_of_a_connection_are_found_until_they_are_closed() {
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            let (own, other) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let found = TcpConnections::read().find(own, other).unwrap();
            assert!(
                found.is_own_users()
                    && found.inode.is_some()
                    && found != TcpConnections::read().find(other, own).unwrap()
            );
            drop(client);
            assert_eq!(TcpConnections::read().find(own, other).and_then(|socket| socket.inode), None);
            drop(server);
        }
    }
}
