//! Accepts connections and serves HTTP/1.1 on them. Accepting never stops, whatever a client or the system does.

use std::{
    io,
    net::{IpAddr, Ipv6Addr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use axum::{Router, body::Body};
use hyper::{Request, body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    sync::{Notify, Semaphore},
    time::{sleep, timeout},
};
use tower::ServiceExt as _;

use super::{
    ConnectionLimits, Drain, Listener, SlotHandle,
    slots::{ConnectionSlot, ConnectionSlots},
    stream::{ClientStream, SocketStream},
    tls::ServerTls,
};
use crate::guard::{Caller, ProcessScanner};

/// The pause after a system error, such as too many open files.
const ERROR_PAUSE: Duration = Duration::from_millis(50);

/// The time without data after which TCP checks that a client is still there.
const KEEP_ALIVE_INTERVAL: Duration = Duration::from_secs(60);

/// The maximum number of refused clients that are waited for, so that they receive the reason.
const MAX_PENDING_REFUSALS: usize = 64;

/// The maximum buffer of a connection in each direction.
const MAX_BUFFER_BYTES: usize = 32 << 10;

const FULL_RESPONSE: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 147\r\n\r\n\
{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"code\":\"too_many_connections\",\
\"detail\":\"too many connections are open; try again\"}";

/// Accepts the connections of one address.
pub struct Acceptor {
    pub router: Router,
    pub limits: ConnectionLimits,
    pub slots: Arc<ConnectionSlots>,
    pub drain: Drain,
    pub scanner: ProcessScanner,
    pub tls: Option<ServerTls>,
}

impl Acceptor {
    /// Runs until it is aborted.
    pub async fn run(self, listener: Listener) {
        let refusals = Arc::new(Semaphore::new(MAX_PENDING_REFUSALS));
        loop {
            let (stream, peer) = match accept_connection(&listener).await {
                Ok(Some(accepted)) => accepted,
                // The client has disconnected already.
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    sleep(ERROR_PAUSE).await;
                    continue;
                }
            };
            match self.slots.acquire() {
                Some(slot) => {
                    let connection = self.connection(peer, &slot);
                    tokio::spawn(connection.serve(stream, self.tls.clone(), slot));
                }
                None => refuse_connection(stream, self.tls.clone(), &refusals),
            }
        }
    }

    fn connection(&self, peer: Peer, slot: &ConnectionSlot) -> HttpConnection {
        let (router, scanner, drain) = (self.router.clone(), self.scanner.clone(), self.drain.clone());
        let (slot, eviction) = (slot.handle(), slot.eviction());
        HttpConnection { router, peer, scanner, limits: self.limits, drain, slot, eviction }
    }
}

async fn accept_connection(listener: &Listener) -> io::Result<Option<(SocketStream, Peer)>> {
    match listener {
        Listener::Tcp(listener, _) => {
            let (stream, theirs) = listener.accept().await?;
            let ours = configure_stream(&stream).ok();
            Ok(ours.map(|ours| (SocketStream::Tcp(stream), Peer::tcp(theirs, ours))))
        }
        Listener::Unix(listener, _) => {
            let (stream, _) = listener.accept().await?;
            let peer = unix_peer(&stream).ok();
            Ok(peer.map(|peer| (SocketStream::Unix(stream), peer)))
        }
    }
}

/// Disables the delay of small packets, which would otherwise wait up to 40 ms for an acknowledgement.
fn configure_stream(stream: &TcpStream) -> io::Result<SocketAddr> {
    stream.set_nodelay(true)?;
    set_socket_keepalive(stream, true)?;
    set_tcp_keepidle(stream, KEEP_ALIVE_INTERVAL)?;
    set_tcp_keepintvl(stream, KEEP_ALIVE_INTERVAL / 4)?;
    stream.local_addr()
}

fn unix_peer(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = stream.peer_cred()?;
    // The PID is 0 for a process in another namespace.
    let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
    Ok(Peer::Unix { uid: credentials.uid(), pid })
}

/// Responds that the server is full. Closing while the client still sends would discard the response, so its data is
/// read for a moment, unless there are many such clients.
fn refuse_connection(stream: SocketStream, tls: Option<ServerTls>, refusals: &Arc<Semaphore>) {
    let Ok(permit) = refusals.clone().try_acquire_owned() else { return };
    tokio::spawn(async move {
        let response = async {
            let mut stream = ClientStream::new(encrypt(stream, tls).await?, ERROR_PAUSE, permit);
            stream.write_all(FULL_RESPONSE).await?;
            stream.shutdown().await?;
            let mut discarded = [0; 1024];
            while stream.read(&mut discarded).await? > 0 {}
            io::Result::Ok(())
        };
        // The client may not have received it; that was the only attempt.
        drop(timeout(10 * ERROR_PAUSE, response).await);
    });
}

/// Performs the handshake if the connection is one with TLS.
async fn encrypt(stream: SocketStream, tls: Option<ServerTls>) -> io::Result<SocketStream> {
    match (stream, tls) {
        // In a box, so that it takes no memory once it is done.
        (SocketStream::Tcp(stream), Some(tls)) => Box::pin(tls.accept(stream)).await.map(SocketStream::Tls),
        (stream, _) => Ok(stream),
    }
}

struct HttpConnection {
    pub router: Router,
    pub peer: Peer,
    pub scanner: ProcessScanner,
    pub limits: ConnectionLimits,
    pub drain: Drain,
    pub slot: SlotHandle,
    /// Signals that another connection took the slot.
    pub eviction: Arc<Notify>,
}

impl HttpConnection {
    /// Serves the connection until it ends. Its errors affect no other connection.
    pub async fn serve(self, stream: SocketStream, tls: Option<ServerTls>, held: ConnectionSlot) {
        let Self { router, peer, scanner, limits, drain, slot, eviction } = self;
        let stream = tokio::select! {
            biased;
            encrypted = timeout(limits.handshake_timeout, encrypt(stream, tls)) => match encrypted {
                Ok(Ok(stream)) => ClientStream::new(stream, limits.write_timeout, held),
                // The client does not speak TLS, does not accept the certificate, or is too slow.
                Ok(Err(_)) | Err(_) => return,
            },
            () = eviction.notified() => return,
            () = drain.wait_until_begun() => return,
        };
        let caller = Caller::new(peer, scanner);
        let service = service_fn(move |request: Request<Incoming>| {
            let mut request = request.map(Body::new);
            request.extensions_mut().insert(peer);
            request.extensions_mut().insert(caller.clone());
            request.extensions_mut().insert(slot.clone());
            router.clone().oneshot(request)
        });
        let mut http = http1::Builder::new();
        http.timer(TokioTimer::new())
            .header_read_timeout(limits.header_timeout)
            .max_header_size(limits.max_header_bytes);
        http.max_buf_size(MAX_BUFFER_BYTES.max(limits.max_header_bytes));
        let mut connection = pin!(http.serve_connection(TokioIo::new(stream), service).with_upgrades());
        tokio::select! {
            ended = connection.as_mut() => return drop(ended),
            () = eviction.notified() => return,
            () = drain.wait_until_begun() => connection.as_mut().graceful_shutdown(),
        }
        drop(connection.await);
    }
}

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    Tcp {
        theirs: SocketAddr,
        ours: SocketAddr,
    },
    Unix {
        uid: u32,
        /// The process that connected, if it is visible.
        pid: Option<u32>,
    },
}

/// The key of a client for rate limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ClientKey {
    /// A machine; for IPv6 a network, since one machine has billions of addresses.
    Address(IpAddr),
    /// A user of this machine.
    User(u32),
    /// All others, when there are too many to count separately.
    Others,
}

impl Peer {
    pub(crate) fn tcp(theirs: SocketAddr, ours: SocketAddr) -> Self {
        Self::Tcp { theirs: to_canonical(theirs), ours: to_canonical(ours) }
    }

    pub(crate) fn client(&self) -> ClientKey {
        match self {
            Self::Unix { uid, .. } => ClientKey::User(*uid),
            Self::Tcp { theirs, .. } => ClientKey::Address(match theirs.ip() {
                IpAddr::V6(ip) if !ip.is_loopback() => {
                    let [a, b, c, d, ..] = ip.segments();
                    Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
                }
                ip => ip,
            }),
        }
    }
}

/// A dual-stack socket reports IPv4 addresses in the form of IPv6.
fn to_canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::{FULL_RESPONSE, configure_stream};

    #[tokio::test]
    async fn packets_are_not_delayed_on_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (served, _) = listener.accept().await.unwrap();
        assert!(!served.nodelay().unwrap());
        assert_eq!(configure_stream(&served).unwrap(), client.peer_addr().unwrap());
        assert!(served.nodelay().unwrap());
    }

    #[test]
    fn the_refusal_has_the_declared_length() {
        let text = std::str::from_utf8(FULL_RESPONSE).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["status"], 503);
    }
}
