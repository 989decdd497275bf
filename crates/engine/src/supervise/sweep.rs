//! Kills the processes that a run left behind after its supervisor was killed. Blocks until the processes are dead.
//!
//! Processes that lost their supervisor become children of this process, which starts nothing but supervisors, so they
//! are recognized whatever their environment or process group is.

use std::{
    collections::{BTreeSet, HashMap},
    io,
    os::fd::OwnedFd,
    process::{Child, Command},
    sync::atomic::{AtomicBool, Ordering},
    time::{Duration, Instant},
};

use parking_lot::Mutex;
use rustix::{
    event::{PollFd, PollFlags, Timespec, poll},
    io::Errno,
    process::{Signal, WaitOptions, getpid, set_child_subreaper, waitpid},
};

use super::process::{ProcessRef, ProcessStat, descendants, processes, to_pid};

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SweepResult {
    pub killed: usize,
    /// Processes that could not be killed: they have another user's privileges, or hang in the kernel.
    pub left: Vec<ProcessRef>,
}

/// The number of consecutive rounds without a new process after which all are taken to be found.
const STABLE_ROUNDS: usize = 3;

/// The maximum duration of a sweep. All but hopeless cases take milliseconds.
const SWEEP_TIMEOUT: Duration = Duration::from_secs(10);

/// Kills every process that carries the mark of a session, the `known` ones that still run, every orphan that this
/// process has adopted, and all their descendants. A PID that now belongs to another process is left alone, and so are
/// this process and its ancestors.
pub fn sweep_session(session: &str, known: &[ProcessRef]) -> io::Result<SweepResult> {
    let mut sweep = ProcessSweep::new(session, known)?;
    loop {
        sweep.stop_all()?;
        sweep.kill_stopped();
        let left = sweep.find_left()?;
        // Processes that were found before and still run cannot be killed.
        if sweep.is_overdue() || left.iter().all(|process| sweep.found.contains_key(process)) {
            reap_orphans();
            return Ok(sweep.into_result(left));
        }
    }
}

/// The processes found so far. They are stopped before any is killed: otherwise their children would lose their parent,
/// which is what identifies them as part of the session.
struct ProcessSweep<'a> {
    session: &'a str,
    known: &'a [ProcessRef],
    /// This process and its ancestors.
    spared: Vec<u32>,
    /// Each has a handle that becomes readable when it ends, unless signalling it is not permitted.
    found: HashMap<ProcessRef, Option<OwnedFd>>,
    deadline: Instant,
}

impl<'a> ProcessSweep<'a> {
    fn new(session: &'a str, known: &'a [ProcessRef]) -> io::Result<Self> {
        let parents: HashMap<_, _> = processes()?.map(|stat| (stat.process.pid, stat.parent)).collect();
        let mut spared = vec![std::process::id()];
        let parent_of = |pid: &u32| parents.get(pid).copied();
        while let Some(parent) = spared.last().and_then(parent_of).filter(|pid| !spared.contains(pid)) {
            spared.push(parent);
        }
        Ok(Self { session, known, spared, found: HashMap::new(), deadline: Instant::now() + SWEEP_TIMEOUT })
    }

    fn is_overdue(&self) -> bool {
        self.deadline <= Instant::now()
    }

    /// Stops all processes to be killed, until no new ones appear.
    fn stop_all(&mut self) -> io::Result<()> {
        let mut stable_rounds = 0;
        // A process that is executing another program at this moment has no mark, so the table is read again if
        // anything was found at all.
        while stable_rounds < STABLE_ROUNDS && !self.is_overdue() {
            stable_rounds = if self.stop_once()? { 0 } else { stable_rounds + 1 };
            if self.found.is_empty() {
                break;
            }
        }
        Ok(())
    }

    /// Returns whether there was anything new.
    fn stop_once(&mut self) -> io::Result<bool> {
        let (mut all, mut roots, mut has_new) = (Vec::new(), Vec::new(), false);
        for stat in processes()? {
            all.push(stat);
            if self.is_root(stat) {
                // At once: a process that keeps forking and exiting would be another one after the whole table was
                // read.
                has_new |= self.stop(stat);
                roots.push(stat.process.pid);
            }
        }
        for stat in descendants(&all, roots) {
            has_new |= self.stop(stat);
        }
        Ok(has_new)
    }

    fn is_root(&self, stat: ProcessStat) -> bool {
        let process = stat.process;
        let is_known = || self.known.contains(&process) || self.found.contains_key(&process) || is_orphan(stat);
        !self.spared.contains(&process.pid) && (is_known() || process.is_marked(self.session))
    }

    /// Returns whether it was running and is stopped now.
    fn stop(&mut self, ProcessStat { process, is_dead, .. }: ProcessStat) -> bool {
        if is_dead || self.found.contains_key(&process) || self.spared.contains(&process.pid) {
            return false;
        }
        match process.signal(Signal::STOP) {
            Err(error) if error.raw_os_error() == Some(Errno::SRCH.raw_os_error()) => false,
            stopped => self.found.insert(process, stopped.ok()).is_none(),
        }
    }

    /// Kills the stopped processes, and waits for them to die.
    fn kill_stopped(&self) {
        for process in self.found.keys() {
            drop(process.signal(Signal::KILL));
        }
        for handle in self.found.values().flatten() {
            let left = self.deadline.saturating_duration_since(Instant::now());
            let timeout = Timespec::try_from(left).ok();
            poll(&mut [PollFd::new(handle, PollFlags::IN)], timeout.as_ref()).ok();
        }
    }

    fn find_left(&self) -> io::Result<Vec<ProcessRef>> {
        let is_left = |stat: &ProcessStat| !stat.is_dead && self.is_root(*stat);
        Ok(processes()?.filter(is_left).map(|stat| stat.process).collect())
    }

    fn into_result(mut self, left: Vec<ProcessRef>) -> SweepResult {
        left.iter().for_each(|process| drop(self.found.remove(process)));
        SweepResult { killed: self.found.len(), left }
    }
}

static ADOPTS_ORPHANS: AtomicBool = AtomicBool::new(false);

static STARTED_CHILDREN: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Makes this process the parent of all orphans below it. For programs that start no processes but through this module:
/// every other child is taken for the orphan of a session, and killed when the supervisor of any session is lost.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS_ORPHANS.store(true, Ordering::Release);
    Ok(())
}

/// A child that is not taken for an orphan.
#[derive(Debug)]
pub struct StartedChild(Child);

impl StartedChild {
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        // Locked while it starts: it is visible in `/proc` before its PID is known here.
        let mut started = STARTED_CHILDREN.lock();
        let child = command.spawn()?;
        started.insert(child.id());
        Ok(Self(child))
    }

    /// Returns the PID, which no other process gets before this child is reaped.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    pub fn reap(mut self) {
        // First, so that a later process with the same PID is not taken for it.
        STARTED_CHILDREN.lock().remove(&self.0.id());
        drop(self.0.wait());
    }
}

/// Returns whether this process adopted a process because its supervisor died.
fn is_orphan(stat: ProcessStat) -> bool {
    ADOPTS_ORPHANS.load(Ordering::Acquire)
        && stat.parent == std::process::id()
        && !STARTED_CHILDREN.lock().contains(&stat.process.pid)
}

/// Returns whether there are any orphans, dead or alive.
pub fn has_orphans() -> bool {
    ADOPTS_ORPHANS.load(Ordering::Acquire) && processes().is_ok_and(|mut all| all.any(is_orphan))
}

fn reap_orphans() {
    if !ADOPTS_ORPHANS.load(Ordering::Acquire) {
        return;
    }
    for stat in processes().into_iter().flatten().filter(|stat| stat.is_dead && is_orphan(*stat)) {
        if let Some(pid) = to_pid(stat.process.pid) {
            waitpid(Some(pid), WaitOptions::NOHANG).ok();
        }
    }
}
