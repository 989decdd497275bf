//! The HTTP proxy of a confined session: tunnels (`CONNECT`) and plain HTTP requests, to hosts that the rules or a
//! person allow. It resolves names itself and connects to the address that it has checked, so a name that changes its
//! address gains nothing. TLS passes through it untouched.

use std::{
    io,
    net::{IpAddr, SocketAddr, UdpSocket},
    sync::Arc,
    time::Duration,
};

use bytes::Bytes;
use http_body_util::{BodyExt, Full, combinators::BoxBody};
use hyper::{
    Method, Request, Response, StatusCode, Uri,
    body::Incoming,
    client, header,
    header::{HeaderMap, HeaderName, HeaderValue},
    server::conn::http1,
    service::service_fn,
    upgrade::OnUpgrade,
};
use hyper_util::rt::{TokioIo, TokioTimer};
use parking_lot::Mutex;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::timeout,
};

use super::{
    addresses::{HostResolver, is_loopback_or_link_local, is_public},
    connect_inside,
    rules::{HostPermission, SharedRules, bracket_host, normalize_host},
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

pub trait ProxiedStream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> ProxiedStream for T {}

type ResponseBody = BoxBody<Bytes, hyper::Error>;

pub struct SandboxProxy {
    pub rules: SharedRules,
    pub own_listeners: Vec<SocketAddr>,
    pub upstream: Option<UpstreamProxy>,
    pub connector: SessionConnector,
    pub resolver: Arc<dyn HostResolver>,
    pub events: mpsc::Sender<NetworkEvent>,
}

#[derive(Default)]
struct ClientState {
    /// The tunnel that the connection becomes.
    tunnel: Option<(OnUpgrade, Box<dyn ProxiedStream>)>,
    /// Connections to hosts of plain requests.
    connections: JoinSet<()>,
}

impl SandboxProxy {
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
            .header_read_timeout(HEAD_TIMEOUT)
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
        let stream = match self.connect(&host, port).await {
            Ok(stream) => stream,
            Err(error) => return refusal_response(&host, port, &error),
        };
        if is_tunnel {
            let tunnel = (hyper::upgrade::on(&mut request), stream);
            state.lock().tunnel = Some(tunnel);
            return text_response(StatusCode::OK, "");
        }
        match forward_request(request, &host, port, stream, state).await {
            Ok(response) => response.map(BodyExt::boxed),
            Err(error) => refusal_response(&host, port, &ConnectError::Unreachable(io::Error::other(error))),
        }
    }

    /// Connects to a host, if that is allowed.
    async fn connect(&self, host: &str, port: u16) -> Result<Box<dyn ProxiedStream>, ConnectError> {
        let literal = host.parse::<IpAddr>().ok();
        let is_loopback = host == "localhost" || literal.is_some_and(|ip| ip.is_loopback());
        let permission = match self.rules.permission(host, port) {
            Some(permission) => permission,
            // The loopback of the session itself, for programs that use the proxy for everything.
            None if is_loopback => {
                let address = SocketAddr::new(literal.unwrap_or(IpAddr::from([127, 0, 0, 1])), port);
                let address = if host == "localhost" { format!("localhost:{port}") } else { address.to_string() };
                let stream = connect_inside(&self.connector, &address).await.map_err(ConnectError::Unreachable)?;
                return Ok(Box::new(stream));
            }
            None if literal.is_some_and(|ip| !is_public(ip)) => {
                return Err(self.refuse(host, port, RefusalReason::Private).await);
            }
            None => self.request_permission(host, port).await?,
        };
        // A local host is not behind another proxy, and its address can be checked only here.
        let is_local = host == "localhost" || literal.is_some_and(|ip| !is_public(ip));
        if let Some(upstream) = self.upstream.as_ref().filter(|upstream| !is_local && upstream.serves(host)) {
            self.check_before_upstream(host, port, permission).await?;
            let stream = timeout(CONNECT_TIMEOUT, upstream.connect(host, port)).await;
            return Ok(Box::new(stream.map_err(timed_out)?.map_err(ConnectError::Unreachable)?));
        }
        self.connect_directly(host, port, permission).await.map(|stream| Box::new(stream) as Box<dyn ProxiedStream>)
    }

    /// Refuses a name that leads to this machine or to a private network, as far as this machine can resolve it. The
    /// upstream proxy may know more names, and resolves them itself.
    async fn check_before_upstream(
        &self,
        host: &str,
        port: u16,
        permission: HostPermission,
    ) -> Result<(), ConnectError> {
        match timeout(RESOLVE_TIMEOUT, self.resolver.resolve(host, port)).await {
            Ok(Ok(addresses)) if !addresses.iter().all(|address| self.may_reach(host, address, permission)) => {
                Err(self.refuse(host, port, self.refusal_reason(&addresses)).await)
            }
            _ => Ok(()),
        }
    }

    fn may_reach(&self, host: &str, address: &SocketAddr, permission: HostPermission) -> bool {
        let is_named = host.parse::<IpAddr>().is_err() && host != "localhost";
        let ip = address.ip();
        let is_private_allowed = permission.may_be_private && !(is_named && is_loopback_or_link_local(ip));
        !self.is_own_listener(address) && (is_public(ip) || is_private_allowed)
    }

    /// Connects to an allowed host, at an allowed address.
    pub(super) async fn connect_directly(
        &self,
        host: &str,
        port: u16,
        permission: HostPermission,
    ) -> Result<TcpStream, ConnectError> {
        let resolved = match host.parse::<IpAddr>() {
            Ok(ip) => vec![SocketAddr::new(ip, port)],
            Err(_) => {
                let addresses = timeout(RESOLVE_TIMEOUT, self.resolver.resolve(host, port)).await;
                addresses.map_err(timed_out)?.map_err(ConnectError::Unreachable)?
            }
        };
        let addresses: Vec<_> =
            resolved.iter().copied().filter(|address| self.may_reach(host, address, permission)).collect();
        if addresses.is_empty() && !resolved.is_empty() {
            return Err(self.refuse(host, port, self.refusal_reason(&resolved)).await);
        }
        let mut last = io::Error::other("the name has no address");
        for address in addresses {
            match timeout(CONNECT_TIMEOUT, TcpStream::connect(address)).await.map_err(timed_out)? {
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
        // Only an address of this machine can be bound.
        let mut is_here = same_port.filter(|own| {
            own.ip().to_canonical() == ip || own.ip().is_unspecified() || ip.is_unspecified() || ip.is_loopback()
        });
        is_here.any(|own| own.ip().to_canonical() == ip || UdpSocket::bind((ip, 0)).is_ok())
    }

    async fn request_permission(&self, host: &str, port: u16) -> Result<HostPermission, ConnectError> {
        let (reply, decision) = oneshot::channel();
        let (_waits, waiting) = mpsc::channel(1);
        let request = ConnectionRequest { host: host.to_owned(), port, reply, waiting };
        // If the session is over, so is its network.
        drop(self.events.send(NetworkEvent::Unknown(request)).await);
        match decision.await {
            Ok(true) => Ok(HostPermission { may_be_private: false }),
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

fn timed_out<E>(_: E) -> ConnectError {
    ConnectError::Unreachable(io::ErrorKind::TimedOut.into())
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

/// Headers that apply to one connection only.
const HOP_BY_HOP_HEADERS: &[&str] = &[
    "connection",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "upgrade",
];

/// Forwards a plain request, with the host that was checked.
async fn forward_request(
    request: Request<Incoming>,
    host: &str,
    port: u16,
    stream: Box<dyn ProxiedStream>,
    state: &Mutex<ClientState>,
) -> Result<Response<Incoming>, hyper::Error> {
    let (mut parts, body) = request.into_parts();
    let path = parts.uri.path_and_query().map_or("/", |path| path.as_str());
    parts.uri = path.parse().unwrap_or_else(|_| Uri::from_static("/"));
    remove_hop_by_hop(&mut parts.headers);
    let bracketed = bracket_host(host);
    let authority = if port == 80 { bracketed.into_owned() } else { format!("{bracketed}:{port}") };
    if let Ok(authority) = HeaderValue::from_str(&authority) {
        parts.headers.insert(header::HOST, authority);
    }
    let (mut sender, connection) = client::conn::http1::handshake(TokioIo::new(stream)).await?;
    {
        let connections = &mut state.lock().connections;
        while connections.try_join_next().is_some() {}
        connections.spawn(async move { drop(connection.await) });
    }
    let mut response = sender.send_request(Request::from_parts(parts, body)).await?;
    remove_hop_by_hop(response.headers_mut());
    Ok(response)
}

fn remove_hop_by_hop(headers: &mut HeaderMap) {
    let named = headers.get_all(header::CONNECTION).iter().filter_map(|value| value.to_str().ok());
    let named: Vec<_> = named.flat_map(|value| value.split(',')).map(|name| name.trim().to_ascii_lowercase()).collect();
    for name in HOP_BY_HOP_HEADERS.iter().copied().chain(named.iter().map(String::as_str)) {
        if let Ok(name) = HeaderName::from_bytes(name.as_bytes()) {
            headers.remove(name);
        }
    }
}

fn refusal_response(host: &str, port: u16, error: &ConnectError) -> Response<ResponseBody> {
    match error {
        ConnectError::Refused => text_response(
            StatusCode::FORBIDDEN,
            &format!(
                "The sandbox does not allow connections to {host}:{port}. Allow it with --allow-domain {host} (config.allowedDomains).\n"
            ),
        ),
        ConnectError::Never(RefusalReason::OwnListener) => text_response(
            StatusCode::FORBIDDEN,
            &format!("The sandbox does not allow connections to {host}:{port}, where Switchboard itself listens.\n"),
        ),
        ConnectError::Never(RefusalReason::Private) => text_response(
            StatusCode::FORBIDDEN,
            &format!(
                "The sandbox does not allow connections to {host}:{port}, which is on this machine or in a private network.\n"
            ),
        ),
        ConnectError::Unreachable(error) => {
            text_response(StatusCode::BAD_GATEWAY, &format!("Cannot connect to {host}:{port}: {error}\n"))
        }
    }
}

fn text_response(status: StatusCode, text: &str) -> Response<ResponseBody> {
    let body = Full::new(Bytes::copy_from_slice(text.as_bytes())).map_err(|never| match never {}).boxed();
    let mut response = Response::new(body);
    *response.status_mut() = status;
    if !text.is_empty() {
        response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    }
    response
}

#[cfg(test)]
mod tests {
    use std::{
        collections::VecDeque,
        io,
        net::{Ipv4Addr, SocketAddr},
        sync::Arc,
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

    use super::{MAX_HEAD_BYTES, SandboxProxy};
    use crate::{
        network::{MAX_CONNECTIONS, addresses::HostResolver, parse_domain, rules::SharedRules},
        supervise::SessionConnector,
    };

    /// A resolver that gives another answer each time, and repeats the last one.
    struct ChangingResolver(Mutex<VecDeque<SocketAddr>>);

    impl HostResolver for ChangingResolver {
        fn resolve<'a>(&'a self, _: &'a str, port: u16) -> BoxFuture<'a, io::Result<Vec<SocketAddr>>> {
            let mut answers = self.0.lock();
            let mut answer = if answers.len() > 1 { answers.pop_front() } else { answers.front().copied() }.unwrap();
            if answer.port() == 0 {
                answer.set_port(port);
            }
            Box::pin(async move { Ok(vec![answer]) })
        }
    }

    /// A proxy with a session that declines all requests.
    struct ProxyFixture {
        address: SocketAddr,
        _tasks: JoinSet<()>,
    }

    impl ProxyFixture {
        async fn new(rules: &[String], own: &[SocketAddr], answers: &[SocketAddr]) -> Self {
            let (events, mut receiver) = mpsc::channel(64);
            let proxy = Arc::new(SandboxProxy {
                rules: SharedRules::new(rules.iter().flat_map(|rule| parse_domain(rule).unwrap()).collect()),
                own_listeners: own.to_vec(),
                upstream: None,
                connector: SessionConnector::ended(),
                resolver: Arc::new(ChangingResolver(Mutex::new(answers.iter().copied().collect()))),
                events,
            });
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap();
            let mut tasks = JoinSet::new();
            tasks.spawn(proxy.serve_listener(listener));
            tasks.spawn(async move { while receiver.recv().await.is_some() {} });
            Self { address, _tasks: tasks }
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
        let (server, _) = recording_server().await;
        let rule = format!("10.0.0.1:{}", server.port());
        // The first answer is one that cannot be reached, the second is this machine.
        let public: SocketAddr = "[100::1]:1".parse().unwrap();
        let proxy = ProxyFixture::new(&["name.test".to_owned(), rule], &[], &[public, server]).await;
        for _ in 0..3 {
            assert_eq!(proxy.tunnel(&format!("name.test:{}", server.port())).await, FORBIDDEN);
        }
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
