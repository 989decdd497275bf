//! The other end of a TCP connection on this machine, as the kernel lists it.

use std::{
    fs,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

/// A socket of a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Socket {
    /// The user who opened it.
    pub uid: u32,
    /// Its number among files; nothing if nobody holds it any more.
    pub inode: Option<u64>,
}

impl Socket {
    /// We opened it, or another process of the same user.
    #[must_use]
    pub fn is_ours(self) -> bool {
        self.uid == rustix::process::geteuid().as_raw()
    }
}

/// All TCP connections of this machine.
#[derive(Debug, Default)]
pub struct Connections(Vec<(SocketAddr, SocketAddr, Socket)>);

impl Connections {
    /// Those of this moment.
    pub fn now() -> Self {
        let tables = ["/proc/self/net/tcp", "/proc/self/net/tcp6"];
        let text = tables.map(|table| fs::read_to_string(table).unwrap_or_default());
        Self(text.iter().flat_map(|text| text.lines().skip(1)).filter_map(row).collect())
    }

    /// The socket that has this address and is connected to that one.
    pub fn find(&self, own: SocketAddr, other: SocketAddr) -> Option<Socket> {
        let wanted = |(from, to, _): &&(SocketAddr, SocketAddr, Socket)| *from == own && *to == other;
        self.0.iter().find(wanted).map(|(_, _, socket)| *socket)
    }
}

/// `sl local remote state queues timer retransmits uid timeout inode …`
fn row(line: &str) -> Option<(SocketAddr, SocketAddr, Socket)> {
    let mut fields = line.split_ascii_whitespace().skip(1);
    let (own, other) = (address(fields.next()?)?, address(fields.next()?)?);
    let uid = fields.nth(4)?.parse().ok()?;
    let inode = fields.nth(1)?.parse().ok().filter(|inode| *inode != 0);
    Some((own, other, Socket { uid, inode }))
}

/// `0100007F:1F90`: words of 32 bits as this machine orders bytes, then the port.
fn address(text: &str) -> Option<SocketAddr> {
    let (ip, port) = text.split_once(':')?;
    let mut bytes = Vec::with_capacity(16);
    for word in ip.as_bytes().chunks(8) {
        let word = u32::from_str_radix(std::str::from_utf8(word).ok()?, 16).ok()?;
        bytes.extend(word.to_ne_bytes());
    }
    let ip = match <[u8; 4]>::try_from(bytes.as_slice()) {
        Ok(four) => IpAddr::V4(Ipv4Addr::from(four)),
        Err(_) => IpAddr::V6(Ipv6Addr::from(<[u8; 16]>::try_from(bytes.as_slice()).ok()?)),
    };
    Some(SocketAddr::new(ip.to_canonical(), u16::from_str_radix(port, 16).ok()?))
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::{Connections, address};

    #[test]
    fn addresses_are_read() {
        let one = u32::from_ne_bytes([127, 0, 0, 1]);
        assert_eq!(address(&format!("{one:08X}:1F90")), "127.0.0.1:8080".parse().ok());
        let words = [0, 0, u32::from_ne_bytes([0, 0, 0xff, 0xff]), one].map(|word| format!("{word:08X}")).concat();
        assert_eq!(address(&format!("{words}:0001")), "127.0.0.1:1".parse().ok());
        for wrong in ["", "0100007F", "0100007F:x", "zz:1"] {
            assert_eq!(address(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn both_ends_of_a_connection_are_found_until_they_are_closed() {
        for place in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(place) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let (server, _) = listener.accept().unwrap();
            let (own, other) = (client.local_addr().unwrap(), client.peer_addr().unwrap());
            let found = Connections::now().find(own, other).unwrap();
            assert!(found.is_ours() && found.inode.is_some() && found != Connections::now().find(other, own).unwrap());
            drop(client);
            assert_eq!(Connections::now().find(own, other).and_then(|socket| socket.inode), None);
            drop(server);
        }
    }
}
