//! Resolves host names, and classifies IP addresses: public internet or not.

use std::{
    fs, io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs as _, UdpSocket},
    sync::Arc,
};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;

/// Metadata services of clouds outside of the link-local range, and Azure's, which has a public address.
const METADATA_SERVICES: &[IpAddr] = &[
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254)),
];

/// Domains that only name this machine or machines in a private network.
const PRIVATE_DOMAINS: &[&str] = &[".localhost", ".local", ".internal", ".home.arpa"];

/// Returns whether an address belongs to the public internet: not to a private network, a link, a metadata service or a
/// special purpose, also if it is written as an IPv6 address that contains an IPv4 address.
pub fn is_public(ip: IpAddr) -> bool {
    !METADATA_SERVICES.contains(&embedded_address(ip))
        && match ip.to_canonical() {
            IpAddr::V4(ip) => is_public_v4(ip),
            IpAddr::V6(ip) => is_public_v6(ip),
        }
}

/// Returns whether an address leads to a loopback interface, to a directly connected machine or to the metadata service
/// of a cloud.
pub fn is_loopback_or_link_local(ip: IpAddr) -> bool {
    let ip = embedded_address(ip);
    METADATA_SERVICES.contains(&ip)
        || match ip {
            IpAddr::V4(ip) => ip.is_loopback() || ip.is_link_local() || ip.octets().first() == Some(&0),
            IpAddr::V6(ip) => ip.is_loopback() || ip.is_unspecified() || ip.is_unicast_link_local(),
        }
}

/// Returns whether a name can only belong to this machine or to a private network. It need not be looked up.
pub fn is_private_name(host: &str) -> bool {
    let is_name = host.parse::<IpAddr>().is_err();
    is_name && (!host.contains('.') || PRIVATE_DOMAINS.iter().any(|domain| host.ends_with(domain)))
}

/// Returns whether an address belongs to this machine: to any of its interfaces.
pub fn is_this_machine(ip: IpAddr) -> bool {
    let ip = ip.to_canonical();
    if ip.is_loopback() || ip.is_unspecified() {
        return true;
    }
    let setting = if ip.is_ipv4() { "ipv4" } else { "ipv6" };
    let nonlocal = fs::read_to_string(format!("/proc/sys/net/{setting}/ip_nonlocal_bind"));
    if nonlocal.is_ok_and(|value| value.trim() != "0") {
        // Any address can be bound. Packets to this machine have their destination as the source.
        return source_address(ip).is_ok_and(|source| source == ip);
    }
    UdpSocket::bind((ip, 0)).is_ok()
}

/// Returns the address from which packets to another one are sent. Sends none.
fn source_address(ip: IpAddr) -> io::Result<IpAddr> {
    let any = if ip.is_ipv4() { IpAddr::V4(Ipv4Addr::UNSPECIFIED) } else { IpAddr::V6(Ipv6Addr::UNSPECIFIED) };
    let socket = UdpSocket::bind((any, 0))?;
    socket.connect((ip, 9))?;
    Ok(socket.local_addr()?.ip())
}

/// Returns the IPv4 address that an IPv6 address contains, and any other address as it is.
fn embedded_address(ip: IpAddr) -> IpAddr {
    let IpAddr::V6(ip) = ip.to_canonical() else { return ip.to_canonical() };
    embedded_v4(ip).map_or(IpAddr::V6(ip), IpAddr::V4)
}

/// Returns the IPv4 address to which an address is translated.
fn embedded_v4(ip: Ipv6Addr) -> Option<Ipv4Addr> {
    let [first, second, third, .., high, low] = ip.segments();
    let v4 = |high: u16, low: u16| Some(Ipv4Addr::from((u32::from(high) << 16) | u32::from(low)));
    match (first, second) {
        // A prefix for local use has no known address.
        (0x64, 0xff9b) if third == 0 => v4(high, low),
        (0x2002, _) => v4(second, third),
        _ => None,
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
    if let Some(ip) = embedded_v4(ip) {
        return is_public_v4(ip);
    }
    let [first, second, ..] = ip.segments();
    match (first, second) {
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

    /// Returns whether an address belongs to this machine.
    fn is_this_machine(&self, ip: IpAddr) -> bool {
        is_this_machine(ip)
    }
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
    use super::{METADATA_SERVICES, is_loopback_or_link_local, is_private_name, is_public, is_this_machine};

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
        #[rustfmt::skip]
        let near = [
            "127.0.0.1", "0.0.0.0", "169.254.169.254", "::1", "::", "fe80::1", "::ffff:169.254.169.254",
            "168.63.129.16", "100.100.100.200", "192.0.0.192", "fd00:ec2::254", "fd20:ce::254",
            "64:ff9b::169.254.169.254", "64:ff9b::168.63.129.16", "2002:a9fe:a9fe::1", "::ffff:168.63.129.16",
        ];
        for near in near {
            assert!(is_loopback_or_link_local(near.parse().unwrap()), "{near}");
            assert!(!is_public(near.parse().unwrap()), "{near}");
        }
        assert!(METADATA_SERVICES.iter().all(|ip| !is_public(*ip)));
        for far in ["10.0.0.1", "192.168.1.1", "8.8.8.8", "fd00::1"] {
            assert!(!is_loopback_or_link_local(far.parse().unwrap()), "{far}");
        }
    }

    #[test]
    fn addresses_of_this_machine_are_recognized() {
        for own in ["127.0.0.1", "127.0.0.2", "::1", "0.0.0.0", "::ffff:127.0.0.1"] {
            assert!(is_this_machine(own.parse().unwrap()), "{own}");
        }
        for other in ["192.0.2.1", "2001:db8::1", "1.1.1.1"] {
            assert!(!is_this_machine(other.parse().unwrap()), "{other}");
        }
    }

    #[test]
    fn private_names_are_recognized_without_a_lookup() {
        for private in ["intranet", "a.localhost", "printer.local", "metadata.google.internal", "nas.home.arpa"] {
            assert!(is_private_name(private), "{private}");
        }
        for other in ["example.com", "local.example.com", "10.0.0.1", "::1", "internal.dev"] {
            assert!(!is_private_name(other), "{other}");
        }
    }
}
