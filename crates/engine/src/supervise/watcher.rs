//! Watches a supervisor to its end, and makes sure that nothing of its session is left. A supervisor that does not do its
//! work, because it was stopped or killed, is replaced: its descendants come to this process, which kills them.

use std::{os::fd::OwnedFd, sync::Arc};

use rustix::process::{PidfdFlags, Signal};
use tokio::{
    io::{AsyncBufReadExt as _, BufReader, Interest, unix::AsyncFd},
    net::unix::OwnedReadHalf,
    sync::{oneshot, watch},
    task, time,
};

use super::{
    cgroup::SessionCgroup,
    control::{Exit, SUPERVISOR_TIMEOUT, State},
    orphans::{StartedChild, any_orphan},
    process::Process,
    sweep::sweep,
    wire::Report,
};

/// What is needed to kill the processes of a run without its supervisor.
pub struct Ending {
    pub session: String,
    /// Removed in the end, with everything that is still in it.
    pub cgroup: Option<Arc<SessionCgroup>>,
}

/// Follows the reports of a supervisor until it ends.
pub async fn watch(
    reports: OwnedReadHalf,
    supervisor: StartedChild,
    process: Process,
    ending: Ending,
    news: watch::Sender<State>,
    released: oneshot::Receiver<()>,
) {
    let mut lines = BufReader::new(reports).lines();
    let mut left = None;
    let overdue = overdue(news.subscribe(), released);
    tokio::pin!(overdue);
    let mut is_killed = false;
    loop {
        tokio::select! {
            line = lines.next_line() => match line {
                Ok(Some(line)) => note(&line, &news, &mut left),
                _ => break,
            },
            () = &mut overdue, if !is_killed => {
                is_killed = true;
                process.kill(Signal::KILL).ok();
            }
        }
    }
    // If the supervisor was killed, so is the agent, by its parent-death signal.
    news.send_modify(|state| state.exit = state.exit.or(Some(Exit::default())));
    let agent = news.borrow().agent;
    let left = task::spawn_blocking(move || clear_away(supervisor, ending, agent, left)).await;
    news.send_modify(|state| state.gone = Some(left.unwrap_or_default()));
}

fn note(line: &str, news: &watch::Sender<State>, left: &mut Option<usize>) {
    match Report::parse(line) {
        Some(Report::Started(agent)) => news.send_modify(|state| state.agent = Some(agent)),
        Some(Report::Acknowledged) => news.send_modify(|state| state.acknowledged += 1),
        Some(Report::Exited(exit)) => news.send_modify(|state| state.exit = Some(exit)),
        Some(Report::Gone(count)) => *left = Some(count),
        None => {}
    }
}

/// Ends when the supervisor should have noticed something and has not: the end of the agent, or that its session is
/// dropped.
async fn overdue(mut state: watch::Receiver<State>, released: oneshot::Receiver<()>) {
    let agent = state.wait_for(|state| state.agent.is_some()).await.ok().and_then(|state| state.agent);
    tokio::select! {
        // Dropped: then the channel is closed, too.
        _ = released => time::sleep(SUPERVISOR_TIMEOUT).await,
        () = ended(agent) => {
            if time::timeout(SUPERVISOR_TIMEOUT, state.wait_for(|state| state.exit.is_some())).await.is_ok() {
                // It does its work, so it is not disturbed: killing what is left may take longer.
                std::future::pending::<()>().await;
            }
        }
    }
}

/// Waits for a process to end, whichever parent it has.
#[expect(deprecated, reason = "the constructor is unsound only for types that do not own their descriptor")]
async fn ended(process: Option<Process>) {
    let handle = process.and_then(|process| process.open(PidfdFlags::NONBLOCK).ok());
    let handle = handle.and_then(|handle: OwnedFd| AsyncFd::with_interest(handle, Interest::READABLE).ok());
    match handle {
        Some(handle) => drop(handle.readable().await),
        None => std::future::pending().await,
    }
}

/// Kills what the supervisor has left. Returns how many processes cannot be killed.
fn clear_away(supervisor: StartedChild, ending: Ending, agent: Option<Process>, left: Option<usize>) -> usize {
    supervisor.reap();
    drop(ending.cgroup);
    match left {
        Some(left) if !any_orphan() => left,
        _ => sweep(&ending.session, agent.as_slice()).map_or(0, |swept| swept.left.len()),
    }
}
