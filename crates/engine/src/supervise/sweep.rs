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

use super::{
    orphans::{is_orphan, reap_orphans},
    process::{self, Process, Stat},
};

/// What came of a sweep.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Swept {
    /// Processes that were there, and are no more.
    pub killed: usize,
    /// Processes that could not be killed: they have another user's rights, or hang in the kernel.
    pub left: Vec<Process>,
}

/// How often in a row nothing new must be seen before it is believed.
const LOOKS: usize = 3;

/// How long a sweep may take. All but hopeless cases take milliseconds.
const PATIENCE: Duration = Duration::from_secs(10);

/// Kills every process that carries the mark of a session, the `known` ones as far as they still run, every orphan that
/// came to this process, and all that descends from any of them. A pid that was given to another process since then is
/// left alone, and so are we and those we descend from.
pub fn sweep(session: &str, known: &[Process]) -> io::Result<Swept> {
    let mut hunt = Hunt::new(session, known)?;
    loop {
        hunt.freeze()?;
        hunt.kill();
        let left = hunt.left()?;
        // Those that are known and still there cannot be killed.
        if hunt.is_late() || left.iter().all(|process| hunt.found.contains_key(process)) {
            reap_orphans();
            return Ok(hunt.result(left));
        }
    }
}

/// All that was found so far. Found processes are stopped before any is killed: else their children would lose their
/// parent, and with it what tells us that they belong to the session.
struct Hunt<'a> {
    session: &'a str,
    known: &'a [Process],
    /// We, and those we descend from.
    spared: Vec<u32>,
    /// With a handle that becomes readable when it ends, unless we may not touch it.
    found: HashMap<Process, Option<OwnedFd>>,
    deadline: Instant,
}

impl<'a> Hunt<'a> {
    fn new(session: &'a str, known: &'a [Process]) -> io::Result<Self> {
        let parents: HashMap<_, _> = process::all()?.map(|stat| (stat.process.pid, stat.parent)).collect();
        let mut spared = vec![std::process::id()];
        let parent_of = |pid: &u32| parents.get(pid).copied();
        while let Some(parent) = spared.last().and_then(parent_of).filter(|pid| !spared.contains(pid)) {
            spared.push(parent);
        }
        Ok(Self { session, known, spared, found: HashMap::new(), deadline: Instant::now() + PATIENCE })
    }

    fn is_late(&self) -> bool {
        self.deadline <= Instant::now()
    }

    /// Stops all that is to be killed, until there is nothing new.
    fn freeze(&mut self) -> io::Result<()> {
        let mut quiet = 0;
        // A process that becomes another program at the moment when we look has no mark. So we look again, if there is
        // anything to be found at all.
        while quiet < LOOKS && !self.is_late() {
            quiet = if self.freeze_once()? { 0 } else { quiet + 1 };
            if self.found.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Says whether there was anything new.
    fn freeze_once(&mut self) -> io::Result<bool> {
        let (mut all, mut roots, mut any) = (Vec::new(), Vec::new(), false);
        for stat in process::all()? {
            all.push(stat);
            if self.is_root(stat) {
                // At once: who forks and ends all the time would be another when we have seen them all.
                any |= self.stop(stat);
                roots.push(stat.process.pid);
            }
        }
        for stat in process::descendants(&all, roots) {
            any |= self.stop(stat);
        }
        Ok(any)
    }

    fn is_root(&self, stat: Stat) -> bool {
        let process = stat.process;
        let is_ours = || self.known.contains(&process) || self.found.contains_key(&process) || is_orphan(stat);
        !self.spared.contains(&process.pid) && (is_ours() || process.is_marked(self.session))
    }

    /// Says whether it was running, and is not any more.
    fn stop(&mut self, Stat { process, is_dead, .. }: Stat) -> bool {
        if is_dead || self.found.contains_key(&process) || self.spared.contains(&process.pid) {
            return false;
        }
        match process.kill(Signal::STOP) {
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => false,
            stopped => self.found.insert(process, stopped.ok()).is_none(),
        }
    }

    /// Kills what is stopped, and waits for it to die.
    fn kill(&self) {
        for process in self.found.keys() {
            drop(process.kill(Signal::KILL));
        }
        for handle in self.found.values().flatten() {
            self.wait_for_end(handle);
        }
    }

    fn wait_for_end(&self, handle: &OwnedFd) {
        let left = self.deadline.saturating_duration_since(Instant::now());
        let timeout = Timespec::try_from(left).ok();
        poll(&mut [PollFd::new(handle, PollFlags::IN)], timeout.as_ref()).ok();
    }

    fn left(&self) -> io::Result<Vec<Process>> {
        let is_left = |stat: &Stat| !stat.is_dead && self.is_root(*stat);
        Ok(process::all()?.filter(is_left).map(|stat| stat.process).collect())
    }

    fn result(mut self, left: Vec<Process>) -> Swept {
        left.iter().for_each(|process| drop(self.found.remove(process)));
        Swept { killed: self.found.len(), left }
    }
}
