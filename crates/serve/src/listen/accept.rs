//! Accepting connections. It never stops, whatever a client or the system does.

use std::{io, sync::Arc, time::Duration};

use axum::Router;
use rustix::net::sockopt::{set_socket_keepalive, set_tcp_keepidle, set_tcp_keepintvl};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpStream, UnixStream},
    sync::Semaphore,
    time::{sleep, timeout},
};

use super::{
    Drain, Limits, Listener, Peer,
    connection::Connection,
    slots::{ConnectionSlot, ConnectionSlots},
    wire::{Stream, Wire},
};
use crate::guard::Lookout;

/// After an error of the system, say that there are too many open files.
const PAUSE: Duration = Duration::from_millis(50);

/// A client that says nothing is asked whether it is still there.
const KEEP_ALIVE: Duration = Duration::from_secs(60);

/// So many who are turned away are waited for, so that they hear why.
const TURNED_AWAY: usize = 64;

const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
content-type: application/problem+json\r\nretry-after: 1\r\nconnection: close\r\ncontent-length: 147\r\n\r\n\
{\"type\":\"about:blank\",\"title\":\"Service Unavailable\",\"status\":503,\"code\":\"too_many_connections\",\
\"detail\":\"too many connections are open; try again\"}";

/// Accepts what comes to one address.
pub struct Acceptor {
    pub router: Router,
    pub limits: Limits,
    pub slots: Arc<ConnectionSlots>,
    pub drain: Drain,
    pub lookout: Lookout,
}

impl Acceptor {
    /// Until it is stopped.
    pub async fn run(self, listener: Listener) {
        let turned_away = Arc::new(Semaphore::new(TURNED_AWAY));
        loop {
            let (stream, peer) = match accept(&listener).await {
                Ok(Some(accepted)) => accepted,
                // It was gone before we looked.
                Ok(None) => continue,
                Err(error) if error.kind() == io::ErrorKind::ConnectionAborted => continue,
                Err(_) => {
                    sleep(PAUSE).await;
                    continue;
                }
            };
            match self.slots.acquire() {
                Some(slot) => {
                    let connection = self.connection(peer, &slot);
                    tokio::spawn(connection.serve(Wire::new(stream, self.limits.stalled, slot)));
                }
                None => turn_away(stream, &turned_away),
            }
        }
    }

    fn connection(&self, peer: Peer, slot: &ConnectionSlot) -> Connection {
        let (router, lookout, drain) = (self.router.clone(), self.lookout.clone(), self.drain.clone());
        let (slot, eviction) = (slot.handle(), slot.eviction());
        Connection { router, peer, lookout, limits: self.limits, drain, slot, eviction }
    }
}

async fn accept(listener: &Listener) -> io::Result<Option<(Stream, Peer)>> {
    match listener {
        Listener::Tcp(listener, _) => {
            let (stream, theirs) = listener.accept().await?;
            let ours = prepare(&stream).ok();
            Ok(ours.map(|ours| (Stream::Tcp(stream), Peer::tcp(theirs, ours))))
        }
        Listener::Unix(listener, _) => {
            let (stream, _) = listener.accept().await?;
            let peer = credentials(&stream).ok();
            Ok(peer.map(|peer| (Stream::Unix(stream), peer)))
        }
    }
}

/// Without delay: else the second of two small messages waits for the first to be acknowledged, 40 ms.
fn prepare(stream: &TcpStream) -> io::Result<std::net::SocketAddr> {
    stream.set_nodelay(true)?;
    set_socket_keepalive(stream, true)?;
    set_tcp_keepidle(stream, KEEP_ALIVE)?;
    set_tcp_keepintvl(stream, KEEP_ALIVE / 4)?;
    stream.local_addr()
}

fn credentials(stream: &UnixStream) -> io::Result<Peer> {
    let credentials = stream.peer_cred()?;
    // The pid is 0 for a process that cannot be seen from here.
    let pid = credentials.pid().and_then(|pid| u32::try_from(pid).ok()).filter(|pid| *pid != 0);
    Ok(Peer::Unix { uid: credentials.uid(), pid })
}

/// Says that there is no room. Who closes at once while the other still speaks takes its own words back, so it is
/// heard for a moment, unless there are many.
fn turn_away(stream: Stream, places: &Arc<Semaphore>) {
    let Ok(place) = places.clone().try_acquire_owned() else { return };
    tokio::spawn(async move {
        let mut wire = Wire::new(stream, PAUSE, place);
        let told = async {
            wire.write_all(FULL).await?;
            wire.shutdown().await?;
            let mut heard = [0; 1024];
            while wire.read(&mut heard).await? > 0 {}
            io::Result::Ok(())
        };
        // Whether it was heard or not, that was all.
        drop(timeout(10 * PAUSE, told).await);
    });
}

#[cfg(test)]
mod tests {
    use tokio::net::{TcpListener, TcpStream};

    use super::{FULL, prepare};

    #[tokio::test]
    async fn nothing_is_held_back_on_a_connection() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
        let (served, _) = listener.accept().await.unwrap();
        assert!(!served.nodelay().unwrap());
        assert_eq!(prepare(&served).unwrap(), client.peer_addr().unwrap());
        assert!(served.nodelay().unwrap());
    }

    #[test]
    fn the_refusal_is_as_long_as_it_says() {
        let text = std::str::from_utf8(FULL).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains(&format!("content-length: {}", body.len())), "{}", body.len());
        assert_eq!(serde_json::from_str::<serde_json::Value>(body).unwrap()["status"], 503);
    }
}
