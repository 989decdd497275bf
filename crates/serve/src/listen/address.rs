//! Where to listen, as people write it.

use std::{
    fmt,
    net::{SocketAddr, ToSocketAddrs as _},
    path::PathBuf,
    str::FromStr,
};

use thiserror::Error;

/// A place to listen at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// An address and a port of this machine. A name may stand for several.
    Tcp(Vec<SocketAddr>),
    /// A socket in the file system.
    Unix(PathBuf),
}

/// That is no place to listen at.
#[derive(Debug, Error)]
#[error("`{given}` is no address: {cause} (say 127.0.0.1:8080, [::1]:8080, localhost:8080, 8080 or unix:PATH)")]
pub struct BadAddress {
    given: String,
    cause: String,
}

impl Address {
    /// Only programs on this machine can reach it.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Self::Tcp(addresses) => addresses.iter().all(|address| address.ip().to_canonical().is_loopback()),
            Self::Unix(_) => true,
        }
    }
}

impl FromStr for Address {
    type Err = BadAddress;

    fn from_str(given: &str) -> Result<Self, BadAddress> {
        let bad = |cause: &str| BadAddress { given: given.to_owned(), cause: cause.to_owned() };
        if let Some(path) = given.strip_prefix("unix:") {
            return if path.is_empty() { Err(bad("no path is named")) } else { Ok(Self::Unix(path.into())) };
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
        if found.is_empty() { Err(bad("the name is not known")) } else { Ok(Self::Tcp(found)) }
    }
}

impl fmt::Display for Address {
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

#[cfg(test)]
mod tests {
    use super::Address;

    fn parsed(text: &str) -> Result<String, String> {
        text.parse().map(|address: Address| address.to_string()).map_err(|error| error.to_string())
    }

    #[test]
    fn an_address_is_what_people_write() {
        assert_eq!(parsed("8080").unwrap(), "127.0.0.1:8080");
        assert_eq!(parsed("[::1]:80").unwrap(), "[::1]:80");
        assert_eq!(parsed("unix:/run/x.sock").unwrap(), "unix:/run/x.sock");
        assert!(parsed("localhost:9").unwrap().contains("127.0.0.1:9"));
        for wrong in ["", "unix:", "127.0.0.1", "127.0.0.1:99999", "1.2.3.4:x"] {
            assert!(parsed(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_leaves_the_machine_is_known() {
        let is_local = |text: &str| text.parse::<Address>().unwrap().is_local();
        assert!(
            is_local("127.9.9.9:1") && is_local("[::1]:1") && is_local("[::ffff:127.0.0.1]:1") && is_local("unix:x")
        );
        assert!(!is_local("0.0.0.0:1") && !is_local("[::]:1") && !is_local("192.168.0.1:1"));
    }
}
