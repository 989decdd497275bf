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

/// How long a child lives if nobody ends it: longer than any test, and not for ever.
pub const CHILD_LIVES: Duration = Duration::from_secs(600);

/// What a child says when it is as it should be.
const READY: &[u8] = b"ready";

/// Starts a child, and waits until it is as it should be.
pub fn start(words: &[String]) -> anyhow::Result<()> {
    let holds = words.iter().any(|word| word == "holds");
    let output = if holds { Stdio::inherit() } else { Stdio::null() };
    let mut child = process(words)?.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn()?;
    let mut said = [0; READY.len()];
    child.stderr.take().context("no pipe")?.read_exact(&mut said).context("the child did not get ready")?;
    if words.iter().any(|word| word == "orphan") {
        ensure!(child.wait()?.success(), "the child's parent failed");
    }
    Ok(())
}

/// The child itself. An orphan is the child of a parent that is gone.
pub fn child(words: &[String]) -> anyhow::Result<()> {
    let is = |what: &str| words.iter().any(|word| word == what);
    if is("orphan") {
        let rest: Vec<_> = words.iter().filter(|word| *word != "orphan").cloned().collect();
        process(&rest)?.spawn()?;
        return Ok(());
    }
    if is("setsid") {
        setsid()?;
    }
    if is("stubborn") {
        ignore_signals()?;
    }
    io::stderr().write_all(READY)?;
    thread::sleep(CHILD_LIVES);
    Ok(())
}

/// Pays no attention to the signals that ask a program to end.
pub fn ignore_signals() -> anyhow::Result<()> {
    for signal in TERM_SIGNALS.iter().chain([&signal_hook::consts::SIGHUP]) {
        flag::register(*signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a fake's children are meant to be left behind")]
fn process(words: &[String]) -> anyhow::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.arg("fake-child").args(words);
    Ok(command)
}
