//! The HTTP proxy of a confined session: tunnels (`CONNECT`) and plain HTTP requests, to hosts that the rules or a
//! person allow. It resolves names itself and connects to the address that it has checked, so a name that changes its
//! address gains nothing. TLS passes through it untouched.

use std::{
    collections::HashMap,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::{BodyExt as _, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri, body::Incoming, server::conn::http1, service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{OnceCell, Semaphore, mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};

use super::{
    addresses::{HostResolver, is_loopback_or_link_local, is_private_name, is_public},
    connect_inside,
    forward::{forward_request, refusal_response, text_response},
    rules::{HostPermission, PrivateAccess, RuleSource, SharedRules, normalize_host},
    serve_connections,
    upstream::UpstreamProxy,
};
use crate::supervise::SessionConnector;

/// The maximum size of a request's head.
const MAX_HEAD_BYTES: usize = 32 << 10;

/// The time that a client may take to send the head of a request.
const HEAD_TIMEOUT: Duration = Duration::from_secs(30);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(20);

const RESOLVE_TIMEOUT: Duration = Duration::from_secs(10);

/// The time for the lookup of a name that another proxy may resolve instead.
const UPSTREAM_RESOLVE_TIMEOUT: Duration = Duration::from_secs(3);

/// The maximum number of addresses of a host that are tried.
const MAX_ADDRESSES: usize = 8;

/// The maximum number of connections that wait for the decision of a person. It is much smaller than that of all
/// connections, so that the agent always reaches its model.
const MAX_WAITING_CONNECTIONS: usize = 64;

pub enum NetworkEvent {
    /// A host that no rule allows.
    Unknown(ConnectionRequest),
    /// A connection that was refused without asking a person.
    Refused { host: String, port: u16, reason: RefusalReason },
}

/// The reason why a connection is refused without asking a person.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RefusalReason {
    /// The host is on this machine or in a private network, and was not allowed with its port.
    Private,
    /// Switchboard itself listens there.
    OwnListener,
    /// The name cannot be resolved on this machine, and no setting names it exactly, so another proxy must not resolve
    /// it either.
    Unresolved,
    /// Too many connections wait for a decision.
    TooManyWaiting,
}

pub struct ConnectionRequest {
    pub host: String,
    pub port: u16,
    /// Receives the decision. Without one the connection is refused.
    pub reply: oneshot::Sender<bool>,
    /// Closed when the program inside no longer waits.
    pub waiting: mpsc::Receiver<()>,
}

/// The reason why there is no connection.
pub(super) enum ConnectError {
    Refused,
    /// It is never allowed, or only with other settings.
    Never(RefusalReason),
    Unreachable(io::Error),
}

pub(super) trait ProxiedStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ProxiedStream for T {}

pub(super) type ResponseBody = BoxBody<Bytes, hyper::Error>;

pub struct SandboxProxy {
    rules: SharedRules,
    own_listeners: Vec<SocketAddr>,
    upstream: Option<UpstreamProxy>,
    connector: SessionConnector,
    resolver: Arc<dyn HostResolver>,
    events: mpsc::Sender<NetworkEvent>,
    /// Whether configured names led to private networks when the session started.
    private_at_start: HashMap<String, OnceCell<bool>>,
    waiting: Semaphore,
    connect_timeout: Duration,
    head_timeout: Duration,
}

/// An allowed host.
#[derive(Clone, Copy)]
struct Target<'a> {
    host: &'a str,
    port: u16,
    may_be_private: bool,
    source: RuleSource,
}

/// A connection for a client of the proxy.
pub(super) enum HostConnection {
    /// Leads to the host.
    Host(Box<dyn ProxiedStream>),
    /// Leads to another proxy, for plain requests.
    Upstream(TcpStream),
}

impl HostConnection {
    fn host(stream: impl ProxiedStream + 'static) -> Self {
        Self::Host(Box::new(stream))
    }
}

#[derive(Default)]
pub(super) struct ClientState {
    /// The tunnel that the connection becomes.
    tunnel: Option<(OnUpgrade, Box<dyn ProxiedStream>)>,
    /// Connections to hosts of plain requests.
    pub(super) connections: JoinSet<()>,
}

impl SandboxProxy {
    pub fn new(
        rules: SharedRules,
        own_listeners: Vec<SocketAddr>,
        upstream: Option<UpstreamProxy>,
        connector: SessionConnector,
        resolver: Arc<dyn HostResolver>,
        events: mpsc::Sender<NetworkEvent>,
    ) -> Self {
        let private_at_start = rules.names_to_resolve().into_iter().map(|name| (name, OnceCell::new())).collect();
        Self {
            rules,
            own_listeners,
            upstream,
            connector,
            resolver,
            events,
            private_at_start,
            waiting: Semaphore::new(MAX_WAITING_CONNECTIONS),
            connect_timeout: CONNECT_TIMEOUT,
            head_timeout: HEAD_TIMEOUT,
        }
    }

    /// Determines which configured names lead to private networks now.
    pub async fn resolve_configured_names(self: Arc<Self>) {
        join_all(self.private_at_start.keys().map(|name| self.is_private_at_start(name))).await;
    }

    async fn is_private_at_start(&self, name: &str) -> bool {
        let resolve = async || match timeout(RESOLVE_TIMEOUT, self.resolver.resolve(name, 0)).await {
            Ok(Ok(addresses)) => !addresses.is_empty() && !addresses.iter().any(|address| self.is_public(address.ip())),
            Ok(Err(_)) | Err(_) => false,
        };
        match self.private_at_start.get(name) {
            Some(is_private) => *is_private.get_or_init(resolve).await,
            None => false,
        }
    }

    pub async fn serve_listener(self: Arc<Self>, listener: TcpListener) {
        serve_connections(listener, |stream| self.clone().serve_connection(stream)).await;
    }

    async fn serve_connection(self: Arc<Self>, stream: TcpStream) {
        let state = Arc::new(Mutex::new(ClientState::default()));
        let service = service_fn(|request| {
            let (proxy, state) = (self.clone(), state.clone());
            async move { Ok::<_, hyper::Error>(proxy.handle_request(request, &state).await) }
        });
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(self.head_timeout)
            .max_buf_size(MAX_HEAD_BYTES)
            .serve_connection(TokioIo::new(stream), service)
            .with_upgrades();
        // A client that disconnects or sends an invalid request has been answered already.
        drop(connection.await);
        let tunnel = state.lock().tunnel.take();
        if let Some((upgrade, mut host)) = tunnel
            && let Ok(client) = upgrade.await
        {
            drop(tokio::io::copy_bidirectional(&mut TokioIo::new(client), &mut host).await);
        }
    }

    async fn handle_request(
        &self,
        mut request: Request<Incoming>,
        state: &Mutex<ClientState>,
    ) -> Response<ResponseBody> {
        let is_tunnel = request.method() == Method::CONNECT;
        let Some((host, port)) = parse_target(request.uri(), is_tunnel) else {
            return text_response(StatusCode::BAD_REQUEST, "This is the proxy of a Switchboard sandbox.\n");
        };
        let connection = match self.connect(&host, port, is_tunnel).await {
            Ok(connection) => connection,
            Err(error) => return refusal_response(&host, port, &error),
        };
        let connection = match connection {
            HostConnection::Host(stream) if is_tunnel => {
                let tunnel = (hyper::upgrade::on(&mut request), stream);
                state.lock().tunnel = Some(tunnel);
                return text_response(StatusCode::OK, "");
            }
            connection => connection,
        };
        let authorization = self.upstream.as_ref().and_then(UpstreamProxy::authorization);
        match forward_request(request, &host, port, connection, authorization, state).await {
            Ok(response) => response.map(|body| body.boxed()),
            Err(error) => refusal_response(&host, port, &ConnectError::Unreachable(io::Error::other(error))),
        }
    }

    /// Connects to a host, if that is allowed.
    async fn connect(&self, host: &str, port: u16, is_tunnel: bool) -> Result<HostConnection, ConnectError> {
        let literal = host.parse::<IpAddr>().ok();
        let is_loopback = host == "localhost" || literal.is_some_and(|ip| ip.is_loopback());
        let is_private = is_private_name(host) || literal.is_some_and(|ip| !self.is_public(ip));
        let permission = match self.rules.permission(host, port) {
            Some(permission) => permission,
            // The loopback of the session itself, for programs that use the proxy for everything.
            None if is_loopback => {
                let address = SocketAddr::new(literal.unwrap_or(IpAddr::from([127, 0, 0, 1])), port);
                let address = if host == "localhost" { format!("localhost:{port}") } else { address.to_string() };
                let stream = connect_inside(&self.connector, &address).await.map_err(ConnectError::Unreachable)?;
                return Ok(HostConnection::host(stream));
            }
            // Refused without a request, and without looking up a name.
            None if is_private => return Err(self.refuse(host, port, RefusalReason::Private).await),
            None => self.request_permission(host, port).await?,
        };
        let may_be_private = match permission.private_access {
            PrivateAccess::Allowed => true,
            PrivateAccess::IfPrivateAtStart => self.is_private_at_start(host).await,
            PrivateAccess::Denied => false,
        };
        if is_private && !may_be_private {
            return Err(self.refuse(host, port, RefusalReason::Private).await);
        }
        let target = Target { host, port, may_be_private, source: permission.source };
        // A local host is not behind another proxy, and its address can be checked only here.
        let is_local = host == "localhost" || literal.is_some_and(|ip| !self.is_public(ip));
        match self.upstream.as_ref().filter(|upstream| !is_local && upstream.is_used_for(host)) {
            Some(upstream) => self.connect_through(upstream, target, is_tunnel).await,
            None => self.connect_directly(host, port, may_be_private).await.map(HostConnection::host),
        }
    }

    /// Connects to an allowed host through another proxy, which may resolve the name differently. A proxy on this machine
    /// could reach the services of this machine, so it gets the address that was checked. Others get the name, by which
    /// they filter.
    async fn connect_through(
        &self,
        upstream: &UpstreamProxy,
        target: Target<'_>,
        is_tunnel: bool,
    ) -> Result<HostConnection, ConnectError> {
        let Target { host, port, may_be_private, source } = target;
        let is_explicit = source == RuleSource::Settings;
        let limit = if is_explicit { UPSTREAM_RESOLVE_TIMEOUT } else { RESOLVE_TIMEOUT };
        let addresses = self.resolve(host, port, limit).await.unwrap_or_default();
        if !addresses.iter().all(|address| self.may_reach(host, address, may_be_private)) {
            return Err(self.refuse(host, port, self.refusal_reason(&addresses)).await);
        }
        let mut stream = upstream.open(self.connect_timeout).await.map_err(ConnectError::Unreachable)?;
        let is_here = stream.peer_addr().is_ok_and(|peer| self.resolver.is_this_machine(peer.ip()));
        if addresses.is_empty() && !(is_explicit || source == RuleSource::Approval && !is_here) {
            return Err(self.refuse(host, port, RefusalReason::Unresolved).await);
        }
        if is_here {
            for address in addresses.iter().take(MAX_ADDRESSES) {
                let ip = address.ip().to_string();
                match upstream.open_tunnel(stream, &ip, port, self.connect_timeout).await {
                    Ok(tunnel) => return Ok(HostConnection::host(tunnel)),
                    // It may accept names only, as local filters do. The user has named this one.
                    Err(_) if is_explicit => {}
                    Err(error) => return Err(ConnectError::Unreachable(error)),
                }
                stream = upstream.open(self.connect_timeout).await.map_err(ConnectError::Unreachable)?;
            }
        }
        let is_own_port = self.own_listeners.iter().any(|own| own.port() == port);
        if is_own_port && (is_here || addresses.is_empty() || !is_explicit) {
            return Err(self.refuse(host, port, RefusalReason::OwnListener).await);
        }
        if !is_tunnel {
            return Ok(HostConnection::Upstream(stream));
        }
        let tunnel = upstream.open_tunnel(stream, host, port, self.connect_timeout).await;
        tunnel.map(HostConnection::host).map_err(ConnectError::Unreachable)
    }

    fn is_public(&self, ip: IpAddr) -> bool {
        is_public(ip) && !self.resolver.is_this_machine(ip)
    }

    fn may_reach(&self, host: &str, address: &SocketAddr, may_be_private: bool) -> bool {
        let (is_named, ip) = (host.parse::<IpAddr>().is_err() && host != "localhost", address.ip());
        // A name must not lead to this machine, unless it says so.
        let is_near = is_loopback_or_link_local(ip) || self.resolver.is_this_machine(ip);
        let is_private_allowed = may_be_private && !(is_named && is_near);
        !self.is_own_listener(address) && (is_private_allowed || self.is_public(ip))
    }

    async fn resolve(&self, host: &str, port: u16, limit: Duration) -> io::Result<Vec<SocketAddr>> {
        match host.parse::<IpAddr>() {
            Ok(ip) => Ok(vec![SocketAddr::new(ip, port)]),
            Err(_) => timeout(limit, self.resolver.resolve(host, port)).await?,
        }
    }

    /// Connects to an allowed host, at an allowed address.
    pub(super) async fn connect_directly(
        &self,
        host: &str,
        port: u16,
        may_be_private: bool,
    ) -> Result<TcpStream, ConnectError> {
        let resolved = self.resolve(host, port, RESOLVE_TIMEOUT).await.map_err(ConnectError::Unreachable)?;
        let addresses: Vec<_> =
            resolved.iter().copied().filter(|address| self.may_reach(host, address, may_be_private)).collect();
        if addresses.is_empty() && !resolved.is_empty() {
            return Err(self.refuse(host, port, self.refusal_reason(&resolved)).await);
        }
        let mut last = io::Error::other("the name has no address");
        for address in addresses.into_iter().take(MAX_ADDRESSES) {
            let connected = timeout(self.connect_timeout, TcpStream::connect(address)).await;
            match connected.unwrap_or_else(|_| Err(io::ErrorKind::TimedOut.into())) {
                Ok(stream) => {
                    stream.set_nodelay(true).ok();
                    return Ok(stream);
                }
                Err(error) => last = error,
            }
        }
        Err(ConnectError::Unreachable(last))
    }

    /// Returns whether this process listens on an address: a session must not command the server that runs it.
    fn is_own_listener(&self, address: &SocketAddr) -> bool {
        let ip = address.ip().to_canonical();
        let same_port = self.own_listeners.iter().filter(|own| own.port() == address.port());
        let mut is_here = same_port.filter(|own| {
            own.ip().to_canonical() == ip || own.ip().is_unspecified() || ip.is_unspecified() || ip.is_loopback()
        });
        is_here.any(|own| own.ip().to_canonical() == ip || self.resolver.is_this_machine(ip))
    }

    async fn request_permission(&self, host: &str, port: u16) -> Result<HostPermission, ConnectError> {
        let Ok(_permit) = self.waiting.try_acquire() else {
            self.refuse(host, port, RefusalReason::TooManyWaiting).await;
            return Err(ConnectError::Refused);
        };
        let (reply, decision) = oneshot::channel();
        let (_waits, waiting) = mpsc::channel(1);
        let request = ConnectionRequest { host: host.to_owned(), port, reply, waiting };
        // If the session is over, so is its network.
        drop(self.events.send(NetworkEvent::Unknown(request)).await);
        match decision.await {
            Ok(true) => Ok(HostPermission { private_access: PrivateAccess::Denied, source: RuleSource::Approval }),
            Ok(false) | Err(_) => Err(ConnectError::Refused),
        }
    }

    fn refusal_reason(&self, addresses: &[SocketAddr]) -> RefusalReason {
        let is_own = addresses.iter().any(|address| self.is_own_listener(address));
        if is_own { RefusalReason::OwnListener } else { RefusalReason::Private }
    }

    async fn refuse(&self, host: &str, port: u16, reason: RefusalReason) -> ConnectError {
        drop(self.events.send(NetworkEvent::Refused { host: host.to_owned(), port, reason }).await);
        ConnectError::Never(reason)
    }
}

/// Returns the host and port of a request to a proxy. Headers are ignored.
fn parse_target(uri: &Uri, is_tunnel: bool) -> Option<(String, u16)> {
    let authority = uri.authority().filter(|authority| !authority.as_str().contains('@'))?;
    let host = authority.host();
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let port = match (is_tunnel, uri.scheme_str(), authority.port_u16()) {
        (true, _, port) => port?,
        (false, Some("http"), port) => port.unwrap_or(80),
        _ => return None,
    };
    // A port that is not a number would otherwise be taken for the usual one.
    let is_exact = authority.port().is_some() == authority.port_u16().is_some();
    Some((normalize_host(host).filter(|_| is_exact)?, port)).filter(|(_, port)| *port != 0)
}

#[cfg(test)]
mod tests;
