//! One connection: HTTP/1.1 as hyper speaks it, with limits, until it ends or has to.

use std::{pin::pin, sync::Arc};

use axum::{Router, body::Body};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::sync::Notify;
use tower::ServiceExt as _;

use super::{Drain, Limits, Peer, SlotHandle, slots::ConnectionSlot, wire::Wire};
use crate::guard::{Caller, Lookout};

/// How much a connection buffers in each direction.
const BUFFER: usize = 32 << 10;

/// What a connection is served with.
pub struct Connection {
    pub router: Router,
    pub peer: Peer,
    pub lookout: Lookout,
    pub limits: Limits,
    pub drain: Drain,
    pub slot: SlotHandle,
    /// Another connection took the slot.
    pub eviction: Arc<Notify>,
}

impl Connection {
    /// To its end. What goes wrong on it is the client's, and nobody else hears of it.
    pub async fn serve(self, wire: Wire<ConnectionSlot>) {
        let Self { router, peer, lookout, limits, drain, slot, eviction } = self;
        let caller = Caller::new(peer, lookout);
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(caller.clone());
            request.extensions_mut().insert(slot.clone());
            router.clone().oneshot(request)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new()).header_read_timeout(limits.head).max_header_size(limits.head_bytes);
        http.max_buf_size(BUFFER.max(limits.head_bytes));
        let mut connection = pin!(http.serve_connection(TokioIo::new(wire), service).with_upgrades());
        tokio::select! {
            ended = connection.as_mut() => return drop(ended),
            () = eviction.notified() => return,
            () = drain.begun() => connection.as_mut().graceful_shutdown(),
        }
        drop(connection.await);
    }
}
