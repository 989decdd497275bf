//! Who we are among the processes that share a log.

use switchboard_event::Id;
use switchboard_store::{Owner, Process};

use crate::supervise;

/// This process, as the log knows it.
#[must_use]
pub fn this_process() -> Owner {
    let pid = std::process::id();
    let process = Process { pid, start: supervise::start_time(pid).unwrap_or_default() };
    Owner { process, boot: boot() }
}

/// Which boot of the machine this is. Pids of another boot are of no use.
pub(crate) fn boot() -> Id {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Id::from(text.trim())
}
