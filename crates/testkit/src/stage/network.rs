//! Whether anything but this machine is reachable.

use std::{fs, net::Ipv4Addr};

/// An address of this machine that is not on loopback, for servers that confined sessions must not treat as local. The
/// network namespace of `cargo xtask live` has it.
pub const REMOTE_ADDRESS: Ipv4Addr = Ipv4Addr::new(198, 51, 100, 1);

/// Returns whether all routes lead to loopback.
#[must_use]
pub fn is_isolated() -> bool {
    let four = fs::read_to_string("/proc/net/route").unwrap_or_else(|_| UNREADABLE_ROUTES.to_owned());
    let six = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    !has_outside_route(&four, &six)
}

/// Unreadable routes count as routes to the outside.
const UNREADABLE_ROUTES: &str = "a table that cannot be read\nunknown\n";

/// The device is the first word of an IPv4 route and the last of an IPv6 route.
fn has_outside_route(four: &str, six: &str) -> bool {
    let four = four.lines().skip(1).filter_map(|line| line.split_whitespace().next());
    let six = six.lines().filter_map(|line| line.split_whitespace().next_back());
    four.chain(six).any(|device| device != "lo")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_route_leads_out_unless_it_is_loopback() {
        let head = "Iface\tDestination\tGateway\n";
        let local = "00000000000000000000000000000001 80 00 00 00000000 00000002 00000000 80200001 lo\n";
        assert!(!has_outside_route(head, local));
        assert!(has_outside_route(&format!("{head}eth0\t00000000\t0101A8C0\n"), local));
        assert!(has_outside_route(head, &local.replace("lo", "eth0")));
        assert!(has_outside_route(UNREADABLE_ROUTES, ""));
    }
}
