//! The network of a confined session: a namespace with nothing but a loopback interface. Listeners that are created
//! here and accepted from outside are the only way out.

use std::{io, net::SocketAddr, os::fd::OwnedFd};

use nix::sched::{CloneFlags, unshare};
use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, bind, listen, netlink::SocketAddrNetlink, recv,
    sendto, socket_with, sockopt,
};

use super::context;
use crate::supervise::IsolatedNetwork;

/// The maximum number of connections that wait to be accepted.
const LISTEN_BACKLOG: i32 = 256;

/// The index of the loopback interface in every network namespace.
const LOOPBACK_INDEX: i32 = 1;

/// Enters a new network namespace.
pub fn enter_network_namespace() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNET).map_err(context("cannot create a network namespace"))
}

/// Sets up the network namespace of this process. Returns the listeners; `None` for an IPv6 address if the kernel has
/// no IPv6. An error is final: there is no way back to the network of the machine.
pub fn create_listeners(network: &IsolatedNetwork) -> io::Result<Vec<Option<OwnedFd>>> {
    bring_up_loopback()?;
    network.listeners.iter().map(create_listener).collect()
}

/// Creates a TCP socket of this namespace that is not connected yet.
pub fn create_tcp_socket(is_ipv6: bool) -> io::Result<OwnedFd> {
    let family = if is_ipv6 { AddressFamily::INET6 } else { AddressFamily::INET };
    Ok(socket_with(family, SocketType::STREAM, SocketFlags::CLOEXEC, None)?)
}

fn create_listener(address: &SocketAddr) -> io::Result<Option<OwnedFd>> {
    let listening = || -> io::Result<OwnedFd> {
        let socket = create_tcp_socket(address.is_ipv6())?;
        sockopt::set_socket_reuseaddr(&socket, true)?;
        bind(&socket, address)?;
        listen(&socket, LISTEN_BACKLOG)?;
        Ok(socket)
    };
    match listening() {
        Ok(socket) => Ok(Some(socket)),
        Err(_) if address.is_ipv6() => Ok(None),
        Err(error) => Err(context(format!("cannot listen on {address} in the session"))(error)),
    }
}

/// Sets the flag `IFF_UP` of the interface with `RTM_NEWLINK`. The kernel answers with an error number, 0 for none.
fn bring_up_loopback() -> io::Result<()> {
    const RTM_NEWLINK: u16 = 16;
    const NLM_F_REQUEST_ACK: u16 = 1 | 4;
    const IFF_UP: u32 = 1;
    let failed = || context::<rustix::io::Errno>("cannot bring up the loopback interface");
    let mut message = Vec::with_capacity(32);
    message.extend(32_u32.to_ne_bytes());
    message.extend([RTM_NEWLINK, NLM_F_REQUEST_ACK].map(u16::to_ne_bytes).concat());
    // Sequence number and sender, then the family and type of an `ifinfomsg`.
    message.extend([1_u32, 0, 0].map(u32::to_ne_bytes).concat());
    message.extend(LOOPBACK_INDEX.to_ne_bytes());
    message.extend([IFF_UP, IFF_UP].map(u32::to_ne_bytes).concat());
    let kernel = socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None).map_err(failed())?;
    sendto(&kernel, &message, SendFlags::empty(), &SocketAddrNetlink::new(0, 0)).map_err(failed())?;
    let mut answer = [0; 256];
    let (length, _) = recv(&kernel, &mut answer, RecvFlags::empty()).map_err(failed())?;
    let errno = answer.get(..length).and_then(|answer| answer.get(16..20)).and_then(|bytes| bytes.try_into().ok());
    match errno.map(i32::from_ne_bytes) {
        Some(0) => Ok(()),
        Some(errno) => Err(io::Error::from_raw_os_error(errno.saturating_neg())),
        None => Err(io::Error::other("the kernel did not confirm that the loopback interface is up")),
    }
}
