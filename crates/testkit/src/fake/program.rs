//! A fake as a program that can replace an agent.

use std::{
    env, fs,
    io::{self, Read as _, Write as _},
    net::TcpStream,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::{Duration, Instant},
};

use anyhow::{Context as _, ensure};
use rustix::process::setsid;
use signal_hook::{consts::TERM_SIGNALS, flag};

use super::{FakeProtocol, perform::parse_script};

/// Writes a program that performs a script, whatever its arguments are.
pub fn write_fake_program(folder: &Path, name: &str, script: &str) -> anyhow::Result<PathBuf> {
    parse_script(script)?;
    let (program, text) = (folder.join(name), folder.join(format!("{name}.script")));
    fs::create_dir_all(folder)?;
    fs::write(&text, script)?;
    let start = format!("#!/bin/sh\nexec '{}' fake '{}' -- \"$@\"\n", find_testkit()?.display(), text.display());
    fs::write(&program, start)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

/// Returns the test kit's program: in the directory of the running program, or in the one above for a test. A test that
/// was built alone builds it first. An existing one is used as it is; `cargo xtask test` rebuilds it.
fn find_testkit() -> anyhow::Result<PathBuf> {
    let here = env::current_exe()?;
    let folder = here.parent().context("no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().context("no folder")? } else { folder };
    let testkit = folder.join("switchboard-testkit");
    if !testkit.exists() {
        build_testkit(folder)?;
    }
    ensure!(testkit.exists(), "there is no {}; `cargo build -p switchboard-testkit` makes it", testkit.display());
    Ok(testkit)
}

#[expect(clippy::disallowed_methods, reason = "cargo is started and waited for")]
fn build_testkit(folder: &Path) -> anyhow::Result<()> {
    let profile = folder.file_name().and_then(|name| name.to_str()).filter(|name| *name != "debug").unwrap_or("dev");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "switchboard-testkit", "--profile", profile, "--target-dir"]);
    let status = cargo.arg(folder.parent().context("no folder")?).current_dir(crate::repository_root()).status()?;
    ensure!(status.success(), "cargo build: {status}");
    Ok(())
}

/// Longer than any test, but limited.
pub const CHILD_LIFETIME: Duration = Duration::from_secs(600);

/// Printed by a child once it is set up.
const READY_MESSAGE: &[u8] = b"ready";

/// Starts a child and waits until it is set up.
pub fn start_child(words: &[String]) -> anyhow::Result<()> {
    let holds = words.iter().any(|word| word == "holds");
    let output = if holds { Stdio::inherit() } else { Stdio::null() };
    let mut child = child_command(words)?.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn()?;
    let mut said = [0; READY_MESSAGE.len()];
    child.stderr.take().context("no pipe")?.read_exact(&mut said).context("the child did not get ready")?;
    if words.iter().any(|word| word == "orphan") {
        ensure!(child.wait()?.success(), "the child's parent failed");
    }
    Ok(())
}

/// Runs as the child. An orphan is started by a parent that exits.
pub fn run_child(words: &[String]) -> anyhow::Result<()> {
    let is = |what: &str| words.iter().any(|word| word == what);
    if is("orphan") {
        let rest: Vec<_> = words.iter().filter(|word| *word != "orphan").cloned().collect();
        child_command(&rest)?.spawn()?;
        return Ok(());
    }
    if is("setsid") {
        setsid()?;
    }
    if is("stubborn") {
        ignore_signals()?;
    }
    io::stderr().write_all(READY_MESSAGE)?;
    thread::sleep(CHILD_LIFETIME);
    Ok(())
}

/// Ignores SIGTERM, SIGINT, SIGQUIT and SIGHUP.
pub fn ignore_signals() -> anyhow::Result<()> {
    for signal in TERM_SIGNALS.iter().chain([&signal_hook::consts::SIGHUP]) {
        flag::register(*signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a fake's children are meant to be left behind")]
fn child_command(words: &[String]) -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("fake-child").args(words);
    Ok(command)
}

/// Makes requests in sequence and prints the duration of each.
pub fn run_fetches(wire: &mut dyn FakeProtocol, count: u32, server: &str) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "agents find their proxy in the environment")]
    let proxy = env::var("HTTP_PROXY").ok().map(|url| url.trim_start_matches("http://").to_owned());
    let (address, target) = match &proxy {
        Some(proxy) => (proxy.as_str(), format!("http://{server}/")),
        None => (server, "/".to_owned()),
    };
    let request = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    let mut times = Vec::new();
    for _ in 0..count {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        times.push(begin.elapsed().as_nanos());
        ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    wire.print_pieces(&mut times.iter().map(|time| format!("took {time}\n")));
    Ok(())
}
