//! The proxy against hostile requests, names and connections.

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
    ConnectionRequest, HEAD_TIMEOUT, MAX_HEAD_BYTES, MAX_WAITING_CONNECTIONS, NetworkEvent, RefusalReason, SandboxProxy,
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
        Self { answers, lookups: AtomicUsize::new(0), is_this_machine: |ip| ip.is_loopback() || ip.is_unspecified() }
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
    for host in ["169.254.169.254", "10.0.0.1", "[fd00::1]", "[::ffff:10.0.0.1]", "0.0.0.0", "[::]", "192.168.1.1"] {
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
        let literal = if answer.is_ipv6() { "[fd00:ec2::254]:80".to_owned() } else { format!("{}:80", answer.ip()) };
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
    let proxy = ProxyFixture::new(&["intranet".to_owned(), "*.corp.internal".to_owned()], &[], &[UNREACHABLE]).await;
    for host in ["intranet", "a.corp.internal", "metadata.google.internal", "a.localhost", "printer.local", "router"] {
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
            assert!(lines.iter().any(|line| line.eq_ignore_ascii_case("proxy-authorization: Basic dTpw")), "{lines:?}");
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
        let answer =
            format!("HTTP/1.1 302 Found\r\nLocation: http://name.test:{}/\r\nContent-Length: 0\r\n\r\n", secret.port());
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
