//! All that listens in this process, and its end.

use std::{sync::Arc, time::Duration};

use axum::Router;
use tokio::{task::JoinSet, time::timeout};

use super::{Drain, Listener, accept::Acceptor, slots::ConnectionSlots};
use crate::guard::Lookout;

/// How much is given to connections.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum simultaneous connections. At the limit, anonymous connections make room; further clients get a 503.
    pub connections: u32,
    /// The head of a request must come within this time, the next request on a connection that is kept, too.
    pub head: Duration,
    /// The head has at most so many bytes.
    pub head_bytes: usize,
    /// A client that reads nothing for so long, while there is something to read, is gone.
    pub stalled: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 4096,
            head: Duration::from_secs(30),
            head_bytes: 32 << 10,
            stalled: Duration::from_secs(120),
        }
    }
}

/// Serves routers at any number of addresses.
pub struct Server {
    limits: Limits,
    slots: Arc<ConnectionSlots>,
    drain: Drain,
    lookout: Lookout,
    accepting: JoinSet<()>,
}

impl Server {
    /// A server that listens nowhere yet.
    #[must_use]
    pub fn new(limits: Limits, drain: Drain) -> Self {
        let slots = ConnectionSlots::new(limits.connections);
        Self { limits, slots, drain, lookout: Lookout::default(), accepting: JoinSet::new() }
    }

    /// Serves a router at an address, from now on.
    pub fn listen(&mut self, listener: Listener, router: Router) {
        let acceptor = Acceptor {
            router,
            limits: self.limits,
            slots: self.slots.clone(),
            drain: self.drain.clone(),
            lookout: self.lookout.clone(),
        };
        self.accepting.spawn(acceptor.run(listener));
    }

    /// Stops listening: nothing new is accepted, and sockets are gone from the file system.
    pub async fn stop(&mut self) {
        self.accepting.shutdown().await;
    }

    /// Waits until all connections have ended by themselves, for so long at most. Says whether they have.
    pub async fn idle(&self, within: Duration) -> bool {
        timeout(within, self.slots.drained()).await.is_ok()
    }

    /// Tells everybody to come to an end, and waits until all connections have, for so long at most. Says whether they
    /// have.
    pub async fn close(mut self, within: Duration) -> bool {
        self.stop().await;
        self.drain.begin();
        self.idle(within).await
    }
}
