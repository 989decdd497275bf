//! Taking an address. What is in the way is named, with what can be done about it.

use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

use super::{Address, unix};

/// How many connections may wait to be accepted.
const WAITING: u32 = 1024;

/// An address that we have.
#[derive(Debug)]
pub enum Listener {
    /// A port.
    Tcp(TcpListener, SocketAddr),
    /// A socket in the file system.
    Unix(UnixListener, unix::SocketFile),
}

/// Why an address could not be had.
#[derive(Debug, Error)]
pub enum ListenError {
    /// Another program has it.
    #[error("cannot listen at {0}: another program does already")]
    InUse(String),
    /// The system does not let us.
    #[error("cannot listen at {0}: not permitted")]
    Forbidden(String),
    /// There is something that is no socket.
    #[error("cannot listen at {}: there is something else with that name", .0.display())]
    NotASocket(PathBuf),
    /// The address is not one of this machine, say.
    #[error("cannot listen at {0}: {1}")]
    Other(String, io::Error),
}

impl ListenError {
    /// What a person can do about it.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InUse(_) => "is Switchboard running already? Choose another with --listen; port 0 takes a free one",
            Self::Forbidden(_) => "ports below 1024 and folders of others need rights; choose another with --listen",
            Self::NotASocket(_) => "name another path, or move away what is there",
            Self::Other(..) => "name an address of this machine, with --listen",
        }
    }

    pub(super) fn new(place: &impl ToString, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(place.to_string()),
            io::ErrorKind::PermissionDenied => Self::Forbidden(place.to_string()),
            _ => Self::Other(place.to_string(), error),
        }
    }
}

impl Listener {
    /// Takes an address; all of them, where it is a name that stands for several.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn bind(address: &Address) -> Result<Vec<Self>, ListenError> {
        match address {
            Address::Tcp(addresses) => addresses.iter().map(|address| tcp(*address)).collect(),
            Address::Unix(path) => Ok(vec![Self::unix(path)?]),
        }
    }

    /// Takes a path in the file system.
    ///
    /// # Errors
    /// If it cannot be had.
    pub fn unix(path: &Path) -> Result<Self, ListenError> {
        let (listener, file) = unix::bind(path)?;
        Ok(Self::Unix(listener, file))
    }

    /// The address of a TCP listener.
    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(_, address) => Some(*address),
            Self::Unix(..) => None,
        }
    }

    /// What it really is: port 0 has become one that was free.
    #[must_use]
    pub fn address(&self) -> Address {
        match self {
            Self::Tcp(_, address) => Address::Tcp(vec![*address]),
            Self::Unix(_, file) => Address::Unix(file.path().to_owned()),
        }
    }
}

fn tcp(address: SocketAddr) -> Result<Listener, ListenError> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Else a restart would have to wait for connections that were closed a minute ago.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(WAITING)?;
        let address = listener.local_addr()?;
        Ok(Listener::Tcp(listener, address))
    };
    bind().map_err(|error| ListenError::new(&address, error))
}
