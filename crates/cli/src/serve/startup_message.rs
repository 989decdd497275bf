//! The message of a server that has started, and the page that it opens in a browser.

use std::{
    fs::{self, OpenOptions},
    io::{
        Write as _, {self},
    },
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use switchboard_engine::{AgentInstallation, Engine, locate_agents, supervise::DETACH_MODE};
use switchboard_serve::{guard::AccessToken, listen::ListenAddress};

use crate::data::SessionHost;

/// Opens a file with the user's preferred program.
const BROWSER_OPENER: &str = "xdg-open";

/// How clients reach a server.
pub struct ServerAccess<'a> {
    pub addresses: Vec<ListenAddress>,
    pub has_tls: bool,
    pub token: Option<&'a AccessToken>,
}

/// Prints the addresses and the access link.
pub fn print_startup_message(access: &ServerAccess<'_>, data: &SessionHost) {
    let text = startup_message(access, data);
    // A closed standard error does not stop the server.
    drop(io::stderr().lock().write_all(text.as_bytes()));
}

/// Prints the installed agents as soon as they are known, without delaying the server.
pub fn print_installed_agents(engine: &Engine) {
    let engine = engine.clone();
    tokio::task::spawn_blocking(move || {
        let is_there = |agent: &AgentInstallation| agent.path.is_some();
        let found: Vec<_> = locate_agents(engine.host()).into_iter().filter(is_there).map(|agent| agent.name).collect();
        let mut text = String::new();
        let none = "no agents installed; run `switchboard agents` for instructions";
        push_field(&mut text, "agents", &if found.is_empty() { none.to_owned() } else { found.join(", ") });
        drop(io::stderr().lock().write_all(text.as_bytes()));
    });
}

fn startup_message(access: &ServerAccess<'_>, data: &SessionHost) -> String {
    let mut text = format!("Switchboard {}\n", env!("CARGO_PKG_VERSION"));
    for address in &access.addresses {
        let shown = access.tcp_url(address).unwrap_or_else(|| address.to_string());
        push_field(&mut text, "listening", &shown);
    }
    if let Some(link) = access.link() {
        push_field(&mut text, "open", &link);
    }
    if access.is_exposed() {
        push_field(
            &mut text,
            "warning",
            "no TLS: others on the network can read the token and all sessions; use --tls-cert and --tls-key",
        );
    }
    push_field(&mut text, "data", &data.folder.display().to_string());
    if access.token.is_none() {
        push_field(&mut text, "warning", "no authentication: every program on this machine can run agents as you");
    }
    if data.owner.is_none() {
        push_field(
            &mut text,
            "warning",
            "the log was written by a later version: sessions can be read but not started",
        );
    }
    text
}

fn push_field(text: &mut String, name: &str, value: &str) {
    text.push_str(&format!("  {name:<10} {value}\n"));
}

impl ServerAccess<'_> {
    /// Returns the link that gives a browser access.
    fn link(&self) -> Option<String> {
        let url = self.addresses.iter().find_map(|address| self.tcp_url(address))?;
        let query = self.token.map(|token| format!("?token={}", token.percent_encoded()));
        Some(format!("{url}/{}", query.unwrap_or_default()))
    }

    fn tcp_url(&self, address: &ListenAddress) -> Option<String> {
        let ListenAddress::Tcp(addresses) = address else { return None };
        let scheme = if self.has_tls { "https" } else { "http" };
        addresses.first().map(|address| format!("{scheme}://{}", reachable_address(*address)))
    }

    /// Returns whether other machines can connect without TLS.
    fn is_exposed(&self) -> bool {
        !self.has_tls && self.addresses.iter().any(|address| !address.is_local())
    }
}

/// Replaces the unspecified address, which cannot be opened, by the loopback one.
fn reachable_address(address: SocketAddr) -> SocketAddr {
    let ip = match address.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, address.port())
}

/// Opens the page in a browser, or reports why that failed: the link was printed anyway. The token is passed in a file
/// that only this user can read, not as an argument, which every user can.
pub fn open_browser(access: &ServerAccess<'_>, data: &SessionHost) {
    let Some(link) = access.link() else { return };
    if let Err(error) = write_redirect_page(data.private_directory(), &link).and_then(|page| start_browser(&page)) {
        drop(writeln!(io::stderr(), "  could not open a browser: {error}"));
    }
}

/// Writes a page that redirects to the link, in a directory that is hidden from sessions.
fn write_redirect_page(folder: &Path, link: &str) -> io::Result<PathBuf> {
    let path = folder.join("open.html");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    // The link needs no escaping: the token is URL-encoded.
    writeln!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Switchboard</title>")?;
    Ok(path)
}

/// Starts the browser detached: descendants of this process belong to sessions.
#[expect(clippy::disallowed_methods, reason = "the browser is the user's: it stays when we go")]
fn start_browser(page: &Path) -> io::Result<()> {
    let mut opener = Command::new("/proc/self/exe");
    opener
        .args([DETACH_MODE, BROWSER_OPENER])
        .arg(page)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let is_started = opener.status()?.success();
    if is_started { Ok(()) } else { Err(io::Error::other(format!("cannot run `{BROWSER_OPENER}`"))) }
}

#[cfg(test)]
mod tests {

    use switchboard_serve::guard::AccessToken;

    use super::ServerAccess;

    fn listening<'a>(listen: &[&str], has_tls: bool, token: Option<&'a AccessToken>) -> ServerAccess<'a> {
        let addresses = listen.iter().map(|address| address.parse().unwrap()).collect();
        ServerAccess { addresses, has_tls, token }
    }

    #[test]
    fn the_link_can_be_opened() {
        let token = AccessToken::new("0123456789abcdef/=", "here").unwrap();
        let link_to = |listen: &[&str], has_tls, token| listening(listen, has_tls, token).link();
        let opened = link_to(&["unix:/x", "0.0.0.0:81"], false, Some(&token));
        assert_eq!(opened.as_deref(), Some("http://127.0.0.1:81/?token=0123456789abcdef%2F%3D"));
        assert_eq!(link_to(&["[::1]:81"], false, None).as_deref(), Some("http://[::1]:81/"));
        assert_eq!(link_to(&["[::1]:81"], true, None).as_deref(), Some("https://[::1]:81/"));
        assert_eq!(link_to(&["unix:/x"], false, Some(&token)), None);
    }

    #[test]
    fn only_plain_servers_that_other_machines_reach_are_exposed() {
        assert!(listening(&["unix:/x", "0.0.0.0:81"], false, None).is_exposed());
        assert!(!listening(&["0.0.0.0:81"], true, None).is_exposed());
        assert!(!listening(&["127.0.0.1:81", "unix:/x"], false, None).is_exposed());
    }
}
