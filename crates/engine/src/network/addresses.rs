//! Resolves host names, and classifies IP addresses: public internet or not.

use std::{
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Returns whether an address belongs to the public internet: not to this machine, a private network, a link or a
/// special purpose, also if it is written as an IPv6 address that contains an IPv4 address.
pub fn is_public(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => is_public_v4(ip),
        IpAddr::V6(ip) => is_public_v6(ip),
    }
}

/// Returns whether an address leads to this machine or to a directly connected one, such as the metadata service of a
/// cloud.
pub fn is_loopback_or_link_local(ip: IpAddr) -> bool {
    match ip.to_canonical() {
        IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local() || ip.octets().first() == Some(&0),
        IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified() || ip.is_unicast_link_local(),
    }
}

fn is_public_v4(ip: Ipv4Addr) -> bool {
    let [a, b, c, _] = ip.octets();
    let is_special = ip.is_private()
        || ip.is_loopback()
        || ip.is_link_local()
        || ip.is_documentation()
        || ip.is_multicast()
        // "This network", shared address space of providers, protocol assignments, benchmarks, reserved and broadcast.
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a, b, c) == (192, 0, 0)
        || (a == 198 && (b & 0xfe) == 18)
        || a >= 240;
    !is_special
}

fn is_public_v6(ip: Ipv6Addr) -> bool {
    let segments = ip.segments();
    let [first, second, third, ..] = segments;
    let [.., high, low] = segments;
    let tail = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match (first, second) {
        // Translation to IPv4: the embedded address counts. A prefix for local use has no known one.
        (0x64, 0xff9b) if third == 0 => is_public_v4(tail(high, low)),
        (0x2002, _) => is_public_v4(tail(second, third)),
        // Teredo, documentation, benchmarks and identifiers that are not routed.
        (0x2001, 0..=0x1ff | 0xdb8) | (0x3fff, _) => false,
        // The rest of 2000::/3 is the whole public internet.
        _ => first & 0xe000 == 0x2000,
    }
}

/// The maximum number of simultaneous lookups of a session. A lookup occupies a thread until the name server answers,
/// even if its result is no longer needed.
const MAX_LOOKUPS: usize = 8;

/// Looks up the addresses of hosts. Tests give answers that no real name server gives.
pub trait HostResolver: Send + Sync {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>>;
}

/// The resolver of this machine, for one session.
pub struct SystemResolver(Arc<Semaphore>);

impl Default for SystemResolver {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_LOOKUPS)))
    }
}

impl HostResolver for SystemResolver {
    fn resolve<'a>(&'a self, host: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
        Box::pin(async move {
            let permit = self.0.clone().acquire_owned().await.map_err(io::Error::other)?;
            let host = host.to_owned();
            let lookup = tokio::task::spawn_blocking(move || {
                let addresses = (host.as_str(), port).to_socket_addrs().map(Iterator::collect);
                drop(permit);
                addresses
            });
            lookup.await.map_err(io::Error::other)?
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{is_loopback_or_link_local, is_public};

    #[test]
    fn only_the_public_internet_is_public() {
        for public in ["1.1.1.1", "8.8.8.8", "172.15.0.1", "172.32.0.1", "100.63.0.1", "100.128.0.1", "192.0.1.1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        for public in ["2606:4700::1111", "2a00::1", "64:ff9b::8.8.8.8", "::ffff:8.8.8.8", "2002:0808:0808::1"] {
            assert!(is_public(public.parse().unwrap()), "{public}");
        }
        #[rustfmt::skip]
        let others = [
            "127.0.0.1", "127.255.0.1", "0.0.0.0", "0.1.2.3", "10.1.2.3", "172.16.0.1", "172.31.255.255",
            "192.168.0.1", "169.254.169.254", "100.64.0.1", "192.0.0.8", "192.0.2.1", "198.18.0.1", "198.19.255.255",
            "198.51.100.1", "203.0.113.1", "224.0.0.1", "240.0.0.1", "255.255.255.255",
        ];
        for other in others {
            assert!(!is_public(other.parse().unwrap()), "{other}");
            assert!(!is_public(format!("::ffff:{other}").parse().unwrap()), "mapped {other}");
            assert!(!is_public(format!("64:ff9b::{other}").parse().unwrap()), "translated {other}");
        }
        #[rustfmt::skip]
        let others = [
            "::", "::1", "fe80::1", "fc00::1", "fd12::1", "ff02::1", "2001:db8::1", "2001::1", "64:ff9b:1::1",
            "fec0::1", "2002:7f00:0001::1", "2002:0a00:0001::1", "::127.0.0.1", "100::1", "3fff::1",
        ];
        for other in others {
            assert!(!is_public(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn metadata_services_are_as_near_as_this_machine() {
        for near in ["127.0.0.1", "0.0.0.0", "169.254.169.254", "::1", "::", "fe80::1", "::ffff:169.254.169.254"] {
            assert!(is_loopback_or_link_local(near.parse().unwrap()), "{near}");
        }
        for far in ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1"] {
            assert!(!is_loopback_or_link_local(far.parse().unwrap()), "{far}");
        }
    }
}
