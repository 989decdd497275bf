//! Kills what a run left behind whose supervisor was killed too. Blocks, for as long as the processes need to die.

use std::{
    collections::HashMap,
    io,
    os::fd::OwnedFd,
    time::{Duration, Instant},
};

use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::Signal,
};

use super::process::{self, Process, Stat};

/// What came of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were there, and are no more.
    pub killed: usize,
    /// Processes that could not be killed: they have another user's rights, or hang in the kernel.
    pub left: Vec<Process>,
}

/// How long the kernel may need for the processes of one round to die.
const PATIENCE: Duration = Duration::from_secs(5);

/// Kills every process that carries the mark of a session, the `known` ones as far as they still run, and all that
/// descends from any of them. A pid that was given to another process since then is left alone, and so are we and
/// those we descend from.
pub fn sweep(session: &str, known: &[Process]) -> io::Result<Swept> {
    let mut hunt = Hunt::new(session, known)?;
    while hunt.freeze()? && hunt.kill() {}
    let left = hunt.left();
    Ok(Swept { killed: hunt.found.len() - left.len(), left })
}

/// All that was found so far. Found processes are stopped before any is killed: else their children would lose their
/// parent, and with it what tells us that they belong to the session.
struct Hunt<'a> {
    session: &'a str,
    known: &'a [Process],
    /// We, and those we descend from.
    spared: Vec<u32>,
    found: HashMap<Process, Option<OwnedFd>>,
    alive: Vec<Process>,
}

impl<'a> Hunt<'a> {
    fn new(session: &'a str, known: &'a [Process]) -> io::Result<Self> {
        let all = process::all()?;
        let mut spared = vec![std::process::id()];
        let parent_of = |pid| all.iter().find(|stat| stat.process.pid == pid).map(|stat| stat.parent);
        while let Some(parent) = spared.last().and_then(|pid| parent_of(*pid)).filter(|pid| !spared.contains(pid)) {
            spared.push(parent);
        }
        Ok(Self { session, known, spared, found: HashMap::new(), alive: Vec::new() })
    }

    /// Stops all that is to be killed, until there is nothing new. Says whether there is anything to kill.
    fn freeze(&mut self) -> io::Result<bool> {
        self.alive.clear();
        loop {
            let targets = self.targets()?;
            let new: Vec<_> = targets.into_iter().filter(|process| !self.alive.contains(process)).collect();
            let new: Vec<_> =
                new.into_iter().filter(|process| !matches!(self.found.get(process), Some(None))).collect();
            if new.is_empty() {
                return Ok(!self.alive.is_empty());
            }
            for process in new {
                match process.kill(Signal::STOP) {
                    Ok(handle) => {
                        self.found.insert(process, Some(handle));
                        self.alive.push(process);
                    }
                    Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => {}
                    Err(_) => drop(self.found.insert(process, None)),
                }
            }
        }
    }

    fn targets(&self) -> io::Result<Vec<Process>> {
        let all = process::all()?;
        let is_root = |stat: &&Stat| {
            let process = stat.process;
            self.known.contains(&process) || self.found.contains_key(&process) || process.is_marked(self.session)
        };
        let spared = |pid: u32| self.spared.contains(&pid);
        let roots: Vec<_> = all.iter().filter(|stat| !spared(stat.process.pid)).filter(is_root).copied().collect();
        let below = process::descendants(&all, roots.iter().map(|stat| stat.process.pid));
        let targets = roots.into_iter().chain(below);
        Ok(targets.filter(|stat| !stat.is_dead && !spared(stat.process.pid)).map(|stat| stat.process).collect())
    }

    /// Kills what is stopped and waits for it to die. Says whether it did.
    fn kill(&mut self) -> bool {
        for process in &self.alive {
            drop(process.kill(Signal::KILL));
        }
        let deadline = Instant::now() + PATIENCE;
        let handles = self.alive.iter().filter_map(|process| self.found.get(process)?.as_ref());
        handles.filter(|handle| !ends(handle, deadline)).count() == 0
    }

    fn left(&self) -> Vec<Process> {
        let is_left = |process: &&Process| {
            let stat = Stat::of(process.pid);
            stat.is_some_and(|stat| stat.process == **process && !stat.is_dead)
        };
        self.found.keys().filter(is_left).copied().collect()
    }
}

/// Waits until a process has ended.
fn ends(handle: &OwnedFd, deadline: Instant) -> bool {
    let left = deadline.saturating_duration_since(Instant::now());
    let timeout = Timespec { tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX), tv_nsec: 0 };
    matches!(poll(&mut [PollFd::new(handle, PollFlags::IN)], Some(&timeout)), Ok(1..))
}
