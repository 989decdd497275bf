//! The network of a confined session. The session has a network namespace with nothing but loopback, so every way out
//! leads through here: a proxy that decides by host and port, and single ports of this machine that were allowed by
//! name.
//!
//! ```text
//! inside the session                              │ here
//! program ── HTTP_PROXY ──► 127.0.0.1:3128 ───────┼──► proxy ── rules ──► host on the internet
//! agent ──► 127.0.0.1:11434 (a model on loopback) ┼──► the same port of this machine
//! the agent's own server ◄────────────────────────┼─── driver, published ports
//! ```
//! Listeners are created inside and accepted here, sockets are created inside and connected here, so that no bytes are
//! copied twice.

mod addresses;
mod forward;
mod proxy;
mod rules;
mod upstream;

use std::{
    collections::{BTreeMap, BTreeSet},
    io,
    net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use futures_util::future::BoxFuture;
use switchboard_agents::AgentEndpoint;
use switchboard_client::http::{ServerConnection, ServerConnector};
use tokio::{
    io::copy_bidirectional,
    net::{TcpListener, TcpStream},
    sync::{Semaphore, mpsc},
    task::JoinSet,
};

use crate::supervise::{IsolatedNetwork, SessionConnector, SessionNetwork};
use addresses::SystemResolver;
use proxy::SandboxProxy;
use upstream::UpstreamProxy;

pub use proxy::{ConnectionRequest, NetworkEvent, RefusalReason};
pub use rules::{HostRule, ProjectGrants, RuleError, SharedRules, bracket_host, parse_domain};

/// The port of the proxy inside a session, unless it is needed for something else.
const PROXY_PORT: u16 = 3128;

/// The maximum number of simultaneous connections to one listener. Others wait.
const MAX_CONNECTIONS: usize = 256;

/// The delay after a connection could not be accepted.
const ACCEPT_RETRY_DELAY: Duration = Duration::from_millis(50);

/// The network of a confined session before it starts.
pub struct NetworkPlan {
    rules: SharedRules,
    proxy_address: SocketAddr,
    /// Servers on this machine that were allowed by name and port. They have the same address inside.
    local_servers: BTreeMap<SocketAddr, HostRule>,
    published: Vec<std::net::TcpListener>,
    own_listeners: Vec<SocketAddr>,
    upstream: Option<UpstreamProxy>,
}

pub struct NetworkSettings<'a> {
    /// The servers of the agent's model and login.
    pub endpoints: Vec<AgentEndpoint>,
    pub allowed: Vec<HostRule>,
    /// Ports inside the session that this machine publishes.
    pub published_ports: &'a [u16],
    /// Addresses on which this process listens. No session may reach them.
    pub own_listeners: Vec<SocketAddr>,
    /// Returns the value of an environment variable.
    pub env: &'a dyn Fn(&str) -> Option<String>,
}

impl NetworkPlan {
    /// Opens the published ports. Fails if one of them is in use.
    pub fn new(settings: NetworkSettings<'_>) -> Result<Self, String> {
        let NetworkSettings { endpoints, mut allowed, published_ports, own_listeners, env } = settings;
        allowed.extend(endpoints.iter().map(HostRule::from_endpoint));
        let local_servers: BTreeMap<_, _> = allowed.iter().flat_map(local_addresses).collect();
        let taken: BTreeSet<u16> =
            local_servers.keys().map(SocketAddr::port).chain(published_ports.iter().copied()).collect();
        if let Some(port) = published_ports.iter().find(|port| local_servers.keys().any(|own| own.port() == **port)) {
            // Connections to it would return here for ever.
            return Err(format!("port {port} is published, so the session cannot also reach it on this machine"));
        }
        let proxy_port = (PROXY_PORT..=u16::MAX).find(|port| !taken.contains(port)).unwrap_or(PROXY_PORT);
        let published = published_ports.iter().map(|port| open_published_port(*port)).collect::<Result<_, _>>()?;
        Ok(Self {
            rules: SharedRules::new(allowed),
            proxy_address: SocketAddr::from((Ipv4Addr::LOCALHOST, proxy_port)),
            local_servers,
            published,
            own_listeners,
            upstream: UpstreamProxy::from_env(env),
        })
    }

    /// Returns the variables that direct programs to the proxy.
    pub fn proxy_env(&self) -> Vec<(String, String)> {
        let proxy = format!("http://{}", self.proxy_address);
        let mut direct = BTreeSet::from(["localhost", "127.0.0.1", "::1"].map(str::to_owned));
        direct.extend(self.local_servers.keys().map(|address| address.ip().to_string()));
        let direct = direct.into_iter().collect::<Vec<_>>().join(",");
        let both =
            |name: &str, value: &str| [name.to_owned(), name.to_ascii_lowercase()].map(|name| (name, value.to_owned()));
        let proxies = ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"].iter().flat_map(|name| both(name, &proxy));
        proxies.chain(both("NO_PROXY", &direct)).collect()
    }

    /// Returns the network to create, with the variables of its programs.
    pub fn isolated_network(&self) -> IsolatedNetwork {
        let mut env: Vec<_> = self.proxy_env().into_iter().map(|(name, value)| (name.into(), value.into())).collect();
        // Programs on Node.js 22.21 and later use the proxy themselves if this variable is set.
        env.push(("NODE_USE_ENV_PROXY".into(), "1".into()));
        let listeners = [self.proxy_address].into_iter().chain(self.local_servers.keys().copied());
        IsolatedNetwork { listeners: listeners.collect(), env }
    }

    /// Serves a session that has started. Returns its rules, to which approvals add.
    pub fn serve(
        self,
        network: SessionNetwork,
        events: mpsc::Sender<NetworkEvent>,
        tasks: &mut JoinSet<()>,
    ) -> SharedRules {
        let SessionNetwork { listeners, connector } = network;
        let proxy = Arc::new(SandboxProxy::new(
            self.rules.clone(),
            self.own_listeners,
            self.upstream,
            connector.clone(),
            Arc::new(SystemResolver::default()),
            events,
        ));
        tasks.spawn(proxy.clone().resolve_configured_names());
        for (address, listener) in listeners {
            if address == self.proxy_address {
                tasks.spawn(proxy.clone().serve_listener(listener));
            } else if let Some(rule) = self.local_servers.get(&address) {
                tasks.spawn(serve_local_server(listener, rule.clone(), proxy.clone()));
            }
        }
        for port in self.published {
            tasks.spawn(serve_published_port(port, connector.clone()));
        }
        self.rules
    }
}

impl ServerConnector for SessionConnector {
    fn connect<'a>(&'a self, host_and_port: &'a str) -> BoxFuture<'a, io::Result<Box<dyn ServerConnection>>> {
        Box::pin(async move {
            let stream = connect_inside(self, host_and_port).await?;
            stream.set_nodelay(true)?;
            Ok(Box::new(stream) as Box<dyn ServerConnection>)
        })
    }
}

async fn connect_inside(connector: &SessionConnector, host_and_port: &str) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in inside_addresses(host_and_port) {
        match connector.connect(address).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Returns the addresses that `HOST:PORT` has inside of a session, where `localhost` is the only name.
fn inside_addresses(host_and_port: &str) -> Vec<SocketAddr> {
    if let Ok(address) = host_and_port.parse() {
        return vec![address];
    }
    let Some((_, port)) = host_and_port.rsplit_once(':') else { return Vec::new() };
    port.parse().map(|port| loopback_addresses(port).to_vec()).unwrap_or_default()
}

fn loopback_addresses(port: u16) -> [SocketAddr; 2] {
    [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))]
}

/// Returns the addresses inside of a session for a server on this machine's loopback interface, if a rule names one.
fn local_addresses(rule: &HostRule) -> Vec<(SocketAddr, HostRule)> {
    let Some((host, port)) = rule.exact_address() else { return Vec::new() };
    let addresses = match host.parse::<IpAddr>() {
        Ok(ip) if ip.is_loopback() => vec![SocketAddr::new(ip, port)],
        Err(_) if host == "localhost" => loopback_addresses(port).to_vec(),
        _ => Vec::new(),
    };
    addresses.into_iter().map(|address| (address, rule.clone())).collect()
}

/// Forwards connections inside the session to the server of this machine that a rule names.
async fn serve_local_server(listener: TcpListener, rule: HostRule, proxy: Arc<SandboxProxy>) {
    let Some((host, port)) = rule.exact_address() else { return };
    serve_connections(listener, |mut client| {
        let (proxy, host) = (proxy.clone(), host.to_owned());
        async move {
            // If the server is refused or unreachable, the connection is closed, as for a missing server.
            if let Ok(mut server) = proxy.connect_directly(&host, port, true).await {
                drop(copy_bidirectional(&mut client, &mut server).await);
            }
        }
    })
    .await;
}

/// Opens a port of this machine's loopback address that is forwarded to the same port of a session.
fn open_published_port(port: u16) -> Result<std::net::TcpListener, String> {
    let failed = |error| format!("cannot publish port {port}: {error}");
    let listener = std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, port)).map_err(failed)?;
    listener.set_nonblocking(true).map_err(failed)?;
    Ok(listener)
}

async fn serve_published_port(listener: std::net::TcpListener, connector: SessionConnector) {
    let Ok(listener) = TcpListener::from_std(listener) else { return };
    let Ok(port) = listener.local_addr().map(|address| address.port()) else { return };
    serve_connections(listener, |mut client| {
        let (connector, address) = (connector.clone(), format!("localhost:{port}"));
        async move {
            if let Ok(mut server) = connect_inside(&connector, &address).await {
                drop(copy_bidirectional(&mut client, &mut server).await);
            }
        }
    })
    .await;
}

/// Serves all connections to a listener, a bounded number of them at once.
async fn serve_connections<F: Future<Output = ()> + Send + 'static>(
    listener: TcpListener,
    mut serve: impl FnMut(TcpStream) -> F,
) {
    let permits = Arc::new(Semaphore::new(MAX_CONNECTIONS));
    let mut connections = JoinSet::new();
    loop {
        let Ok(permit) = permits.clone().acquire_owned().await else { return };
        while connections.try_join_next().is_some() {}
        match listener.accept().await {
            Ok((stream, _)) => {
                stream.set_nodelay(true).ok();
                let served = serve(stream);
                connections.spawn(async move {
                    served.await;
                    drop(permit);
                });
            }
            // Most likely out of descriptors: other connections will be closed.
            Err(_) => tokio::time::sleep(ACCEPT_RETRY_DELAY).await,
        }
    }
}
