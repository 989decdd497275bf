//! The role of Switchboard around a hostile script: holds a shell, confined or not, and adopts its orphans.

use std::{
    io,
    path::{Path, PathBuf},
    time::Duration,
};

use switchboard_engine::supervise::{
    Confinement, DirectoryView, Input, Spec, adopt_orphans, remove_abandoned_cgroups, start,
};
use tokio::io::{AsyncBufReadExt as _, BufReader};

use super::say;

/// How long a script may take before it is stopped.
const GRACE: Duration = Duration::from_millis(200);

/// Runs the script that comes last, with the sandbox that the arguments before it describe; `free` means none. Repeats
/// its output, stops it when it says `stop me`, and says how it ended. `recover` only removes the groups of dead owners.
pub fn run(args: &[&str]) -> io::Result<()> {
    if args.contains(&"recover") {
        remove_abandoned_cgroups();
        say("recovered");
        return Ok(());
    }
    adopt_orphans()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(running(args))
}

async fn running(args: &[&str]) -> io::Result<()> {
    let (script, settings) = args.split_last().ok_or(io::ErrorKind::InvalidInput)?;
    let mut running = match start(Path::new("/proc/self/exe"), spec(script, settings)).await {
        Ok(running) => running,
        Err(error) => {
            say(&format!("refused: {error}"));
            return Ok(());
        }
    };
    for (feature, reason) in running.sandbox.iter().flat_map(|report| &report.missing) {
        say(&format!("missing: {feature}: {reason}"));
    }
    drop(running.stdin.take());
    let mut lines = BufReader::new(running.stdout).lines();
    while let Some(line) = lines.next_line().await? {
        if line == "stop me" {
            running.control.stop(GRACE);
        }
        say(&line);
    }
    let mut errors = BufReader::new(running.stderr).lines();
    while let Some(line) = errors.next_line().await? {
        say(&format!("stderr: {line}"));
    }
    let exit = running.control.exit().await;
    say(&format!("gone: {} left", running.control.gone().await));
    say(&format!("exit: {:?} {:?}", exit.code, exit.signal));
    Ok(())
}

fn spec(script: &str, settings: &[&str]) -> Spec {
    let mut confine = Confinement::default();
    for setting in settings {
        match setting.split_once('=') {
            Some(("w", path)) => confine.writable.push(path.into()),
            Some(("p", path)) => confine.protected.push(path.into()),
            Some(("x", path)) => confine.hidden.push(path.into()),
            Some(("v", view)) => confine.views.extend(directory_view(view)),
            _ => confine.best_effort = *setting == "best-effort",
        }
    }
    let cwd = confine.writable.first().cloned().unwrap_or_else(|| PathBuf::from("/"));
    let is_free = settings.contains(&"free");
    Spec {
        argv: ["sh", "-c", script].map(Into::into).to_vec(),
        env: vec![("PATH".into(), "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".into())],
        cwd,
        cwd_identity: None,
        stdin: Input::Open,
        confine: (!is_free).then_some(confine),
        session: format!("shell-{}", std::process::id()),
    }
}

/// `PATH:KEPT,…`.
fn directory_view(text: &str) -> Option<DirectoryView> {
    let (path, names) = text.split_once(':')?;
    Some(DirectoryView { path: path.into(), kept: names.split(',').map(Into::into).collect() })
}
