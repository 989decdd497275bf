//! Processes that lost their supervisor. They become children of this process, which starts nothing but supervisors, so
//! that they are recognized whatever their environment or process group is.

use std::{
    collections::BTreeSet,
    io,
    process::{Child, Command},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use rustix::process::{WaitOptions, getpid, set_child_subreaper, waitpid};

use super::process::{self, Stat, from_pid, to_pid};

/// Whether orphans come to this process.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The children that this process has started itself.
static STARTED: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// Makes this process the parent of all orphans below it. For programs that start no processes but through this module:
/// every other child is taken for the orphan of a session, and killed when the supervisor of any session is lost.
///
/// # Errors
/// If the kernel refuses.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid()))?;
    ADOPTS.store(true, Ordering::Release);
    Ok(())
}

/// A child that is not taken for an orphan.
#[derive(Debug)]
pub struct StartedChild(Child);

impl StartedChild {
    /// Starts it.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        // Held while it starts: it can be seen before its number is known here.
        let mut started = started();
        let child = command.spawn()?;
        started.insert(child.id());
        Ok(Self(child))
    }

    /// Its number, which no other process gets before it is reaped.
    pub fn pid(&self) -> u32 {
        self.0.id()
    }

    /// Waits for its end.
    pub fn reap(mut self) {
        // First, so that a later process with the same number is not taken for it.
        started().remove(&self.0.id());
        drop(self.0.wait());
    }
}

fn started() -> MutexGuard<'static, BTreeSet<u32>> {
    STARTED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether a process came to us because its supervisor died.
pub fn is_orphan(stat: Stat) -> bool {
    ADOPTS.load(Ordering::Acquire) && stat.parent == own_pid() && !started().contains(&stat.process.pid)
}

/// Whether there are any, dead or alive.
pub fn any_orphan() -> bool {
    ADOPTS.load(Ordering::Acquire) && process::all().is_ok_and(|mut all| all.any(is_orphan))
}

/// Takes the ends of those that are dead.
pub fn reap_orphans() {
    if !ADOPTS.load(Ordering::Acquire) {
        return;
    }
    for stat in process::all().into_iter().flatten().filter(|stat| stat.is_dead && is_orphan(*stat)) {
        if let Some(pid) = to_pid(stat.process.pid) {
            waitpid(Some(pid), WaitOptions::NOHANG).ok();
        }
    }
}

fn own_pid() -> u32 {
    from_pid(getpid())
}
