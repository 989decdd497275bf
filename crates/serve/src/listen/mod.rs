//! Listening: accepting connections, limiting their number and time, and shutting down in order.
//! [`guard`](crate::guard) is access control, and the router responds.
//!
//! * At the connection limit, the oldest connection without a token is closed for a new one; if all are authenticated,
//!   the new client gets a 503 at once.
//! * Connections with slow handshakes, headers or bodies are closed, and those of clients that do not read their responses.
//! * At shutdown, no connection is accepted, streams are notified by [`Drain`], and requests may finish for a while.

mod accept;
mod listener;
mod slots;
mod stream;
mod tls;

use std::{sync::Arc, time::Duration};

use axum::Router;
use tokio::{sync::watch, task::JoinSet, time::timeout};

use crate::guard::ProcessScanner;
use accept::Acceptor;
use slots::ConnectionSlots;

pub(crate) use accept::ClientKey;
pub use accept::Peer;
pub use listener::{AddressError, ListenAddress, ListenError, Listener};
pub(crate) use slots::SlotHandle;
pub use tls::{CertificateError, CertificateFiles, ServerTls};

#[derive(Clone, Copy, Debug)]
pub struct ConnectionLimits {
    /// The maximum number of connections. At the limit, anonymous connections are closed; further clients get a 503.
    pub max_connections: u32,
    /// The maximum time for the header of a request, also while a connection is kept alive.
    pub header_timeout: Duration,
    pub max_header_bytes: usize,
    /// The maximum time for the handshake of a connection with TLS.
    pub handshake_timeout: Duration,
    /// How long a client may read nothing while there is data for it.
    pub write_timeout: Duration,
}

impl Default for ConnectionLimits {
    fn default() -> Self {
        Self {
            max_connections: 4096,
            header_timeout: Duration::from_secs(30),
            max_header_bytes: 32 << 10,
            handshake_timeout: Duration::from_secs(10),
            write_timeout: Duration::from_secs(120),
        }
    }
}

pub struct HttpServer {
    limits: ConnectionLimits,
    slots: Arc<ConnectionSlots>,
    drain: Drain,
    scanner: ProcessScanner,
    tls: Option<ServerTls>,
    accepting: JoinSet<()>,
}

impl HttpServer {
    #[must_use]
    pub fn new(limits: ConnectionLimits, drain: Drain) -> Self {
        let slots = ConnectionSlots::new(limits.max_connections);
        Self { limits, slots, drain, scanner: ProcessScanner::default(), tls: None, accepting: JoinSet::new() }
    }

    /// Encrypts the connections of TCP listeners. Unix sockets stay plain.
    #[must_use]
    pub fn with_tls(self, tls: Option<ServerTls>) -> Self {
        Self { tls, ..self }
    }

    pub fn listen(&mut self, listener: Listener, router: Router) {
        let acceptor = Acceptor {
            router,
            limits: self.limits,
            slots: self.slots.clone(),
            drain: self.drain.clone(),
            scanner: self.scanner.clone(),
            tls: self.tls.clone().filter(|_| listener.tcp_address().is_some()),
        };
        self.accepting.spawn(acceptor.run(listener));
    }

    /// Stops accepting connections, and removes socket files.
    pub async fn stop(&mut self) {
        self.accepting.shutdown().await;
    }

    /// Waits until all connections have ended by themselves; returns whether they have.
    pub async fn wait_until_idle(&self, within: Duration) -> bool {
        timeout(within, self.slots.drained()).await.is_ok()
    }

    /// Asks all connections to end and waits for that; returns whether they have.
    pub async fn close(mut self, within: Duration) -> bool {
        self.stop().await;
        self.drain.begin();
        self.wait_until_idle(within).await
    }
}

/// Signals that the server is shutting down.
#[derive(Clone, Debug)]
pub struct Drain(Arc<watch::Sender<bool>>);

impl Drain {
    /// The reason that closed streams report.
    pub const REASON: &'static str = "the server is shutting down";

    #[must_use]
    pub fn new() -> Self {
        Self(Arc::new(watch::Sender::new(false)))
    }

    /// Begins the shutdown.
    pub fn begin(&self) {
        self.0.send_replace(true);
    }

    #[must_use]
    pub fn is_begun(&self) -> bool {
        *self.0.borrow()
    }

    /// Waits until the shutdown begins. May be dropped and called again.
    pub async fn wait_until_begun(&self) {
        // The sender lives in `self`, so this does not fail.
        drop(self.0.subscribe().wait_for(|begun| *begun).await);
    }
}

impl Default for Drain {
    fn default() -> Self {
        Self::new()
    }
}
