//! The network of a confined session, from outside: listeners that were created in it, and sockets that connect to
//! servers in it. A socket belongs to the network in which it was created, not to the process that uses it.

use std::{
    io,
    net::{SocketAddr, TcpStream as StdTcpStream},
    os::{fd::OwnedFd, unix::net::UnixStream as StdUnixStream},
    sync::Arc,
    time::Duration,
};

use tokio::{
    io::Interest,
    net::{TcpListener, TcpSocket, TcpStream, UnixStream},
    sync::Mutex,
    time::timeout,
};

use super::{IsolatedNetwork, hidden::IPV6_SOCKET_REQUEST, protocol::receive_file};

/// The timeout for receiving a socket of the session's network, and for connecting it.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

#[derive(Debug)]
pub struct SessionNetwork {
    /// The listeners inside of it, with their addresses there.
    pub listeners: Vec<(SocketAddr, TcpListener)>,
    /// Opens connections inside of it.
    pub connector: SessionConnector,
}

#[derive(Clone, Debug)]
pub struct SessionConnector(Arc<Mutex<Option<UnixStream>>>);

impl SessionNetwork {
    /// Receives the listeners that the first process of the session has sent.
    pub(super) fn new(channel: StdUnixStream, network: &IsolatedNetwork) -> io::Result<Self> {
        channel.set_read_timeout(Some(CONNECT_TIMEOUT))?;
        let mut listeners = Vec::with_capacity(network.listeners.len());
        for address in &network.listeners {
            if let Some(listener) = receive_file(&channel)? {
                let listener = std::net::TcpListener::from(listener);
                listener.set_nonblocking(true)?;
                listeners.push((*address, TcpListener::from_std(listener)?));
            }
        }
        channel.set_nonblocking(true)?;
        let channel = UnixStream::from_std(channel)?;
        Ok(Self { listeners, connector: SessionConnector(Arc::new(Mutex::new(Some(channel)))) })
    }
}

impl SessionConnector {
    pub async fn connect(&self, address: SocketAddr) -> io::Result<TcpStream> {
        // Not on this task, which may be dropped in between: the next request would receive the socket of this one.
        let socket = tokio::spawn(receive_socket(self.0.clone(), address.is_ipv6())).await.map_err(io::Error::other)?;
        let socket = StdTcpStream::from(socket?);
        socket.set_nonblocking(true)?;
        let connected = timeout(CONNECT_TIMEOUT, TcpSocket::from_std_stream(socket).connect(address)).await;
        connected.map_err(|_| io::ErrorKind::TimedOut)?
    }
}

/// Receives a socket of the session's network. After a timeout the channel is closed for good.
async fn receive_socket(channel: Arc<Mutex<Option<UnixStream>>>, is_ipv6: bool) -> io::Result<OwnedFd> {
    let mut channel = channel.lock().await;
    let open = channel.take().ok_or(io::ErrorKind::NotConnected)?;
    let exchange = async {
        let family = [if is_ipv6 { IPV6_SOCKET_REQUEST } else { b'4' }];
        open.async_io(Interest::WRITABLE, || Ok(rustix::io::write(&open, &family)?)).await?;
        open.async_io(Interest::READABLE, || receive_file(&open)).await
    };
    let received = timeout(CONNECT_TIMEOUT, exchange).await.map_err(|_| io::ErrorKind::TimedOut)??;
    *channel = Some(open);
    received.ok_or_else(|| io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
impl SessionConnector {
    pub(crate) fn ended() -> Self {
        Self(Arc::default())
    }
}
