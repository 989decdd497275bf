//! Who is at the other end of a connection, as far as the system says.

use std::net::{IpAddr, Ipv6Addr, SocketAddr};

/// The other end of a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// Over the network, or over the loopback.
    Tcp {
        /// Theirs.
        theirs: SocketAddr,
        /// Ours.
        ours: SocketAddr,
    },
    /// Over a socket in the file system.
    Unix {
        /// The user.
        uid: u32,
        /// The process that connected, if we can see it.
        pid: Option<u32>,
    },
}

/// A client, as far as limits go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Client {
    /// A machine; for IPv6 a network, since one machine has billions of addresses.
    Address(IpAddr),
    /// A user of this machine.
    User(u32),
    /// All others, when there are too many to keep apart.
    Crowd,
}

impl Peer {
    pub(crate) fn tcp(theirs: SocketAddr, ours: SocketAddr) -> Self {
        Self::Tcp { theirs: canonical(theirs), ours: canonical(ours) }
    }

    pub(crate) fn client(&self) -> Client {
        match self {
            Self::Unix { uid, .. } => Client::User(*uid),
            Self::Tcp { theirs, .. } => Client::Address(match theirs.ip() {
                IpAddr::V6(ip) if !ip.is_loopback() => {
                    let [a, b, c, d, ..] = ip.segments();
                    Ipv6Addr::new(a, b, c, d, 0, 0, 0, 0).into()
                }
                ip => ip,
            }),
        }
    }
}

/// A socket for both families says IPv4 addresses in the form of IPv6.
fn canonical(address: SocketAddr) -> SocketAddr {
    SocketAddr::new(address.ip().to_canonical(), address.port())
}
