//! What people are told when a server has started.

use std::{
    io::Write as _,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
};

use switchboard_engine::{AgentInstallation, Engine, locate_agents};
use switchboard_serve::{guard::Token, listen::Address};

use crate::data::Data;

/// Says where we listen and how to get in.
pub fn say(addresses: &[Address], token: Option<&Token>, data: &Data) {
    let text = greeting(addresses, token, data);
    // A server without a terminal serves all the same.
    drop(std::io::stderr().lock().write_all(text.as_bytes()));
}

/// Prints the installed agents as soon as they are known, without delaying the server.
pub fn say_agents(engine: &Engine) {
    let engine = engine.clone();
    tokio::task::spawn_blocking(move || {
        let is_there = |agent: &AgentInstallation| agent.path.is_some();
        let found: Vec<_> = locate_agents(engine.host()).into_iter().filter(is_there).map(|agent| agent.name).collect();
        let mut text = String::new();
        let none = "none is installed; `switchboard agents` says how";
        line(&mut text, "agents", &if found.is_empty() { none.to_owned() } else { found.join(", ") });
        drop(std::io::stderr().lock().write_all(text.as_bytes()));
    });
}

fn greeting(addresses: &[Address], token: Option<&Token>, data: &Data) -> String {
    let mut text = format!("Switchboard {}\n", env!("CARGO_PKG_VERSION"));
    for address in addresses {
        let shown = match address {
            Address::Tcp(_) => url(address).unwrap_or_default(),
            Address::Unix(_) => address.to_string(),
        };
        line(&mut text, "listening", &shown);
    }
    if let Some(link) = link(addresses, token) {
        line(&mut text, "open", &link);
    }
    line(&mut text, "data", &data.folder.display().to_string());
    if token.is_none() {
        line(&mut text, "warning", "there is no token: every program of this machine can run agents as you");
    }
    if data.owner.is_none() {
        line(&mut text, "warning", "a later version made the log: sessions can be seen, and none can be started");
    }
    text
}

fn line(text: &mut String, name: &str, value: &str) {
    text.push_str(&format!("  {name:<10} {value}\n"));
}

/// The link that lets a browser in.
pub fn link(addresses: &[Address], token: Option<&Token>) -> Option<String> {
    let url = addresses.iter().find_map(url)?;
    Some(token.map_or_else(|| format!("{url}/"), |token| format!("{url}/?token={}", token.in_address())))
}

fn url(address: &Address) -> Option<String> {
    let Address::Tcp(addresses) = address else { return None };
    addresses.first().map(|address| format!("http://{}", reachable(*address)))
}

/// All addresses of the machine are none that can be asked for.
fn reachable(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

#[cfg(test)]
mod tests {
    use switchboard_serve::guard::Token;

    use super::link;

    #[test]
    fn the_link_can_be_opened() {
        let token = Token::new("0123456789abcdef/=", "here").unwrap();
        let link = |listen: &[&str], token| {
            let addresses: Vec<_> = listen.iter().map(|address| address.parse().unwrap()).collect();
            link(&addresses, token)
        };
        let opened = link(&["unix:/x", "0.0.0.0:81"], Some(&token));
        assert_eq!(opened.as_deref(), Some("http://127.0.0.1:81/?token=0123456789abcdef%2F%3D"));
        assert_eq!(link(&["[::1]:81"], None).as_deref(), Some("http://[::1]:81/"));
        assert_eq!(link(&["unix:/x"], Some(&token)), None);
    }
}
