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
        match self.upstream.as_ref().filter(|upstream| !is_local && upstream.serves(host)) {
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
mod tests {
    use std::{
        collections::VecDeque,
        io,
        net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr},
        sync::{
            Arc,
            atomic::{AtomicUsize, Ordering},
        },
        time::Duration,
    };

    use futures_util::future::BoxFuture;
    use parking_lot::Mutex;
    use tokio::{
        io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
        net::{TcpListener, TcpStream},
        sync::mpsc,
        task::JoinSet,
    };

    use super::{
        ConnectionRequest, HEAD_TIMEOUT, MAX_HEAD_BYTES, MAX_WAITING_CONNECTIONS, NetworkEvent, RefusalReason,
        SandboxProxy,
    };
    use crate::{
        network::{
            MAX_CONNECTIONS,
            addresses::HostResolver,
            parse_domain,
            rules::{HostRule, SharedRules},
            upstream::UpstreamProxy,
        },
        supervise::SessionConnector,
    };

    /// A resolver that gives another answer each time, and repeats the last one. `None` is a failed lookup.
    struct ChangingResolver {
        answers: Mutex<VecDeque<Option<Vec<SocketAddr>>>>,
        lookups: AtomicUsize,
        is_this_machine: fn(IpAddr) -> bool,
    }

    impl ChangingResolver {
        fn new(answers: impl IntoIterator<Item = Option<Vec<SocketAddr>>>) -> Self {
            let answers = Mutex::new(answers.into_iter().collect());
            Self {
                answers,
                lookups: AtomicUsize::new(0),
                is_this_machine: |ip| ip.is_loopback() || ip.is_unspecified(),
            }
        }

        fn single(answers: &[SocketAddr]) -> Self {
            Self::new(answers.iter().map(|answer| Some(vec![*answer])))
        }
    }

    impl HostResolver for ChangingResolver {
        fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
            self.lookups.fetch_add(1, Ordering::Relaxed);
            let mut answers = self.answers.lock();
            let answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().cloned() };
            let mut answer = answer.flatten();
            for address in answer.iter_mut().flatten().filter(|address| address.port() == 0) {
                address.set_port(port);
            }
            Box::pin(async move { answer.ok_or_else(|| io::ErrorKind::NotFound.into()) })
        }

        fn is_this_machine(&self, ip: IpAddr) -> bool {
            (self.is_this_machine)(ip)
        }
    }

    /// A proxy with a session that declines all requests.
    struct ProxyFixture {
        address: SocketAddr,
        proxy: Arc<SandboxProxy>,
        resolver: Arc<ChangingResolver>,
        /// Refusals that were reported.
        refusals: Arc<Mutex<Vec<(String, u16, RefusalReason)>>>,
        tasks: JoinSet<()>,
    }

    /// The settings of a proxy.
    struct ProxySetup {
        rules: Vec<HostRule>,
        own: Vec<SocketAddr>,
        resolver: ChangingResolver,
        upstream: Option<SocketAddr>,
        /// Decides about an unknown host.
        decide: fn(ConnectionRequest),
        head_timeout: Duration,
    }

    impl ProxySetup {
        fn new(rules: &[&str]) -> Self {
            Self {
                rules: rules.iter().flat_map(|rule| parse_domain(rule).unwrap()).collect(),
                own: Vec::new(),
                resolver: ChangingResolver::new([None]),
                upstream: None,
                decide: drop,
                head_timeout: HEAD_TIMEOUT,
            }
        }
    }

    impl ProxyFixture {
        async fn new(rules: &[String], own: &[SocketAddr], answers: &[SocketAddr]) -> Self {
            let rules: Vec<_> = rules.iter().map(String::as_str).collect();
            let setup = ProxySetup::new(&rules);
            Self::start(ProxySetup { own: own.to_vec(), resolver: ChangingResolver::single(answers), ..setup }).await
        }

        async fn start(setup: ProxySetup) -> Self {
            let ProxySetup { rules, own, resolver, upstream, decide, head_timeout } = setup;
            let (events, mut receiver) = mpsc::channel(64);
            let upstream = upstream.and_then(|address| {
                UpstreamProxy::from_env(&|name| (name == "HTTPS_PROXY").then(|| format!("http://u:p@{address}")))
            });
            let (resolver, refusals) = (Arc::new(resolver), Arc::<Mutex<Vec<_>>>::default());
            let mut proxy = SandboxProxy::new(
                SharedRules::new(rules),
                own,
                upstream,
                SessionConnector::ended(),
                resolver.clone(),
                events,
            );
            proxy.connect_timeout = Duration::from_millis(500);
            proxy.head_timeout = head_timeout;
            let (proxy, reported) = (Arc::new(proxy), refusals.clone());
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut tasks = JoinSet::new();
            proxy.clone().resolve_configured_names().await;
            tasks.spawn(proxy.clone().serve_listener(listener));
            tasks.spawn(async move {
                while let Some(event) = receiver.recv().await {
                    match event {
                        NetworkEvent::Unknown(request) => decide(request),
                        NetworkEvent::Refused { host, port, reason } => reported.lock().push((host, port, reason)),
                    }
                }
            });
            Self { address, proxy, resolver, refusals, tasks }
        }

        fn lookups(&self) -> usize {
            self.resolver.lookups.load(Ordering::Relaxed)
        }

        /// Returns the number of connections that wait for a decision.
        fn waiting(&self) -> usize {
            MAX_WAITING_CONNECTIONS - self.proxy.waiting.available_permits()
        }

        /// Returns the reasons of the refusals since the last call.
        fn take_reasons(&self) -> Vec<RefusalReason> {
            std::mem::take(&mut *self.refusals.lock()).into_iter().map(|(_, _, reason)| reason).collect()
        }

        /// Returns the first line of the answer to a request, empty if the connection is closed without one.
        async fn status(&self, request: &str) -> String {
            let mut answer = BufReader::new(self.send(request).await);
            let mut line = String::new();
            match answer.read_line(&mut line).await {
                Ok(_) => line.trim_end().to_owned(),
                Err(error) => format!("{line}{error}"),
            }
        }

        /// Returns everything up to the end of the connection.
        async fn whole_answer(&self, request: &str) -> String {
            let mut answer = Vec::new();
            self.send(request).await.read_to_end(&mut answer).await.ok();
            String::from_utf8_lossy(&answer).into_owned()
        }

        async fn send(&self, request: &str) -> TcpStream {
            let mut stream = TcpStream::connect(self.address).await.unwrap();
            // A server that has read enough closes before everything is written.
            stream.write_all(request.as_bytes()).await.ok();
            stream
        }

        async fn tunnel(&self, target: &str) -> String {
            self.status(&format!("CONNECT {target} HTTP/1.1\r\nHost: elsewhere\r\n\r\n")).await
        }
    }

    /// Starts a server that records the bytes it receives.
    async fn recording_server() -> (SocketAddr, Arc<Mutex<Vec<u8>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, received) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let record = received.clone();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let record = record.clone();
                tokio::spawn(async move {
                    let mut bytes = [0; 4096];
                    while let Ok(length @ 1..) = stream.read(&mut bytes).await {
                        record.lock().extend_from_slice(&bytes[..length]);
                        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi").await.ok();
                    }
                });
            }
        });
        (address, received)
    }

    /// An address that counts as public, and is not assigned.
    const UNREACHABLE: SocketAddr = SocketAddr::new(IpAddr::V6(Ipv6Addr::new(0x3ffe, 0xffff, 0, 0, 0, 0, 0, 1)), 1);

    const OK: &str = "HTTP/1.1 200 OK";
    const FORBIDDEN: &str = "HTTP/1.1 403 Forbidden";
    const BAD_REQUEST: &str = "HTTP/1.1 400 Bad Request";

    #[tokio::test]
    async fn addresses_that_are_not_public_need_host_and_port() {
        let (server, _) = recording_server().await;
        let port = server.port();
        let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        // By a name that resolves to this machine, as rebinding and decimal addresses do.
        let rules = ["name.test".to_owned(), "2130706433".to_owned(), "*.wild.test".to_owned(), "0x7f.1".to_owned()];
        let proxy = ProxyFixture::new(&rules, &[], &[any]).await;
        for host in ["name.test", "NAME.test.", "2130706433", "a.wild.test", "0x7f.1"] {
            assert_eq!(proxy.tunnel(&format!("{host}:{port}")).await, FORBIDDEN, "{host}");
            let get = format!("GET http://{host}:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n");
            assert_eq!(proxy.status(&get).await, FORBIDDEN, "{host}");
        }
        for host in ["169.254.169.254", "10.0.0.1", "[fd00::1]", "[::ffff:10.0.0.1]", "0.0.0.0", "[::]", "192.168.1.1"]
        {
            assert_eq!(proxy.tunnel(&format!("{host}:{port}")).await, FORBIDDEN, "{host}");
        }
        let named = ProxyFixture::new(&[format!("127.0.0.1:{port}")], &[], &[any]).await;
        assert_eq!(named.tunnel(&format!("127.0.0.1:{port}")).await, OK);
        assert_eq!(named.tunnel(&format!("[::ffff:127.0.0.1]:{port}")).await, OK);
        // A name with a port may be in a private network, and not on this machine.
        let private = ProxyFixture::new(&[format!("name.test:{port}")], &[], &[any]).await;
        assert_eq!(private.tunnel(&format!("name.test:{port}")).await, FORBIDDEN);
    }

    #[tokio::test]
    async fn a_name_is_resolved_once_for_each_connection() {
        let (server, received) = recording_server().await;
        let proxy = ProxyFixture::new(&["name.test".to_owned()], &[], &[UNREACHABLE, server]).await;
        let target = format!("name.test:{}", server.port());
        // The first answer is a public address, which nothing has. The second is this machine.
        assert_ne!(proxy.tunnel(&target).await, FORBIDDEN);
        assert_eq!(proxy.lookups(), 1);
        assert_eq!(proxy.tunnel(&target).await, FORBIDDEN);
        assert_eq!((proxy.lookups(), received.lock().len()), (2, 0));
    }

    #[tokio::test]
    async fn the_next_address_is_tried_if_one_does_not_answer() {
        let (server, _) = recording_server().await;
        // It accepts no connections, so that a further one waits for a place in its queue.
        let full = tokio::net::TcpSocket::new_v4().unwrap();
        full.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        let full = full.listen(1).unwrap();
        let occupied = full.local_addr().unwrap();
        let mut waiting = Vec::new();
        while let Ok(stream) = tokio::time::timeout(Duration::from_millis(200), TcpStream::connect(occupied)).await {
            waiting.push(stream);
        }
        let proxy = SandboxProxy::new(
            SharedRules::default(),
            Vec::new(),
            None,
            SessionConnector::ended(),
            Arc::new(ChangingResolver::new([Some(vec![occupied, server])])),
            mpsc::channel(1).0,
        );
        let proxy = SandboxProxy { connect_timeout: Duration::from_millis(200), ..proxy };
        let stream = proxy.connect_directly("localhost", server.port(), true).await.ok().unwrap();
        assert_eq!(stream.peer_addr().unwrap(), server);
    }

    #[tokio::test]
    async fn addresses_of_this_machine_and_metadata_services_need_their_address() {
        let own: SocketAddr = "198.51.99.7:0".parse().unwrap();
        let metadata: SocketAddr = "168.63.129.16:0".parse().unwrap();
        for answer in [own, metadata, "[fd00:ec2::254]:0".parse().unwrap(), "100.100.100.200:0".parse().unwrap()] {
            let mut setup = ProxySetup::new(&["name.test", "named.test:80"]);
            setup.resolver = ChangingResolver::single(&[answer]);
            setup.resolver.is_this_machine = |ip| ip.is_loopback() || ip == IpAddr::from([198, 51, 99, 7]);
            let proxy = ProxyFixture::start(setup).await;
            for target in ["name.test:80", "named.test:80"] {
                assert_eq!(proxy.tunnel(target).await, FORBIDDEN, "{target} at {answer}");
            }
            let literal =
                if answer.is_ipv6() { "[fd00:ec2::254]:80".to_owned() } else { format!("{}:80", answer.ip()) };
            assert_eq!(proxy.tunnel(&literal).await, FORBIDDEN, "{literal} was not allowed");
            assert_eq!(proxy.take_reasons(), [RefusalReason::Private; 3], "{answer}");
        }
    }

    #[tokio::test]
    async fn configured_names_do_not_become_private_later() {
        let (server, received) = recording_server().await;
        let private: SocketAddr = "10.1.2.3:0".parse().unwrap();
        let endpoint = |name: &str| {
            let url = format!("http://{name}:{}/mcp", server.port());
            HostRule::from_endpoint(&switchboard_agents::AgentEndpoint::from_configured_url(&url).unwrap())
        };
        let target = format!("mcp.example.com:{}", server.port());
        let start = async |answers: &[SocketAddr]| {
            let mut setup = ProxySetup::new(&[]);
            setup.rules.push(endpoint("mcp.example.com"));
            setup.resolver = ChangingResolver::single(answers);
            ProxyFixture::start(setup).await
        };
        let rebound = start(&[UNREACHABLE, private]).await;
        assert_eq!(rebound.tunnel(&target).await, FORBIDDEN);
        // One that is private at the start may be reached, and not on this machine.
        let private_at_start = start(&[private]).await;
        assert_ne!(private_at_start.tunnel(&target).await, FORBIDDEN);
        let local_later = start(&[private, server]).await;
        assert_eq!(local_later.tunnel(&target).await, FORBIDDEN);
        assert_eq!(received.lock().len(), 0);
    }

    #[tokio::test]
    async fn private_names_are_refused_without_a_lookup() {
        let proxy =
            ProxyFixture::new(&["intranet".to_owned(), "*.corp.internal".to_owned()], &[], &[UNREACHABLE]).await;
        for host in
            ["intranet", "a.corp.internal", "metadata.google.internal", "a.localhost", "printer.local", "router"]
        {
            assert_eq!(proxy.tunnel(&format!("{host}:80")).await, FORBIDDEN, "{host}");
        }
        assert_eq!((proxy.lookups(), proxy.take_reasons().len()), (0, 6));
    }

    #[tokio::test]
    async fn waiting_connections_leave_room_for_others() {
        let (server, _) = recording_server().await;
        let target = format!("127.0.0.1:{}", server.port());
        // No answer comes.
        let setup = ProxySetup { decide: std::mem::forget, ..ProxySetup::new(&[&target]) };
        let proxy = ProxyFixture::start(setup).await;
        let mut waiting = Vec::new();
        for number in 0..MAX_WAITING_CONNECTIONS {
            waiting.push(proxy.send(&format!("CONNECT h{number}.test:1 HTTP/1.1\r\nHost: x\r\n\r\n")).await);
        }
        while proxy.waiting() < MAX_WAITING_CONNECTIONS {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        assert_eq!(proxy.tunnel("one-more.test:1").await, FORBIDDEN);
        assert_eq!(proxy.take_reasons(), [RefusalReason::TooManyWaiting]);
        assert_eq!(proxy.tunnel(&target).await, OK);
    }

    /// Starts another proxy. It records the first line of each request with its credentials, refuses tunnels to
    /// addresses if it filters by name, and sends `through` to the others.
    async fn upstream_proxy(filters_by_name: bool) -> (SocketAddr, Arc<Mutex<Vec<String>>>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, requests) = (listener.local_addr().unwrap(), Arc::<Mutex<Vec<String>>>::default());
        let record = requests.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let mut stream = BufReader::new(stream);
                let mut lines = Vec::new();
                loop {
                    let mut line = String::new();
                    stream.read_line(&mut line).await.unwrap();
                    match line.trim_end() {
                        "" => break,
                        line => lines.push(line.to_owned()),
                    }
                }
                let Some(first) = lines.first().cloned() else { continue };
                assert!(
                    lines.iter().any(|line| line.eq_ignore_ascii_case("proxy-authorization: Basic dTpw")),
                    "{lines:?}"
                );
                let is_address = first.starts_with("CONNECT 192.88.98.1");
                record.lock().push(first);
                let answer = match is_address && filters_by_name {
                    true => "HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n",
                    false => "HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\nthrough",
                };
                let answer = if lines[0].starts_with("CONNECT") && !answer.contains("403") {
                    "HTTP/1.1 200 OK\r\n\r\n"
                } else {
                    answer
                };
                stream.write_all(answer.as_bytes()).await.ok();
            }
        });
        (address, requests)
    }

    /// A public address, which the upstream proxies of tests only repeat.
    const CHECKED: &str = "192.88.98.1:0";

    async fn proxy_behind(
        upstream: SocketAddr,
        rules: &[&str],
        resolver: ChangingResolver,
        own: &[SocketAddr],
    ) -> ProxyFixture {
        let setup = ProxySetup::new(rules);
        let decide = |request: ConnectionRequest| request.reply.send(true).unwrap();
        let (upstream, own) = (Some(upstream), own.to_vec());
        ProxyFixture::start(ProxySetup { upstream, resolver, own, decide, ..setup }).await
    }

    #[tokio::test]
    async fn a_proxy_on_this_machine_gets_the_checked_address() {
        let (upstream, requests) = upstream_proxy(false).await;
        let take = || std::mem::take(&mut *requests.lock());
        let checked = || ChangingResolver::single(&[CHECKED.parse().unwrap()]);
        let proxy = proxy_behind(upstream, &["*.wild.test", "name.test"], checked(), &[]).await;
        for host in ["a.wild.test", "name.test", "approved.test"] {
            assert_eq!(proxy.tunnel(&format!("{host}:443")).await, OK, "{host}");
            assert_eq!(take(), ["CONNECT 192.88.98.1:443 HTTP/1.1"], "{host}");
        }
        // A failed lookup must not be left to the other proxy, unless the settings name the host.
        let failing = proxy_behind(upstream, &["*.wild.test", "name.test"], ChangingResolver::new([None]), &[]).await;
        for host in ["a.wild.test", "approved.test"] {
            assert_eq!(failing.tunnel(&format!("{host}:443")).await, FORBIDDEN, "{host}");
        }
        assert_eq!((failing.take_reasons(), take()), (vec![RefusalReason::Unresolved; 2], Vec::new()));
        assert_eq!(failing.tunnel("name.test:443").await, OK);
        assert_eq!(take(), ["CONNECT name.test:443 HTTP/1.1"]);
        // A name that leads to this machine goes nowhere.
        let local = ChangingResolver::single(&["127.0.0.1:0".parse().unwrap()]);
        let local = proxy_behind(upstream, &["name.test"], local, &[]).await;
        assert_eq!(local.tunnel("name.test:443").await, FORBIDDEN);
        assert_eq!(take(), Vec::<String>::new());
    }

    #[tokio::test]
    async fn a_proxy_on_this_machine_that_filters_by_name_gets_names_of_the_settings() {
        let (upstream, requests) = upstream_proxy(true).await;
        let own: SocketAddr = "127.0.0.1:8787".parse().unwrap();
        let checked = ChangingResolver::single(&[CHECKED.parse().unwrap()]);
        let proxy = proxy_behind(upstream, &["*.wild.test", "name.test"], checked, &[own]).await;
        assert_eq!(proxy.tunnel("name.test:443").await, OK);
        assert_eq!(proxy.tunnel("a.wild.test:443").await, "HTTP/1.1 502 Bad Gateway");
        assert_eq!(proxy.tunnel("name.test:8787").await, FORBIDDEN, "this process listens there");
        let requests = requests.lock().clone();
        let sent = ["192.88.98.1:443", "name.test:443", "192.88.98.1:443", "192.88.98.1:8787"];
        assert_eq!(requests, sent.map(|target| format!("CONNECT {target} HTTP/1.1")));
    }

    #[tokio::test]
    async fn a_proxy_elsewhere_gets_names() {
        let (upstream, requests) = upstream_proxy(true).await;
        let elsewhere = |answer: Option<&str>| {
            let resolver = ChangingResolver::new([answer.map(|answer| vec![answer.parse().unwrap()])]);
            ChangingResolver { is_this_machine: |_| false, ..resolver }
        };
        let proxy = proxy_behind(upstream, &["name.test"], elsewhere(Some(CHECKED)), &[]).await;
        assert_eq!(proxy.tunnel("name.test:443").await, OK);
        // Plain requests keep their form: many proxies refuse tunnels to port 80.
        let get = "GET http://name.test/path?q HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: own\r\nConnection: close\r\n\r\n";
        assert!(proxy.whole_answer(get).await.ends_with("through"));
        let failing = proxy_behind(upstream, &["*.wild.test"], elsewhere(None), &[]).await;
        assert_eq!(failing.tunnel("approved.test:443").await, OK, "a person knows names that only this proxy knows");
        assert_eq!(failing.tunnel("a.wild.test:443").await, FORBIDDEN);
        let requests = requests.lock().clone();
        let sent = ["CONNECT name.test:443", "GET http://name.test/path?q", "CONNECT approved.test:443"];
        assert_eq!(requests, sent.map(|line| format!("{line} HTTP/1.1")));
    }

    #[tokio::test]
    async fn bytes_of_tls_pass_unchanged() {
        let (server, received) = recording_server().await;
        let target = format!("127.0.0.1:{}", server.port());
        let proxy = ProxyFixture::new(std::slice::from_ref(&target), &[], &[server]).await;
        let mut stream = BufReader::new(proxy.send(&format!("CONNECT {target} HTTP/1.1\r\n\r\n")).await);
        let mut line = String::new();
        while line.trim_end() != "" || line.is_empty() {
            line.clear();
            stream.read_line(&mut line).await.unwrap();
        }
        // A client hello and anything else, also if it looks like a request.
        let mut sent = b"\x16\x03\x01\x02\x00\x01\x00GET http://evil.test/ HTTP/1.1\r\n\r\n".to_vec();
        sent.extend(0..=u8::MAX);
        stream.write_all(&sent).await.unwrap();
        let mut answer = [0; 15];
        stream.read_exact(&mut answer).await.unwrap();
        assert_eq!(&answer, b"HTTP/1.1 200 OK");
        while received.lock().len() < sent.len() {
            tokio::task::yield_now().await;
        }
        assert_eq!(*received.lock(), sent);
    }

    #[tokio::test]
    async fn a_redirect_to_a_refused_host_leads_nowhere() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let server = listener.local_addr().unwrap();
        let (secret, received) = recording_server().await;
        tokio::spawn(async move {
            let (mut stream, _) = listener.accept().await.unwrap();
            assert_ne!(stream.read(&mut [0; 4096]).await.unwrap(), 0);
            let answer = format!(
                "HTTP/1.1 302 Found\r\nLocation: http://name.test:{}/\r\nContent-Length: 0\r\n\r\n",
                secret.port()
            );
            stream.write_all(answer.as_bytes()).await.unwrap();
        });
        let rules = [server.to_string(), "name.test".to_owned()];
        let proxy = ProxyFixture::new(&rules, &[], &[SocketAddr::from((Ipv4Addr::LOCALHOST, 0))]).await;
        let get = |url: &str| format!("GET {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
        let answer = proxy.whole_answer(&get(&format!("http://{server}/"))).await;
        let location =
            answer.lines().find_map(|line| line.to_ascii_lowercase().strip_prefix("location: ").map(str::to_owned));
        // The client follows it, and the proxy does not.
        assert_eq!(proxy.status(&get(&location.unwrap())).await, FORBIDDEN);
        assert_eq!(received.lock().len(), 0);
    }

    #[tokio::test]
    async fn slow_clients_are_disconnected() {
        let setup = ProxySetup { head_timeout: Duration::from_millis(100), ..ProxySetup::new(&[]) };
        let proxy = ProxyFixture::start(setup).await;
        let mut slow = proxy.send("CONNECT name.test:443 HTTP/1.1\r\nX: ").await;
        let mut answer = Vec::new();
        slow.read_to_end(&mut answer).await.ok();
        assert!(!answer.starts_with(OK.as_bytes()));
    }

    #[tokio::test]
    async fn a_thousand_connections_hold_a_bounded_number_of_tasks() {
        let (server, _) = recording_server().await;
        let target = format!("127.0.0.1:{}", server.port());
        let proxy = ProxyFixture::new(std::slice::from_ref(&target), &[], &[server]).await;
        let mut clients = Vec::new();
        for _ in 0..1000 {
            // The system accepts more than the proxy, up to the length of its queue.
            let connected = tokio::time::timeout(Duration::from_millis(100), TcpStream::connect(proxy.address));
            let Ok(Ok(stream)) = connected.await else { break };
            clients.push(stream);
        }
        assert!(clients.len() >= MAX_CONNECTIONS, "{}", clients.len());
        let alive = tokio::runtime::Handle::current().metrics().num_alive_tasks();
        assert!(alive <= MAX_CONNECTIONS + 16, "{alive} tasks for {} connections", clients.len());
        drop(clients);
        assert_eq!(proxy.tunnel(&target).await, OK);
        assert_eq!(proxy.tasks.len(), 2);
    }

    #[tokio::test]
    async fn own_listeners_are_never_reached() {
        let (server, _) = recording_server().await;
        let port = server.port();
        let rules = ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0"].map(|host| format!("{host}:{port}"));
        let proxy = ProxyFixture::new(&rules, &[server], &[server]).await;
        for host in ["127.0.0.1", "127.0.0.2", "localhost", "0.0.0.0", "[::ffff:127.0.0.1]"] {
            assert_eq!(proxy.tunnel(&format!("{host}:{port}")).await, FORBIDDEN, "{host}");
        }
        let everywhere = SocketAddr::from((Ipv4Addr::UNSPECIFIED, port));
        let proxy = ProxyFixture::new(&rules, &[everywhere], &[server]).await;
        assert_eq!(proxy.tunnel(&format!("127.0.0.1:{port}")).await, FORBIDDEN);
    }

    #[tokio::test]
    async fn requests_are_not_smuggled() {
        let (server, received) = recording_server().await;
        let port = server.port();
        let proxy = ProxyFixture::new(&[format!("127.0.0.1:{port}")], &[], &[server]).await;
        let url = format!("http://127.0.0.1:{port}/path?x=1");
        let answer = proxy
            .whole_answer(&format!(
                "GET {url} HTTP/1.1\r\nHost: evil.test\r\nProxy-Authorization: secret\r\nConnection: close, X-Hop\r\nX-Hop: 1\r\n\r\n"
            ))
            .await;
        assert!(answer.starts_with(OK) && answer.ends_with("hi"), "{answer}");
        let sent = String::from_utf8(std::mem::take(&mut *received.lock())).unwrap().to_ascii_lowercase();
        assert!(sent.starts_with("get /path?x=1 http/1.1\r\n"), "{sent}");
        assert!(sent.contains(&format!("host: 127.0.0.1:{port}\r\n")), "{sent}");
        assert!(!["evil", "secret", "x-hop"].iter().any(|word| sent.contains(word)), "{sent}");
        for bad in [
            "GET / HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            format!("GET https://127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"),
            format!("GET http://user@127.0.0.1:{port}/ HTTP/1.1\r\nHost: x\r\n\r\n"),
            format!("CONNECT 127.0.0.1:{port}:1 HTTP/1.1\r\nHost: x\r\n\r\n"),
            "CONNECT 127.0.0.1 HTTP/1.1\r\nHost: x\r\n\r\n".to_owned(),
            format!("POST {url} HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 9\r\n\r\nx"),
            format!("POST {url} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: identity, chunked, x\r\n\r\nx"),
            "\u{16}\u{3}\u{1}tls".to_owned(),
        ] {
            let status = proxy.status(&bad).await;
            assert!(status == BAD_REQUEST || status.is_empty(), "{bad}: {status}");
        }
        let both = format!(
            "POST {url} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /smuggled HTTP/1.1\r\n\r\n"
        );
        proxy.whole_answer(&both).await;
        let sent = String::from_utf8_lossy(&received.lock()).into_owned();
        assert!(!sent.contains("smuggled"), "{sent}");
    }

    #[tokio::test]
    async fn large_heads_and_many_connections_are_bounded() {
        let (server, _) = recording_server().await;
        let target = format!("127.0.0.1:{}", server.port());
        let proxy = ProxyFixture::new(std::slice::from_ref(&target), &[], &[server]).await;
        // Not more than the proxy reads: bytes that it leaves unread reset the connection, which may lose its answer.
        let large = format!("CONNECT {target} HTTP/1.1\r\nX: {}", "x".repeat(MAX_HEAD_BYTES));
        let large = large.get(..MAX_HEAD_BYTES).unwrap_or_default();
        assert_eq!(proxy.status(large).await, "HTTP/1.1 431 Request Header Fields Too Large");
        let endless = format!("CONNECT {target} HTTP/1.1\r\nX: {}", "x".repeat(200_000));
        assert_ne!(proxy.status(&endless).await, OK);
        // An answered request shows that the connection is served. It stays open for the next one.
        let mut served = Vec::new();
        for _ in 0..MAX_CONNECTIONS {
            let mut client = proxy.send("GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
            let mut status = [0; 12];
            client.read_exact(&mut status).await.unwrap();
            assert_eq!(&status, b"HTTP/1.1 400");
            served.push(client);
        }
        let mut waiting = Box::pin(proxy.tunnel(&target));
        let answer = tokio::time::timeout(Duration::from_secs(1), &mut waiting).await;
        assert!(answer.is_err(), "no more than {MAX_CONNECTIONS} are served at once: {answer:?}");
        drop(served);
        assert_eq!(waiting.await, OK, "another connection is served");
    }
}
