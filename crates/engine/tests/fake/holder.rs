//! The role of Switchboard itself: holds an agent, and can be killed.

use std::{fs::File, io, path::Path};

use rustix::process::{getpid, setsid};
use switchboard_engine::supervise::{Input, SESSION_VARIABLE, Spec, start};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};

use super::{announce, say};

/// Starts an agent that plays `role`, repeats what it says, and says `ping` to it whenever a signal comes.
pub fn hold(role: &[&str]) -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(holding(role))
}

/// The same as the leader of a session on a terminal.
pub fn on_terminal(path: &str, role: &[&str]) -> io::Result<()> {
    setsid()?;
    // The first terminal that the leader of a session opens becomes the session's.
    let _terminal = File::options().read(true).write(true).open(path)?;
    hold(role)
}

async fn holding(role: &[&str]) -> io::Result<()> {
    let signals = super::signals()?;
    signals.set_nonblocking(true)?;
    let mut signals = tokio::net::UnixStream::from_std(signals)?;
    let running = start(Path::new("/proc/self/exe"), spec(role)?).await.map_err(io::Error::other)?;
    announce("holder");
    let mut stdin = running.stdin.ok_or(io::ErrorKind::BrokenPipe)?;
    let mut lines = BufReader::new(running.stdout).lines();
    loop {
        tokio::select! {
            line = lines.next_line() => match line? {
                Some(line) => say(&line),
                None => return Ok(()),
            },
            signal = signals.read_u8() => {
                signal?;
                say("signal");
                stdin.write_all(b"ping\n").await?;
            }
        }
    }
}

/// The session is the holder's own, so that the test knows it.
#[expect(clippy::disallowed_methods, reason = "a fake agent asks for what it likes")]
fn spec(role: &[&str]) -> io::Result<Spec> {
    let exe = std::env::current_exe()?;
    let argv = [exe.into_os_string()].into_iter().chain(role.iter().map(Into::into)).collect();
    let session = std::env::var(SESSION_VARIABLE).unwrap_or_else(|_| format!("holder-{:?}", getpid()));
    let (env, cwd, cwd_identity) = (Vec::new(), "/".into(), None);
    Ok(Spec { argv, env, cwd, cwd_identity, stdin: Input::Open, confine: None, session })
}
