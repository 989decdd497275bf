//! Addresses to listen at, and binding them: TCP ports, and Unix sockets that only the user can access.

use std::{
    fmt, fs, io,
    net::{SocketAddr, ToSocketAddrs as _},
    os::{
        fd::OwnedFd,
        unix::{fs::FileTypeExt as _, net::UnixStream},
    },
    path::{Path, PathBuf},
    str::FromStr,
};

use rustix::{
    fs::{Mode, fchmod},
    net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, bind as bind_to, listen, socket_with},
};
use switchboard_client::http::SocketPath;
use thiserror::Error;
use tokio::net::{TcpListener, TcpSocket, UnixListener};

/// The maximum number of connections that wait to be accepted.
const TCP_BACKLOG: u32 = 1024;

const UNIX_BACKLOG: i32 = 1024;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ListenAddress {
    /// Addresses and ports of this machine; a name may have several.
    Tcp(Vec<SocketAddr>),
    /// A socket in the file system.
    Unix(PathBuf),
}

#[derive(Debug, Error)]
#[error("invalid address `{given}`: {cause} (examples: 127.0.0.1:8080, [::1]:8080, localhost:8080, 8080, unix:PATH)")]
pub struct AddressError {
    given: String,
    cause: String,
}

impl ListenAddress {
    /// Returns whether only programs on this machine can connect.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(addresses) => addresses.iter().all(|address| address.ip().to_canonical().is_loopback()),
            Self::Unix(_) => true,
        }
    }
}

impl FromStr for ListenAddress {
    type Err = AddressError;

    fn from_str(given: &str) -> Result<Self, AddressError> {
        let bad = |cause: &str| AddressError { given: given.to_owned(), cause: cause.to_owned() };
        if let Some(path) = given.strip_prefix("unix:") {
            return if path.is_empty() { Err(bad("the path is missing")) } else { Ok(Self::Unix(path.into())) };
        }
        if let Ok(port) = given.parse::<u16>() {
            return Ok(Self::Tcp(vec![SocketAddr::from(([127, 0, 0, 1], port))]));
        }
        if let Ok(address) = given.parse() {
            return Ok(Self::Tcp(vec![address]));
        }
        let (_, port) = given.rsplit_once(':').ok_or_else(|| bad("the port is missing"))?;
        port.parse::<u16>().map_err(|_| bad("the port is not a number up to 65535"))?;
        let found: Vec<_> = given.to_socket_addrs().map_err(|error| bad(&error.to_string()))?.collect();
        if found.is_empty() { Err(bad("unknown host name")) } else { Ok(Self::Tcp(found)) }
    }
}

impl fmt::Display for ListenAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix:{}", path.display()),
            Self::Tcp(addresses) => {
                let shown: Vec<_> = addresses.iter().map(ToString::to_string).collect();
                f.write_str(&shown.join(", "))
            }
        }
    }
}

#[derive(Debug)]
pub enum Listener {
    Tcp(TcpListener, SocketAddr),
    Unix(UnixListener, SocketFile),
}

/// Why an address cannot be bound.
#[derive(Debug, Error)]
pub enum ListenError {
    #[error("cannot listen at {0}: the address is in use")]
    InUse(String),
    #[error("cannot listen at {0}: not permitted")]
    Forbidden(String),
    #[error("cannot listen at {}: the file exists and is not a socket", .0.display())]
    NotASocket(PathBuf),
    /// For example, it is not an address of this machine.
    #[error("cannot listen at {0}: {1}")]
    Other(String, io::Error),
}

impl ListenError {
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InUse(_) => {
                "is Switchboard already running? Choose another address with --listen; port 0 selects a free port"
            }
            Self::Forbidden(_) => {
                "ports below 1024 and directories of other users need permission; choose another address with --listen"
            }
            Self::NotASocket(_) => "choose another path, or move the file",
            Self::Other(..) => "choose an address of this machine with --listen",
        }
    }

    pub(super) fn new(address: &impl ToString, error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::AddrInUse => Self::InUse(address.to_string()),
            io::ErrorKind::PermissionDenied => Self::Forbidden(address.to_string()),
            _ => Self::Other(address.to_string(), error),
        }
    }
}

impl Listener {
    /// Binds an address; all of them, if it is a name with several.
    pub fn bind(address: &ListenAddress) -> Result<Vec<Self>, ListenError> {
        match address {
            ListenAddress::Tcp(addresses) => addresses.iter().map(|address| bind_tcp(*address)).collect(),
            ListenAddress::Unix(path) => Ok(vec![Self::unix(path)?]),
        }
    }

    pub fn unix(path: &Path) -> Result<Self, ListenError> {
        let (listener, file) = bind_unix(path)?;
        Ok(Self::Unix(listener, file))
    }

    #[must_use]
    pub fn tcp_address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(_, address) => Some(*address),
            Self::Unix(..) => None,
        }
    }

    /// Returns the bound address: port 0 has become a free one.
    #[must_use]
    pub fn address(&self) -> ListenAddress {
        match self {
            Self::Tcp(_, address) => ListenAddress::Tcp(vec![*address]),
            Self::Unix(_, file) => ListenAddress::Unix(file.path().to_owned()),
        }
    }
}

fn bind_tcp(address: SocketAddr) -> Result<Listener, ListenError> {
    let bind = || {
        let socket = if address.is_ipv4() { TcpSocket::new_v4() } else { TcpSocket::new_v6() }?;
        // Otherwise a restart would have to wait for recently closed connections.
        socket.set_reuseaddr(true)?;
        socket.bind(address)?;
        let listener = socket.listen(TCP_BACKLOG)?;
        let address = listener.local_addr()?;
        Ok(Listener::Tcp(listener, address))
    };
    bind().map_err(|error| ListenError::new(&address, error))
}

/// The file of a socket, removed on drop.
#[derive(Debug)]
pub struct SocketFile(PathBuf);

impl SocketFile {
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If removing fails, the next process at this path finds that nothing listens.
        drop(fs::remove_file(&self.0));
    }
}

/// Binds a Unix socket of any path length. Replaces the file of a dead process.
fn bind_unix(path: &Path) -> Result<(UnixListener, SocketFile), ListenError> {
    let failed = |error: io::Error| ListenError::new(&format!("unix:{}", path.display()), error);
    let path = std::path::absolute(path).map_err(failed)?;
    remove_stale_socket(&path)?;
    let listener =
        create_private_socket(&path).and_then(|socket| UnixListener::from_std(socket.into())).map_err(failed)?;
    Ok((listener, SocketFile(path)))
}

/// Removes a socket on which no process listens.
fn remove_stale_socket(path: &Path) -> Result<(), ListenError> {
    let address = || format!("unix:{}", path.display());
    let failed = |error: io::Error| ListenError::new(&address(), error);
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(()) };
    if !found.file_type().is_socket() {
        return Err(ListenError::NotASocket(path.to_owned()));
    }
    let socket_path = SocketPath::new(path).map_err(failed)?;
    match UnixStream::connect(socket_path.as_path()) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path).map_err(failed),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed(error)),
        Ok(_) => Err(ListenError::InUse(address())),
    }
}

fn create_private_socket(path: &Path) -> io::Result<OwnedFd> {
    let socket_path = SocketPath::new(path)?;
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    // Before the socket is bound, so that others can never connect.
    fchmod(&socket, Mode::RUSR | Mode::WUSR)?;
    bind_to(&socket, &SocketAddrUnix::new(socket_path.as_path())?)?;
    listen(&socket, UNIX_BACKLOG)?;
    Ok(socket)
}

#[cfg(test)]
mod tests {
    use super::ListenAddress;

    fn parsed(text: &str) -> Result<String, String> {
        text.parse().map(|address: ListenAddress| address.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn addresses_are_parsed() {
        assert_eq!(parsed("8080").unwrap(), "127.0.0.1:8080");
        assert_eq!(parsed("[::1]:80").unwrap(), "[::1]:80");
        assert_eq!(parsed("unix:/run/x.sock").unwrap(), "unix:/run/x.sock");
        assert!(parsed("localhost:9").unwrap().contains("127.0.0.1:9"));
        for wrong in ["", "unix:", "127.0.0.1", "127.0.0.1:99999", "1.2.3.4:x"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn local_addresses_are_recognized() {
        let is_local = |text: &str| text.parse::<ListenAddress>().unwrap().is_local();
        assert!(
            is_local("127.9.9.9:1") && is_local("[::1]:1") && is_local("[::ffff:127.0.0.1]:1") && is_local("unix:x")
        );
        assert!(!is_local("0.0.0.0:1") && !is_local("[::]:1") && !is_local("192.168.0.1:1"));
    }
}
