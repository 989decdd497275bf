//! Addresses of servers: a host and a port, with or without TLS, or a Unix socket.

use std::fs::File;
use std::net::IpAddr;
use std::os::fd::AsRawFd as _;
use std::path::{Path, PathBuf};
use std::{fmt, io};

use futures_util::future::BoxFuture;
use hyper::Uri;
use thiserror::Error;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpStream, UnixStream};

/// A byte stream to a server, TCP or Unix.
pub trait ServerConnection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ServerConnection for T {}

/// Opens connections to servers that this machine cannot reach by their address.
pub trait ServerConnector: fmt::Debug + Send + Sync {
    /// Connects to `HOST:PORT`.
    fn connect<'a>(&'a self, host_and_port: &'a str) -> BoxFuture<'a, io::Result<Box<dyn ServerConnection>>>;
}

/// The address of a server.
#[derive(Clone, PartialEq, Eq)]
pub struct ServerAddress {
    endpoint: ServerEndpoint,
    /// The prefix of every path, for a server behind a proxy.
    prefix: String,
}

#[derive(Clone, PartialEq, Eq)]
enum ServerEndpoint {
    /// Host and port.
    Tcp(String),
    /// Host and port of a server with TLS.
    Tls(String),
    /// The path of a Unix socket.
    Unix(PathBuf),
}

/// The reason why a text is not a usable address.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// The text is not an address.
    #[error(
        "`{0}` is not the address of a server\nhint: addresses look like http://127.0.0.1:8080, \
         https://board.example or unix:/path"
    )]
    Unknown(String),
    /// The server is not on this machine.
    #[error("`{0}` is not the address of a server on this machine")]
    Elsewhere(String),
}

impl ServerAddress {
    /// Parses `http://HOST:PORT/PREFIX`, `https://…`, `ws://…`, `wss://…`, `HOST:PORT` or `unix:/path`. A query is
    /// ignored.
    ///
    /// # Errors
    /// Fails if it is none of these.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::from_socket_path(path));
        }
        let unknown = || AddressError::Unknown(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| unknown())?;
        let (default_port, has_tls) = match uri.scheme_str() {
            Some("https" | "wss") => (Some(443), true),
            Some("http" | "ws") => (Some(80), false),
            None => (None, false),
            Some(_) => return Err(unknown()),
        };
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(unknown)?;
        let port = authority.port_u16().or(default_port).ok_or_else(unknown)?;
        let prefix = uri.path().trim_end_matches('/').to_owned();
        let endpoint = format!("{}:{port}", authority.host());
        let endpoint = if has_tls { ServerEndpoint::Tls(endpoint) } else { ServerEndpoint::Tcp(endpoint) };
        Ok(Self { endpoint, prefix })
    }

    /// Creates the address of a Unix socket.
    #[must_use]
    pub fn from_socket_path(path: impl Into<PathBuf>) -> Self {
        Self { endpoint: ServerEndpoint::Unix(path.into()), prefix: String::new() }
    }

    /// Parses `http://HOST:PORT` of this machine: for an address that the user did not give, because secrets are sent
    /// to it.
    ///
    /// # Errors
    /// Fails if it is on another machine or has a path or query.
    pub fn parse_local(text: &str) -> Result<Self, AddressError> {
        let here = |address: &Self| match &address.endpoint {
            ServerEndpoint::Unix(_) => true,
            ServerEndpoint::Tls(_) => false,
            ServerEndpoint::Tcp(_) => address.prefix.is_empty() && address.is_loopback(),
        };
        let plain = text.starts_with("http://") && !text.contains('?');
        let address = Self::parse(text).ok().filter(here).filter(|_| plain);
        address.ok_or_else(|| AddressError::Elsewhere(text.to_owned()))
    }

    /// Returns whether only this machine can listen on the address.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let host = self.host_name();
        let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        number.map_or(host == "localhost", |ip| ip.is_loopback())
    }

    /// Returns the path of a Unix socket.
    #[must_use]
    pub fn socket_path(&self) -> Option<&Path> {
        match &self.endpoint {
            ServerEndpoint::Unix(path) => Some(path),
            ServerEndpoint::Tcp(_) | ServerEndpoint::Tls(_) => None,
        }
    }

    /// Returns whether connections are encrypted.
    #[must_use]
    pub fn requires_tls(&self) -> bool {
        matches!(self.endpoint, ServerEndpoint::Tls(_))
    }

    /// Returns the host without its port.
    pub(crate) fn host_name(&self) -> &str {
        let host = self.host_header();
        host.rsplit_once(':').map_or(host, |(name, _)| name)
    }

    /// Returns the value of the `Host` header.
    pub(crate) fn host_header(&self) -> &str {
        match &self.endpoint {
            ServerEndpoint::Tcp(endpoint) | ServerEndpoint::Tls(endpoint) => endpoint,
            ServerEndpoint::Unix(_) => "localhost",
        }
    }

    /// Returns a path with the prefix of the server.
    pub(crate) fn request_path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    /// Opens a connection, which is not encrypted yet.
    pub(crate) async fn connect(&self) -> io::Result<Box<dyn ServerConnection>> {
        match &self.endpoint {
            ServerEndpoint::Unix(path) => Ok(Box::new(UnixStream::connect(SocketPath::new(path)?.as_path()).await?)),
            ServerEndpoint::Tcp(endpoint) | ServerEndpoint::Tls(endpoint) => {
                let stream = TcpStream::connect(endpoint).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

impl fmt::Display for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.endpoint {
            ServerEndpoint::Tcp(endpoint) => write!(f, "http://{endpoint}{}", self.prefix),
            ServerEndpoint::Tls(endpoint) => write!(f, "https://{endpoint}{}", self.prefix),
            ServerEndpoint::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Debug for ServerAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Percent-encodes a text for a path or query.
#[must_use]
pub fn percent_encode(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            out.push_str(&format!("%{byte:02X}"));
        }
    }
    out
}

/// The longest path of a socket address, without the terminating byte.
const MAX_SOCKET_PATH_BYTES: usize = 107;

/// A path to a socket that system calls accept. One that is too long goes through an open directory.
#[derive(Debug)]
pub struct SocketPath {
    path: PathBuf,
    /// Kept open as long as the path is used.
    _folder: Option<File>,
}

impl SocketPath {
    /// Makes a path of any length usable.
    ///
    /// # Errors
    /// Fails if the path is too long and its directory cannot be opened.
    pub fn new(path: &Path) -> io::Result<Self> {
        let parts = path.parent().zip(path.file_name()).filter(|_| path.as_os_str().len() > MAX_SOCKET_PATH_BYTES);
        let Some((folder, name)) = parts else { return Ok(Self { path: path.to_owned(), _folder: None }) };
        let folder = File::open(folder)?;
        let path = Path::new("/proc/self/fd").join(folder.as_raw_fd().to_string()).join(name);
        Ok(Self { path, _folder: Some(folder) })
    }

    /// Returns the path to use, valid as long as this value lives.
    #[must_use]
    pub fn as_path(&self) -> &Path {
        &self.path
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::net::{UnixListener, UnixStream};

    use super::{AddressError, ServerAddress, SocketPath};

    #[test]
    fn addresses_as_people_write_them() {
        let check = |text: &str, expected: &str| {
            let read = ServerAddress::parse(text).map(|address| address.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        };
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080");
        check("http://127.0.0.1:8080/?token=secret", "http://127.0.0.1:8080");
        check("http://example.com", "http://example.com:80");
        check("http://example.com/boards/", "http://example.com:80/boards");
        check("ws://example.com:1", "http://example.com:1");
        check("https://example.com/boards/?token=secret", "https://example.com:443/boards");
        check("wss://example.com:1", "https://example.com:1");
        check("localhost:8080", "http://localhost:8080");
        check("http://[::1]:8080", "http://[::1]:8080");
        check("unix:/run/board.sock", "unix:/run/board.sock");
        check("unix:board.sock", "unix:board.sock");
    }

    #[test]
    fn what_is_no_address_is_said() {
        for text in ["", "nowhere", "/path", "unix:", "http://", "http://user@host", "ftp://host", "http://a b"] {
            assert_eq!(ServerAddress::parse(text), Err(AddressError::Unknown(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn only_servers_on_this_machine_are_local() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(
                ServerAddress::parse_local(url).ok().map(|address| address.to_string()).as_deref(),
                expected,
                "{url}"
            );
        };
        check("http://127.0.0.1:4096", Some("http://127.0.0.1:4096"));
        check("http://127.0.0.1:4096/", Some("http://127.0.0.1:4096"));
        check("http://localhost:80", Some("http://localhost:80"));
        check("http://localhost", Some("http://localhost:80"));
        check("http://[::1]:4096", Some("http://[::1]:4096"));
        check("http://10.0.0.1:4096", None);
        check("http://0.0.0.0:4096", None);
        check("http://example.com:80", None);
        check("http://127.0.0.1.example.com", None);
        check("http://127.0.0.1@example.com", None);
        check("http://user@127.0.0.1:1", None);
        check("https://127.0.0.1:4096", None);
        check("http://127.0.0.1:4096/path", None);
        check("unix:/run/board.sock", None);
        check("no address", None);
    }

    #[test]
    fn a_short_path_is_left_alone_and_a_long_one_works() {
        let folder = tempfile::tempdir().unwrap();
        let short = folder.path().join("x.sock");
        assert_eq!(SocketPath::new(&short).unwrap().as_path(), short);
        let deep = folder.path().join("a-folder-with-a-long-name/".repeat(8));
        fs::create_dir_all(&deep).unwrap();
        let long = deep.join("x.sock");
        assert!(UnixListener::bind(&long).is_err());
        let _listener = UnixListener::bind(SocketPath::new(&long).unwrap().as_path()).unwrap();
        UnixStream::connect(SocketPath::new(&long).unwrap().as_path()).unwrap();
        assert!(SocketPath::new(&folder.path().join("missing/".repeat(20)).join("x.sock")).is_err());
    }
}
