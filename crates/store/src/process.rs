//! The processes behind sessions, as they are remembered: a pid alone may be somebody else's by now. Nothing here looks
//! at a process or stops one.

use switchboard_event::{Id, Timestamp};

use crate::Session;

/// A process, so that another one with the same pid is not taken for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Process {
    /// Its id.
    pub pid: u32,
    /// When it started, as the system counts.
    pub start: u64,
}

/// A process that runs sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Owner {
    /// The process.
    pub process: Process,
    /// Which boot of which machine; pids of another are of no use.
    pub boot: Id,
}

/// An owner that the log knows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Registered {
    /// Its number; the files `owners/NUMBER.*` are its own.
    pub number: u64,
    /// Who it is.
    pub owner: Owner,
    /// It holds its lock.
    pub alive: bool,
}

/// One run of an agent: its processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// Which run of the session, from 1.
    pub run: u32,
    /// Which boot of which machine.
    pub boot: Id,
    /// What stands between us and the agent.
    pub supervisor: Option<Process>,
    /// The agent.
    pub agent: Option<Process>,
    /// When it began.
    pub started: Timestamp,
    /// When it ended, all of it.
    pub ended: Option<Timestamp>,
}

/// A session that is open, while the process that ran it is gone.
#[derive(Clone, Debug)]
pub struct Abandoned {
    /// The session.
    pub session: Session,
    /// Its runs that did not end, as far as anybody knows.
    pub runs: Vec<Run>,
}
