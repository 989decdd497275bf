//! The sandbox around an agent with all permissions: forbidden files do not appear, whether the agent writes with its
//! own tool or with a command, and it keeps working.

use std::io::{Read, Write};
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr as UnixAddress, UnixListener};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;
use std::{fs, io, thread};

use anyhow::{Context as _, ensure};
use serde_json::json;
use switchboard_event::{ApprovalMode, EndReason, Id, SessionConfig};
use switchboard_testkit::clis::AgentCliPaths;
use switchboard_testkit::model::ScriptedModel;
use switchboard_testkit::stage::{REMOTE_ADDRESS, StageProcessOutput};

use crate::embedded_engine::EmbeddedEngine;
use crate::observed_run::ObservedRun;
use crate::trial::{LiveTrial, agent_abilities, start_server, wait_for_run};

/// Nothing changes in the workspace or around it.
pub fn enforce_read_only(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let workspace = create_workspace(trial)?;
    let observed = attempt_writes(trial, &workspace, "read-only")?;
    let there = file_names(&workspace);
    ensure!(there == ["kept.txt"], "in the workspace: {there:?}\n{}", observed.ended.describe_output());
    ensure!(fs::read_to_string(workspace.join("kept.txt"))? == "kept\n", "a file was changed");
    check_nothing_outside(trial, &observed)
}

/// Files are written in the workspace, although it lies in the temporary directory, and nowhere else.
pub fn enforce_workspace_write(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let workspace = create_workspace(trial)?;
    let observed = attempt_writes(trial, &workspace, "workspace-write")?;
    let there = file_names(&workspace);
    ensure!(
        there == ["by-command.txt", "by-tool.txt"],
        "in the workspace: {there:?}\n{}",
        observed.ended.describe_output()
    );
    check_nothing_outside(trial, &observed)
}

/// Git works in a confined session, except for settings that would run code later; a notice says how to allow those.
pub fn protect_repository(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let workspace = create_workspace(trial)?;
    let folder = workspace.to_string_lossy().into_owned();
    let git = "git -c user.name=a -c user.email=a@b.example -c init.defaultBranch=main";
    let prepared = trial.stage.run(
        Path::new("/bin/sh"),
        &["-c", &format!("cd '{folder}' && {git} init -q . && {git} add . && {git} commit -qm first")],
        "",
    )?;
    ensure!(prepared.code == Some(0), "{}", prepared.describe_output());
    let config = fs::read_to_string(workspace.join(".git/config"))?;
    let works = format!(
        "echo more >> kept.txt; {git} commit -qam second; git branch other; git clone -q . clone; {git} init -q sub; \
         git worktree add -q tree other; printf '%s%s\\n' tri ed"
    );
    let fails = "git remote add origin https://example.invalid/x.git; echo evil > .git/hooks/pre-commit; \
                 git config core.hooksPath .husky; mv .git .old; printf '%s%s\\n' tri ed";
    let calls = [trial.cli.shell_directive(&works), trial.cli.shell_directive(fails)].join(" [[then]] ");
    let flags = ["--approval", "auto-all", "--sandbox", "workspace-write", "--cwd", &folder];
    let observed = trial.run(&format!("{calls} [[then]] [[text finished]]"), &flags)?;
    observed.check_end(0, EndReason::Completed)?;
    let there = file_names(&workspace);
    ensure!(there == [".git", "clone", "kept.txt", "sub", "tree"], "{there:?}\n{}", observed.ended.describe_output());
    ensure!(fs::read_to_string(workspace.join(".git/config"))? == config, "the configuration was changed");
    ensure!(!workspace.join(".git/hooks/pre-commit").exists(), "a hook was written");
    for made in [".git/refs/heads/other", "clone/.git/HEAD", "sub/.git/HEAD", "tree/.git"] {
        ensure!(workspace.join(made).exists(), "there is no {made}\n{}", observed.ended.describe_output());
    }
    let log = trial.stage.run(Path::new("/usr/bin/env"), &["git", "-C", &folder, "log", "--oneline"], "")?;
    ensure!(log.stdout.contains("second"), "{}", log.describe_output());
    let notices = observed.notice_text();
    ensure!(trial.cli.terse || notices.contains("config.writablePaths"), "{notices}");
    ensure!(notices.contains("sub/.git/config") && notices.contains("clone/.git/config"), "{notices}");
    Ok(())
}

/// Agent settings that run code later stay unchanged, and a confined session can be continued.
pub fn protect_settings(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let home = trial.stage.home_dir();
    let directories = |folder: &Path| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
        entries.filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    let planted: Vec<_> = directories(&home).into_iter().chain(directories(&home.join(".config"))).collect();
    let writes: String = planted
        .iter()
        .map(|path| {
            format!("mkdir -p '{0}'; echo evil > '{0}/settings.json'; echo evil > '{0}/planted'; ", path.display())
        })
        .collect();
    let before: Vec<_> = planted.iter().map(|path| fs::read(path.join("settings.json")).ok()).collect();
    let calls = trial.cli.shell_directive(&format!("{writes} echo evil >> ~/.bashrc; echo evil > ~/.gitconfig; true"));
    let flags = ["--approval", "auto-all", "--sandbox", "read-only"];
    let observed = trial.run(&format!("{calls} [[then]] [[text finished]]"), &flags)?;
    observed.check_end(0, EndReason::Completed)?;
    let after: Vec<_> = planted.iter().map(|path| fs::read(path.join("settings.json")).ok()).collect();
    ensure!(before == after, "settings were changed\n{}", observed.ended.describe_output());
    for path in planted.iter().map(|path| path.join("planted")).chain([home.join(".bashrc"), home.join(".gitconfig")]) {
        let text = fs::read_to_string(&path).unwrap_or_default();
        ensure!(!text.contains("evil"), "{} was written\n{}", path.display(), observed.ended.describe_output());
    }
    if agent_abilities(trial.cli).resume {
        let observed = trial.resume_last("[[text continued]]", &flags)?;
        observed.check_end(0, EndReason::Completed)?;
        ensure!(observed.agent_text().ends_with("continued"), "{}", observed.ended.describe_output());
        let asked = trial.stage.scripted_model().conversation_requests();
        let remembers = asked.last().is_some_and(|request| request.body.to_string().contains("finished"));
        ensure!(remembers, "the conversation was lost\n{}", observed.ended.describe_output());
    }
    Ok(())
}

/// Creates a workspace with a file in the temporary directory.
fn create_workspace(trial: &LiveTrial<'_>) -> anyhow::Result<PathBuf> {
    let workspace = trial.stage.root_dir().join("tmp/workspace");
    fs::create_dir(&workspace)?;
    fs::write(workspace.join("kept.txt"), "kept\n")?;
    Ok(workspace)
}

/// Files that must not be written: in the home directory, above the workspace, and in the temporary directory.
fn outside_files(trial: &LiveTrial<'_>) -> [PathBuf; 3] {
    [trial.stage.home_dir(), trial.stage.root_dir().to_owned(), trial.stage.root_dir().join("tmp")]
        .map(|folder| folder.join("outside.txt"))
}

/// Has the agent write everywhere.
fn attempt_writes(trial: &LiveTrial<'_>, workspace: &Path, sandbox: &str) -> anyhow::Result<ObservedRun> {
    let by_tool = |path: &Path| trial.cli.write_directive(path, "text\n");
    let outside = outside_files(trial);
    let mut calls = vec![by_tool(&workspace.join("by-tool.txt"))];
    calls.extend(outside.iter().map(|path| by_tool(path)));
    let paths: String = outside.iter().map(|path| format!("echo x > '{}'; ", path.display())).collect();
    let command = format!("echo x > by-command.txt; echo x >> kept.txt; rm kept.txt; {paths} printf '%s%s\\n' tri ed");
    calls.push(trial.cli.shell_directive(&command));
    let prompt = format!("{} [[then]] [[text finished]]", calls.join(" [[then]] "));
    let (folder, mode) = (workspace.to_string_lossy(), ["--approval", "auto-all", "--sandbox", sandbox]);
    let observed = trial.run(&prompt, &[&mode[..], &["--cwd", &folder]].concat())?;
    observed.check_end(0, EndReason::Completed)?;
    ensure!(
        observed.agent_text().ends_with("finished"),
        "{:?}\n{}",
        observed.agent_text(),
        observed.ended.describe_output()
    );
    // Not all agents report the output of a command, but all of them send it to the model.
    let asked = trial.stage.scripted_model().conversation_requests();
    let results: Vec<_> = asked.iter().map(|request| &request.results).collect();
    let tried = asked.iter().any(|request| request.body.to_string().contains("tried"));
    ensure!(tried, "the command did not run: {results:?}\n{}", observed.ended.describe_output());
    Ok(observed)
}

fn check_nothing_outside(trial: &LiveTrial<'_>, observed: &ObservedRun) -> anyhow::Result<()> {
    for path in outside_files(trial) {
        ensure!(!path.exists(), "{} was written\n{}", path.display(), observed.ended.describe_output());
    }
    Ok(())
}

fn file_names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}

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
    let observed = wait_for_run(trial.spawn_switchboard(&words, &variables)?)?;
    observed.check_end(0, EndReason::Completed)?;
    ensure!(
        observed.agent_text().ends_with("finished"),
        "{:?}\n{}",
        observed.agent_text(),
        observed.ended.describe_output()
    );
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
    let observed = inside.run_from_events(inside.session_events(&Id::from(id.as_str()))?, ended);
    let notices = observed.notice_text();
    ensure!(notices.contains(&format!("--allow-domain {UNKNOWN_HOST})")), "{notices}");
    ensure!(notices.contains(&format!("--allow-domain {remote_address})")), "{notices}");
    observed.check_closed()
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
