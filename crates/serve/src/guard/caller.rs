//! Whether a caller belongs to a session. A confined agent can read the token like any program of the user, but it
//! cannot hide that it descends from a supervisor.
//!
//! For a Unix socket, the kernel reports the process that connected. For TCP on this machine, the kernel reports the
//! socket at the other end, and a scan of all processes finds its owner. The scan runs once per connection, when it
//! first wants to change something; concurrent requests share one scan. A caller that is not found outside of sessions
//! is refused even if no session runs any more: its own may have ended since it connected.

use std::{net::UdpSocket, sync::Arc, time::Instant};

use switchboard_engine::{
    is_root,
    supervise::{SessionSockets, TcpConnections, belongs_to_session, has_other_users_inside, scan_session_sockets},
};
use tokio::{
    sync::{Mutex, OnceCell},
    task::spawn_blocking,
};

use super::Refusal;
use crate::listen::Peer;

/// How to treat callers on this machine whose process cannot be identified.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum UnidentifiedCallers {
    /// They may only read.
    #[default]
    Refused,
    /// They count as outside of sessions, for example because they are in other containers.
    Allowed,
}

/// The other end of a connection, an extension of every request.
#[derive(Clone)]
pub struct Caller {
    inner: Arc<CallerState>,
    unidentified: UnidentifiedCallers,
}

struct CallerState {
    peer: Peer,
    scanner: ProcessScanner,
    kind: OnceCell<CallerKind>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallerKind {
    Outside,
    Session,
    Unknown,
}

impl Caller {
    pub(crate) fn new(peer: Peer, scanner: ProcessScanner) -> Self {
        // At once, since a process ID can be reused after the process has ended. Reads a handful of small files.
        let kind = match peer {
            Peer::Unix { pid: Some(pid), .. } => Some(match belongs_to_session(pid) {
                Some(true) => CallerKind::Session,
                Some(false) => CallerKind::Outside,
                None => CallerKind::Unknown,
            }),
            // A process below a supervisor would have been visible.
            Peer::Unix { pid: None, .. } => Some(CallerKind::Outside),
            Peer::Tcp { .. } => None,
        };
        let inner = Arc::new(CallerState { peer, scanner, kind: OnceCell::new_with(kind) });
        Self { inner, unidentified: UnidentifiedCallers::default() }
    }

    pub(super) fn set_unidentified(&mut self, unidentified: UnidentifiedCallers) {
        self.unidentified = unidentified;
    }

    /// Checks that the caller may change something: a session may not control sessions.
    pub async fn check_may_control(&self) -> Result<(), Refusal> {
        match self.inner.kind.get_or_init(|| self.identify()).await {
            CallerKind::Outside => Ok(()),
            CallerKind::Session => Err(Refusal::FromSession),
            CallerKind::Unknown if self.unidentified == UnidentifiedCallers::Allowed => Ok(()),
            CallerKind::Unknown => Err(Refusal::UnidentifiedCaller),
        }
    }

    async fn identify(&self) -> CallerKind {
        match self.inner.peer {
            Peer::Tcp { theirs, .. } if !is_local_address(theirs.ip()) => CallerKind::Outside,
            Peer::Tcp { theirs, ours } => self.inner.scanner.scan().await.find_caller(theirs, ours),
            Peer::Unix { .. } => CallerKind::Unknown,
        }
    }
}

/// Only an address of this machine can be bound.
fn is_local_address(ip: std::net::IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

/// Scans the processes of this machine, at most one scan at a time.
#[derive(Clone, Default)]
pub struct ProcessScanner(Arc<Mutex<Option<ProcessScan>>>);

struct ProcessScan {
    since: Instant,
    owners: Arc<SocketOwners>,
}

/// The owners of sockets at the time of a scan.
struct SocketOwners {
    sockets: SessionSockets,
    connections: TcpConnections,
}

impl ProcessScanner {
    /// Returns a scan that starts after this call. Callers that wait for an earlier one share the next.
    async fn scan(&self) -> Arc<SocketOwners> {
        let called = Instant::now();
        let mut last = self.0.lock().await;
        match &*last {
            Some(scan) if scan.since >= called => scan.owners.clone(),
            _ => {
                let since = Instant::now();
                let owners =
                    Arc::new(spawn_blocking(SocketOwners::scan).await.unwrap_or_else(|_| SocketOwners::unknown()));
                *last = Some(ProcessScan { since, owners: owners.clone() });
                owners
            }
        }
    }
}

impl SocketOwners {
    fn scan() -> Self {
        // Also before the connections: a caller that ends after they were listed is not visible any more.
        let had_other_users_inside = !is_root() && has_other_users_inside().unwrap_or(true);
        // Connections first: a socket that is passed on meanwhile is then not found outside.
        let connections = TcpConnections::read();
        let mut sockets = scan_session_sockets().unwrap_or_default();
        sockets.has_other_users_inside |= had_other_users_inside;
        Self { connections, sockets }
    }

    /// Nothing is visible, so no caller is found outside.
    fn unknown() -> Self {
        Self { sockets: SessionSockets::default(), connections: TcpConnections::default() }
    }

    fn find_caller(&self, theirs: std::net::SocketAddr, ours: std::net::SocketAddr) -> CallerKind {
        // A socket without an owner had one when it sent the request.
        let Some((socket, inode)) = self.connections.find(theirs, ours).and_then(|found| Some((found, found.inode?)))
        else {
            return CallerKind::Unknown;
        };
        // The files of other users are not readable, but agents run as this user unless they have become another one.
        let is_anothers = !is_root() && !socket.is_own_users() && !self.sockets.has_other_users_inside;
        if self.sockets.inside.contains(&inode) {
            CallerKind::Session
        } else if self.sockets.outside.contains(&inode) || is_anothers {
            CallerKind::Outside
        } else {
            CallerKind::Unknown
        }
    }
}
