//! Children that a fake leaves behind.

use std::{
    io::{self, Read as _, Write as _},
    process::{Command, Stdio},
    sync::{Arc, atomic::AtomicBool},
    thread,
    time::Duration,
};

use anyhow::{Context as _, ensure};
use rustix::process::setsid;
use signal_hook::{consts::TERM_SIGNALS, flag};

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
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("fake-child").args(words);
    Ok(command)
}
