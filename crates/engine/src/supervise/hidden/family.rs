//! Killing all our descendants, one round of it. Whoever is not our child becomes it when its parent dies.

use rustix::{
    io::Errno,
    process::{Signal, getpgrp, getpid, kill_process, kill_process_group},
};

use super::super::process::{self, Stat, from_pid, to_pid};

/// What a round found.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Family {
    /// Descendants that were alive.
    pub found: usize,
    /// Those among them that we may not kill.
    pub refused: usize,
}

/// Kills our children and their process groups. It takes so little time that also who forks all the time cannot get
/// away: from the look at the list to the signal it is less than a process needs to start another.
pub fn kill_children() {
    for pid in process::children(from_pid(getpid())).into_iter().filter_map(to_pid) {
        // None of them was reaped, so the number is still the child's, and so is a group of that number.
        kill_process_group(pid, Signal::KILL).ok();
        kill_process(pid, Signal::KILL).ok();
    }
}

/// Kills every descendant. Slower, but it also finds those whose parents hang in the kernel.
pub fn kill() -> Family {
    let own = from_pid(getpid());
    let all: Vec<_> = process::all().into_iter().flatten().collect();
    let descendants = process::descendants(&all, [own]);
    descendants.iter().filter(|stat| stat.parent == own).for_each(kill_group);
    let mut family = Family::default();
    for stat in descendants.iter().filter(|stat| !stat.is_dead) {
        family.found += 1;
        let killed = stat.process.kill(Signal::KILL);
        let is_refused = killed.is_err_and(|error| error.raw_os_error() == Some(Errno::PERM.raw_os_error()));
        family.refused += usize::from(is_refused);
    }
    family
}

/// Kills a child's whole group at once, so that nobody in it can fork away. The child was not reaped, which keeps the
/// group's number from being given to others. A child that has not yet left our own group is alone in it with us.
fn kill_group(child: &Stat) {
    if let Some(group) = to_pid(child.group).filter(|group| *group != getpgrp()) {
        kill_process_group(group, Signal::KILL).ok();
    }
}
