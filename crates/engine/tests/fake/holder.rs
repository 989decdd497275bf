//! The roles of Switchboard itself: holds an agent or a shell, and can be killed by a test.

use std::{
    env,
    fs::File,
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use rustix::process::{getpid, setsid};
use switchboard_engine::supervise::{
    Confinement, DirectoryView, IsolatedNetwork, ProcessSpec, SESSION_VARIABLE, adopt_orphans,
    remove_abandoned_cgroups, remove_all_abandoned_cgroups, start_agent,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader},
    net::UnixStream,
    runtime::Builder,
};

use super::{announce_process, print_line, stop_signals};

/// The grace period when a script is stopped.
const STOP_GRACE: Duration = Duration::from_millis(200);

/// Starts an agent that plays `role`, repeats its output, and sends it `ping` whenever a signal arrives.
pub fn hold_agent(role: &[&str]) -> io::Result<()> {
    Builder::new_current_thread().enable_all().build()?.block_on(run_agent(role))
}

/// Holds an agent as the leader of a session on a terminal.
pub fn hold_on_terminal(path: &str, role: &[&str]) -> io::Result<()> {
    setsid()?;
    // The first terminal that the leader of a session opens becomes the session's.
    let _terminal = File::options().read(true).write(true).open(path)?;
    hold_agent(role)
}

async fn run_agent(role: &[&str]) -> io::Result<()> {
    let signals = stop_signals()?;
    signals.set_nonblocking(true)?;
    let mut signals = UnixStream::from_std(signals)?;
    let running = start_agent(Path::new("/proc/self/exe"), agent_spec(role)?).await.map_err(io::Error::other)?;
    announce_process("holder");
    let mut stdin = running.stdin.ok_or(io::ErrorKind::BrokenPipe)?;
    let mut lines = BufReader::new(running.stdout).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => print_line(&line),
                None => return Ok(()),
            },
            signal = signals.read_u8() => {
                signal?;
                print_line("signal");
                stdin.write_all(b"ping\n").await?;
            }
        }
    }
}

/// Returns the spec of the agent. Its session is the holder's own, so that the test knows it.
#[expect(clippy::disallowed_methods, reason = "a test passes the session in the environment")]
fn agent_spec(role: &[&str]) -> io::Result<ProcessSpec> {
    Ok(ProcessSpec {
        argv: [env::current_exe()?.into_os_string()].into_iter().chain(role.iter().map(Into::into)).collect(),
        env: Vec::new(),
        cwd: "/".into(),
        cwd_identity: None,
        has_stdin: true,
        confinement: None,
        session: env::var(SESSION_VARIABLE).unwrap_or_else(|_| format!("holder-{:?}", getpid())),
    })
}

/// Runs the script in the last argument, with the sandbox that the arguments before it describe; `free` means none.
/// Repeats its output, stops it when it prints `stop me`, and prints how it ended. `recover` only removes the groups of
/// dead owners.
pub fn hold_shell(args: &[&str]) -> io::Result<()> {
    if args.contains(&"recover") {
        remove_abandoned_cgroups();
        remove_all_abandoned_cgroups();
        print_line("recovered");
        return Ok(());
    }
    adopt_orphans()?;
    Builder::new_current_thread().enable_all().build()?.block_on(run_shell(args))
}

async fn run_shell(args: &[&str]) -> io::Result<()> {
    let (script, settings) = args.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    let mut running = match start_agent(Path::new("/proc/self/exe"), shell_spec(script, settings)).await {
        Ok(running) => running,
        Err(error) => {
            print_line(&format!("refused: {error}"));
            return Ok(());
        }
    };
    for (feature, reason) in running.sandbox.iter().flat_map(|report| &report.missing) {
        print_line(&format!("missing: {feature}: {reason}"));
    }
    drop(running.stdin.take());
    let mut lines = BufReader::new(running.stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if line == "stop me" {
            running.control.stop(STOP_GRACE);
        }
        print_line(&line);
    }
    let mut errors = BufReader::new(running.stderr).lines();
    while let Some(line) = errors.next_line().await? {
        print_line(&format!("stderr: {line}"));
    }
    let exit = running.control.exit().await;
    print_line(&format!("gone: {} left", running.control.wait_until_gone().await));
    print_line(&format!("exit: {:?} {:?}", exit.code, exit.signal));
    Ok(())
}

fn shell_spec(script: &str, settings: &[&str]) -> ProcessSpec {
    let mut confinement = Confinement::default();
    for setting in settings {
        match setting.split_once('=') {
            Some(("w", path)) => confinement.writable.push(path.into()),
            Some(("p", path)) => confinement.protected.push(path.into()),
            Some(("x", path)) => confinement.hidden.push(path.into()),
            Some(("l", address)) => {
                let network = confinement.network.get_or_insert_with(IsolatedNetwork::default);
                network.listeners.extend(address.parse::<std::net::SocketAddr>().ok());
            }
            Some(("v", view)) => confinement.views.extend(directory_view(view)),
            None if *setting == "isolated" => {
                let env = vec![("HTTP_PROXY".into(), "http://127.0.0.1:3128".into())];
                confinement.network.get_or_insert_with(IsolatedNetwork::default).env = env;
            }
            _ => confinement.best_effort = *setting == "best-effort",
        }
    }
    ProcessSpec {
        argv: ["sh", "-c", script].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into())],
        cwd: confinement.writable.first().cloned().unwrap_or_else(|| PathBuf::from("/")),
        cwd_identity: None,
        has_stdin: true,
        confinement: (!settings.contains(&"free")).then_some(confinement),
        session: format!("shell-{}", std::process::id()),
    }
}

/// Parses `PATH:KEPT,…`.
fn directory_view(text: &str) -> Option<DirectoryView> {
    let (path, names) = text.split_once(':')?;
    Some(DirectoryView { path: path.into(), kept: names.split(',').map(Into::into).collect() })
}
