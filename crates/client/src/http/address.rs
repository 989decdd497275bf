//! Where a server is: a host and a port, or a unix socket. Without TLS, and that is said.

use std::{
    fmt, io,
    net::IpAddr,
    path::{Path, PathBuf},
};

use hyper::Uri;
use thiserror::Error;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpStream, UnixStream},
};

use super::SocketPath;

/// A connection, of whatever kind.
pub trait Connection: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Connection for T {}

/// Where a server is.
#[derive(Clone, PartialEq, Eq)]
pub struct Address {
    place: Place,
    /// What stands before every path, for a server behind a proxy.
    prefix: String,
}

#[derive(Clone, PartialEq, Eq)]
enum Place {
    /// Host and port.
    Tcp(String),
    /// The path of a socket.
    Unix(PathBuf),
}

/// Why a text is no address that we can go to.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum AddressError {
    /// It wants TLS.
    #[error(
        "`{0}` wants TLS, which is not built in\nhint: use http:// on this machine or through a tunnel such as `ssh -L \
         8080:localhost:8080 HOST`"
    )]
    Tls(String),
    /// It is none at all.
    #[error("`{0}` is not the address of a server\nhint: addresses look like http://127.0.0.1:8080 or unix:/path")]
    Unknown(String),
    /// It is not on this machine.
    #[error("`{0}` is not the address of a server on this machine")]
    Elsewhere(String),
}

impl Address {
    /// Reads `http://HOST:PORT/PREFIX`, `ws://…`, `HOST:PORT` or `unix:/path`. A query is left out.
    ///
    /// # Errors
    /// If it is none of these, or wants TLS.
    pub fn parse(text: &str) -> Result<Self, AddressError> {
        if let Some(path) = text.strip_prefix("unix:").filter(|path| !path.is_empty()) {
            return Ok(Self::unix(path));
        }
        let unknown = || AddressError::Unknown(text.to_owned());
        let uri: Uri = text.parse().map_err(|_| unknown())?;
        match uri.scheme_str() {
            Some("https" | "wss") => return Err(AddressError::Tls(text.to_owned())),
            Some("http" | "ws") | None => {}
            Some(_) => return Err(unknown()),
        }
        let authority = uri.authority().filter(|authority| !authority.as_str().contains('@')).ok_or_else(unknown)?;
        let port = authority.port_u16().or(uri.scheme().map(|_| 80)).ok_or_else(unknown)?;
        let prefix = uri.path().trim_end_matches('/').to_owned();
        Ok(Self { place: Place::Tcp(format!("{}:{port}", authority.host())), prefix })
    }

    /// A socket in the file system.
    #[must_use]
    pub fn unix(path: impl Into<PathBuf>) -> Self {
        Self { place: Place::Unix(path.into()), prefix: String::new() }
    }

    /// The same, if it is `http://HOST:PORT` of this machine: for an address that was not given by the user, where
    /// secrets would be told to whoever listens.
    ///
    /// # Errors
    /// If it is elsewhere, or anything more.
    pub fn local(text: &str) -> Result<Self, AddressError> {
        let here = |address: &Self| match &address.place {
            Place::Unix(_) => true,
            Place::Tcp(_) => address.prefix.is_empty() && address.is_loopback(),
        };
        let plain = text.starts_with("http://") && !text.contains('?');
        let address = Self::parse(text).ok().filter(here).filter(|_| plain);
        address.ok_or_else(|| AddressError::Elsewhere(text.to_owned()))
    }

    /// Only this machine can listen there.
    #[must_use]
    pub fn is_loopback(&self) -> bool {
        let Place::Tcp(place) = &self.place else { return true };
        let host = place.rsplit_once(':').map_or(place.as_str(), |(host, _)| host);
        let number = host.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
        number.map_or(host == "localhost", |ip| ip.is_loopback())
    }

    /// The socket's path, if it is one.
    #[must_use]
    pub fn socket(&self) -> Option<&Path> {
        match &self.place {
            Place::Unix(path) => Some(path),
            Place::Tcp(_) => None,
        }
    }

    /// The value of the `Host` header.
    pub(crate) fn host(&self) -> &str {
        match &self.place {
            Place::Tcp(place) => place,
            Place::Unix(_) => "localhost",
        }
    }

    /// A path as the server knows it.
    pub(crate) fn path(&self, path: &str) -> String {
        format!("{}{path}", self.prefix)
    }

    pub(crate) async fn connect(&self) -> io::Result<Box<dyn Connection>> {
        match &self.place {
            Place::Unix(path) => Ok(Box::new(UnixStream::connect(SocketPath::new(path)?.path()).await?)),
            Place::Tcp(place) => {
                let stream = TcpStream::connect(place).await?;
                stream.set_nodelay(true)?;
                Ok(Box::new(stream))
            }
        }
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.place {
            Place::Tcp(place) => write!(f, "http://{place}{}", self.prefix),
            Place::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

impl fmt::Debug for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::{Address, AddressError};

    #[test]
    fn addresses_as_people_write_them() {
        let check = |text: &str, expected: &str| {
            let read = Address::parse(text).map(|address| address.to_string());
            assert_eq!(read.as_deref(), Ok(expected), "{text}");
        };
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080");
        check("http://127.0.0.1:8080/?token=secret", "http://127.0.0.1:8080");
        check("http://example.com", "http://example.com:80");
        check("http://example.com/boards/", "http://example.com:80/boards");
        check("ws://example.com:1", "http://example.com:1");
        check("localhost:8080", "http://localhost:8080");
        check("http://[::1]:8080", "http://[::1]:8080");
        check("unix:/run/board.sock", "unix:/run/board.sock");
        check("unix:board.sock", "unix:board.sock");
    }

    #[test]
    fn what_is_no_address_is_said() {
        for text in ["", "nowhere", "/path", "unix:", "http://", "http://user@host", "ftp://host", "http://a b"] {
            assert_eq!(Address::parse(text), Err(AddressError::Unknown(text.to_owned())), "{text}");
        }
        for text in ["https://host", "wss://host:1"] {
            assert_eq!(Address::parse(text), Err(AddressError::Tls(text.to_owned())), "{text}");
        }
    }

    #[test]
    fn only_servers_on_this_machine_are_local() {
        let check = |url: &str, expected: Option<&str>| {
            assert_eq!(Address::local(url).ok().map(|address| address.to_string()).as_deref(), expected, "{url}");
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
}
