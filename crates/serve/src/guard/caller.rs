//! Whether a caller belongs to a session. A confined agent can read the token like any program of the user; what it can
//! not do is to hide that it descends from one of our supervisors.
//!
//! A unix socket tells the process that connected. For TCP on this machine the kernel tells the socket at the other end,
//! and a look at all processes tells who holds it. That is done once a connection, only when it first wants to change
//! something; requests at the same time share one look. A caller that is not seen outside of sessions is refused, also
//! if no session runs any more: its own may have ended since it connected.

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

/// What becomes of callers on this machine whose process cannot be seen.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Unseen {
    /// They may look, and nothing else.
    #[default]
    Refused,
    /// They are taken for outsiders: they are in other containers, say.
    Allowed,
}

/// Who is at the other end of a connection. Comes with every request, as an extension.
#[derive(Clone)]
pub struct Caller {
    inner: Arc<Inner>,
    unseen: Unseen,
}

struct Inner {
    peer: Peer,
    lookout: Lookout,
    verdict: OnceCell<Verdict>,
}

/// What is known of a caller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Outside,
    Session,
    Unknown,
}

impl Caller {
    pub(crate) fn new(peer: Peer, lookout: Lookout) -> Self {
        // At once, since a process that ends leaves its number to another. It is a handful of small files.
        let verdict = match peer {
            Peer::Unix { pid: Some(pid), .. } => Some(match belongs_to_session(pid) {
                Some(true) => Verdict::Session,
                Some(false) => Verdict::Outside,
                None => Verdict::Unknown,
            }),
            // Below a supervisor of ours, we would see it.
            Peer::Unix { pid: None, .. } => Some(Verdict::Outside),
            Peer::Tcp { .. } => None,
        };
        let inner = Arc::new(Inner { peer, lookout, verdict: OnceCell::new_with(verdict) });
        Self { inner, unseen: Unseen::default() }
    }

    /// What becomes of it if it cannot be seen.
    pub(super) fn if_unseen(&mut self, unseen: Unseen) {
        self.unseen = unseen;
    }

    /// Whether the caller may change anything: sessions may not command sessions.
    ///
    /// # Errors
    /// If it may not.
    pub async fn may_command(&self) -> Result<(), Refusal> {
        match self.inner.verdict.get_or_init(|| self.look()).await {
            Verdict::Outside => Ok(()),
            Verdict::Session => Err(Refusal::FromSession),
            Verdict::Unknown if self.unseen == Unseen::Allowed => Ok(()),
            Verdict::Unknown => Err(Refusal::Unseen),
        }
    }

    async fn look(&self) -> Verdict {
        match self.inner.peer {
            Peer::Tcp { theirs, .. } if !is_here(theirs.ip()) => Verdict::Outside,
            Peer::Tcp { theirs, ours } => self.inner.lookout.look().await.judge(theirs, ours),
            Peer::Unix { .. } => Verdict::Unknown,
        }
    }
}

/// The address is one of this machine: only then can it be bound.
fn is_here(ip: std::net::IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

/// Looks at the processes of this machine, for all who want to know.
#[derive(Clone, Default)]
pub struct Lookout(Arc<Mutex<Option<Seen>>>);

struct Seen {
    since: Instant,
    view: Arc<View>,
}

/// What was there to see.
struct View {
    sockets: SessionSockets,
    connections: TcpConnections,
}

impl Lookout {
    /// A look that begins after this moment. Those who wait for one that began earlier share the next.
    async fn look(&self) -> Arc<View> {
        let asked = Instant::now();
        let mut seen = self.0.lock().await;
        match &*seen {
            Some(seen) if seen.since >= asked => seen.view.clone(),
            _ => {
                let since = Instant::now();
                let view = Arc::new(spawn_blocking(View::now).await.unwrap_or_else(|_| View::blind()));
                *seen = Some(Seen { since, view: view.clone() });
                view
            }
        }
    }
}

impl View {
    fn now() -> Self {
        // Before the connections, too: a caller that ends after they were listed is not seen any more.
        let had_other_users_inside = !is_root() && has_other_users_inside().unwrap_or(true);
        // Connections first: a socket that is handed on in between is then not seen outside.
        let connections = TcpConnections::read();
        let mut sockets = scan_session_sockets().unwrap_or_default();
        sockets.has_other_users_inside |= had_other_users_inside;
        Self { connections, sockets }
    }

    /// Nothing can be seen, so no caller is seen outside.
    fn blind() -> Self {
        Self { sockets: SessionSockets::default(), connections: TcpConnections::default() }
    }

    fn judge(&self, theirs: std::net::SocketAddr, ours: std::net::SocketAddr) -> Verdict {
        // A socket that nobody holds any more was held by somebody when it asked.
        let Some((socket, inode)) = self.connections.find(theirs, ours).and_then(|found| Some((found, found.inode?)))
        else {
            return Verdict::Unknown;
        };
        // Files of other users cannot be looked at, but agents run as we do, unless they have become another user.
        let is_anothers = !is_root() && !socket.is_own_users() && !self.sockets.has_other_users_inside;
        if self.sockets.inside.contains(&inode) {
            Verdict::Session
        } else if self.sockets.outside.contains(&inode) || is_anothers {
            Verdict::Outside
        } else {
            Verdict::Unknown
        }
    }
}
