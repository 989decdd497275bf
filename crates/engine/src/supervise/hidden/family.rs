//! Killing all our descendants, one round of it.

use rustix::{
    io::Errno,
    process::{Signal, getpgrp, getpid, kill_process_group},
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

/// Kills every descendant. Those born meanwhile are for the next round.
pub fn kill() -> Family {
    let own = from_pid(getpid());
    let all = process::all().unwrap_or_default();
    let descendants = process::descendants(&all, [own]);
    descendants.iter().filter(|stat| stat.parent == own).for_each(kill_group);
    let mut family = Family::default();
    for stat in descendants.iter().filter(|stat| !stat.is_dead) {
        family.found += 1;
        let refused = stat
            .process
            .kill(Signal::KILL)
            .is_err_and(|error| error.raw_os_error() == Some(Errno::PERM.raw_os_error()));
        family.refused += usize::from(refused);
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
