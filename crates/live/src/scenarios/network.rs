//! The network of confined sessions: the agent reaches its model and nothing else.

use std::{
    fs,
    io::{self, Read, Write},
    net::{Ipv6Addr, SocketAddr, TcpListener},
    os::{
        linux::net::SocketAddrExt as _,
        unix::net::{SocketAddr as UnixAddress, UnixListener},
    },
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_event::{ApprovalMode, EndReason, Id, SessionConfig};
use switchboard_testkit::{
    clis::AgentCliPaths,
    model::ScriptedModel,
    stage::{REMOTE_ADDRESS, StageProcessOutput},
};

use crate::{
    inside::EmbeddedEngine,
    served::start_server,
    trial::{LiveTrial, wait_for_run},
};

/// Time for a session to try all escape routes.
const SESSION_TIMEOUT: Duration = Duration::from_secs(90);

const UNKNOWN_HOST: &str = "unknown.example";

/// The model is not on loopback, so the agent must use the proxy.
pub fn reach_remote_model(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let model = ScriptedModel::start_on((REMOTE_ADDRESS, 0).into()).context("run this by `cargo xtask live`")?;
    let home = trial.stage.home_dir();
    let setup = (trial.cli.setup)(&AgentCliPaths { home: &home, model: &model.base_url() });
    for (file, text) in &setup.files {
        fs::write(file, text)?;
    }
    let variables: Vec<_> = setup.environment.iter().map(|(name, value)| (*name, Some(value.as_str()))).collect();
    let prompt = format!("{} [[then]] [[text finished]]", trial.cli.shell_directive("echo printed"));
    let words = ["run", trial.cli.name, &prompt, "--approval", "auto-all", "--dialect", "events"];
    let heard = wait_for_run(trial.spawn_switchboard(&words, &variables)?)?;
    heard.check_end(0, EndReason::Completed)?;
    ensure!(heard.agent_text().ends_with("finished"), "{:?}\n{}", heard.agent_text(), heard.ended.describe_output());
    let asked = model.conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1]), "the model was asked {} times", asked.len());
    ensure!(trial.stage.scripted_model().all_requests().is_empty(), "another model was asked");
    Ok(())
}

/// A command tries to reach a host, an address, this machine, the server of the session, and sockets. With the proxy
/// and around it, nothing is reached, and a notice says how to allow a host.
pub fn refuse_escape_routes(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (remote, remote_address) = ReachableServer::bind_tcp((REMOTE_ADDRESS, 0).into())?;
    let (local, local_address) = ReachableServer::bind_tcp(([127, 0, 0, 1], 0).into())?;
    // This machine may have no IPv6.
    let local6 = ReachableServer::bind_tcp((Ipv6Addr::LOCALHOST, 0).into()).ok();
    let socket = trial.stage.root_dir().join("service.sock");
    let by_path = ReachableServer::serve_unix(UnixListener::bind(&socket)?)?;
    let abstract_name = trial.stage.root_dir().display().to_string();
    let by_name = UnixListener::bind_addr(&UnixAddress::from_abstract_name(&abstract_name)?)?;
    let by_name = ReachableServer::serve_unix(by_name)?;
    let served = start_server(trial)?;
    let own = format!("127.0.0.1:{}", served.api.port);

    let mut ways = escape_routes(remote_address, local_address, &own, &socket, &abstract_name);
    ways.extend(local6.as_ref().map(|(_, address)| EscapeRoute {
        name: "loopback over IPv6",
        command: format!("curl -sSf -m 5 --noproxy '*' -g http://{address}/"),
        is_open_outside: Some(true),
    }));
    let script = trial.stage.root_dir().join("ways_out.sh");
    fs::write(&script, shell_script(&ways))?;
    let script = script.to_string_lossy();
    let outside = trial.stage.run(Path::new("/bin/sh"), &[&script], "")?;
    for (way, is_open) in ways.iter().filter_map(|way| Some((way, way.is_open_outside?))) {
        let line = format!("{}: {}\n", way.name, if is_open { "reached" } else { "refused" });
        ensure!(outside.stdout.contains(&line), "outside of a session, not {line}{}", outside.describe_output());
    }
    let servers = [&remote, &local, &by_path, &by_name];
    let before = servers.map(ReachableServer::connection_count);

    let config = SessionConfig {
        approval_mode: Some(ApprovalMode::AutoAll),
        // Not even if it is allowed by name.
        allowed_domains: Some(vec![own.clone()]),
        ..trial.session_config(&trial.stage.project_dir())
    };
    let prompt = format!("{} [[then]] [[text finished]]", trial.cli.shell_directive(&format!("sh '{script}'")));
    let id =
        served.api.start_session_with(&json!({ "agentType": trial.cli.name, "prompt": prompt, "config": config }))?;
    let view = served.api.wait_for_end(&id, SESSION_TIMEOUT)?;
    served.stop()?;
    let told: String =
        trial.stage.scripted_model().conversation_requests().iter().map(|request| request.body.to_string()).collect();
    for way in &ways {
        ensure!(told.contains(&format!("{}: refused", way.name)), "{} was not refused: {told}\n{view}", way.name);
    }
    ensure!(!told.contains(": reached"), "a way out is open: {told}");
    let after = servers.map(ReachableServer::connection_count);
    ensure!(before == after, "connections outside of the session: {before:?} and then {after:?}");

    let inside = EmbeddedEngine::new(trial)?;
    let ended = StageProcessOutput { code: None, signal: None, stdout: String::new(), stderr: String::new() };
    let heard = inside.run_from_events(inside.session_events(&Id::from(id.as_str()))?, ended);
    let notices = heard.notice_text();
    ensure!(notices.contains(&format!("--allow-domain {UNKNOWN_HOST})")), "{notices}");
    ensure!(notices.contains(&format!("--allow-domain {remote_address})")), "{notices}");
    heard.check_closed()
}

/// A command that succeeds if it gets a connection.
struct EscapeRoute {
    name: &'static str,
    command: String,
    /// Whether it works without a sandbox, which proves that the command is right; `None` if that depends on the machine.
    is_open_outside: Option<bool>,
}

fn escape_routes(
    remote: SocketAddr,
    local: SocketAddr,
    own: &str,
    socket: &Path,
    abstract_name: &str,
) -> Vec<EscapeRoute> {
    const CURL: &str = "curl -sSf -m 5";
    const PERL: &str = "perl -MIO::Socket::INET -e 'exit(IO::Socket::INET->new(PeerAddr => $ARGV[0]) ? 0 : 1)'";
    const NODE: &str = "node -e 'require(\"net\").connect(process.argv[2], process.argv[1])\
                        .on(\"connect\", () => process.exit(0)).on(\"error\", () => process.exit(1))'";
    // Connects to the first socket that exists.
    const SOCKETS: &str =
        "perl -MIO::Socket::UNIX -e 'for (@ARGV) { exit 0 if IO::Socket::UNIX->new(Peer => $_) } exit 1'";
    const DATAGRAM: &str = "perl -MIO::Socket::INET -e 'my $s = IO::Socket::INET->new(PeerAddr => $ARGV[0], \
                            Proto => \"udp\"); exit($s && $s->send(\"x\") ? 0 : 1)'";
    let (ip, port, socket) = (remote.ip(), remote.port(), socket.display());
    let refused = [
        ("host by curl", format!("{CURL} http://{UNKNOWN_HOST}/")),
        ("host by a tunnel", format!("{CURL} https://{UNKNOWN_HOST}/")),
        ("host by git", format!("git ls-remote http://{UNKNOWN_HOST}/x.git")),
        ("host by npm", format!("npm ping --fetch-retries 0 --registry http://{UNKNOWN_HOST}/")),
        ("name by the resolver", format!("getent hosts {UNKNOWN_HOST}")),
    ];
    let varying = [
        ("address by ping", format!("ping -c 1 -W 2 {ip}")),
        ("raw socket", "perl -MSocket -e 'exit(socket(my $s, PF_INET, SOCK_RAW, 1) ? 0 : 1)'".to_owned()),
        (
            "container engine",
            format!("{SOCKETS} /run/docker.sock /run/podman/podman.sock /run/containerd/containerd.sock"),
        ),
        ("SSH agent", format!("{SOCKETS} \"$SSH_AUTH_SOCK\"")),
        ("D-Bus", format!("{SOCKETS} /run/dbus/system_bus_socket \"/run/user/$(id -u)/bus\"")),
    ];
    let open = [
        ("address by the proxy", format!("{CURL} http://{remote}/")),
        ("address by curl", format!("{CURL} --noproxy '*' http://{remote}/")),
        ("address by perl", format!("{PERL} {remote}")),
        ("address by node", format!("{NODE} {ip} {port}")),
        ("address by a datagram to a name server", format!("{DATAGRAM} {ip}:53")),
        ("loopback by the proxy", format!("{CURL} --noproxy '' --proxy \"$HTTP_PROXY\" http://{local}/")),
        ("loopback by curl", format!("{CURL} --noproxy '*' http://{local}/")),
        ("own server by the proxy", format!("{CURL} --noproxy '' --proxy \"$HTTP_PROXY\" http://{own}/api/health")),
        ("own server by curl", format!("{CURL} --noproxy '*' http://{own}/api/health")),
        ("socket by its path", format!("{CURL} --noproxy '*' --unix-socket '{socket}' http://service/")),
        (
            "socket by its name",
            format!("{CURL} --noproxy '*' --abstract-unix-socket '{abstract_name}' http://service/"),
        ),
    ];
    let way = |is_open_outside| move |(name, command)| EscapeRoute { name, command, is_open_outside };
    let refused = refused.into_iter().map(way(Some(false)));
    refused.chain(open.into_iter().map(way(Some(true)))).chain(varying.into_iter().map(way(None))).collect()
}

/// A script that tries all routes and prints the result of each.
fn shell_script(ways: &[EscapeRoute]) -> String {
    let line = |way: &EscapeRoute| {
        let EscapeRoute { name, command, .. } = way;
        format!("if {command} >/dev/null 2>&1; then echo '{name}: reached'; else echo '{name}: refused'; fi\n")
    };
    ways.iter().map(line).collect()
}

/// A server that answers everything and counts its connections.
struct ReachableServer {
    connections: Arc<AtomicUsize>,
    is_stopped: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl ReachableServer {
    fn bind_tcp(address: SocketAddr) -> anyhow::Result<(Self, SocketAddr)> {
        let listener = TcpListener::bind(address).context("run this by `cargo xtask live`")?;
        let address = listener.local_addr()?;
        listener.set_nonblocking(true)?;
        Ok((Self::start(move || listener.accept().map(|(stream, _)| stream))?, address))
    }

    fn serve_unix(listener: UnixListener) -> anyhow::Result<Self> {
        listener.set_nonblocking(true)?;
        Self::start(move || listener.accept().map(|(stream, _)| stream))
    }

    fn start<S: Read + Write>(accept: impl Fn() -> io::Result<S> + Send + 'static) -> anyhow::Result<Self> {
        let (connections, is_stopped) = (Arc::<AtomicUsize>::default(), Arc::<AtomicBool>::default());
        let (count, stop) = (connections.clone(), is_stopped.clone());
        let serve = move || {
            while !stop.load(Ordering::Relaxed) {
                match accept() {
                    Ok(stream) => {
                        count.fetch_add(1, Ordering::Relaxed);
                        // The end of a connection is up to the client.
                        drop(answer_ok(stream));
                    }
                    Err(_) => thread::sleep(Duration::from_millis(5)),
                }
            }
        };
        let thread = thread::Builder::new().name("reachable server".to_owned()).spawn(serve)?;
        Ok(Self { connections, is_stopped, thread: Some(thread) })
    }

    fn connection_count(&self) -> usize {
        self.connections.load(Ordering::Relaxed)
    }
}

impl Drop for ReachableServer {
    fn drop(&mut self) {
        self.is_stopped.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            drop(thread.join());
        }
    }
}

fn answer_ok(mut stream: impl Read + Write) -> io::Result<()> {
    let mut request = [0; 4096];
    if stream.read(&mut request)? > 0 {
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")?;
    }
    Ok(())
}
