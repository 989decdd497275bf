//! Whether anything but this machine can be reached from here.

use std::fs;

/// No route leads anywhere but to loopback.
#[must_use]
pub fn isolated() -> bool {
    let four = fs::read_to_string("/proc/net/route").unwrap_or_else(|_| UNKNOWN.to_owned());
    let six = fs::read_to_string("/proc/net/ipv6_route").unwrap_or_default();
    !leads_out(&four, &six)
}

/// Where routes cannot be read, there may be some.
const UNKNOWN: &str = "a table that cannot be read\nunknown\n";

/// The first word of a route names its device with the older protocol, the last with the newer.
fn leads_out(four: &str, six: &str) -> bool {
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
        assert!(!leads_out(head, local));
        assert!(leads_out(&format!("{head}eth0\t00000000\t0101A8C0\n"), local));
        assert!(leads_out(head, &local.replace("lo", "eth0")));
        assert!(leads_out(UNKNOWN, ""));
    }
}
