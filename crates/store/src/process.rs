//! The recorded processes of sessions. A pid alone may have been reused by now. This module never inspects or stops a
//! process.

use switchboard_event::{Id, Timestamp};

use crate::SessionRecord;

/// The identity of a process, which distinguishes it from later processes with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// The process ID.
    pub pid: u32,
    /// The start time in the units of the system.
    pub start: u64,
}

/// A process that runs sessions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogOwner {
    /// The process.
    pub process: ProcessIdentity,
    /// The machine and its boot; pids are only meaningful within one boot.
    pub boot: Id,
}

/// An owner that is registered in the log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisteredOwner {
    /// The number of the owner; the files `owners/NUMBER.*` belong to it.
    pub number: u64,
    /// The owner.
    pub owner: LogOwner,
    /// Whether it holds its lock.
    pub alive: bool,
}

/// The processes of one run of an agent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AgentRun {
    /// The number of the run in the session, from 1.
    pub run: u32,
    /// The machine and its boot.
    pub boot: Id,
    /// The supervisor process of the agent.
    pub supervisor: Option<ProcessIdentity>,
    /// The agent process.
    pub agent: Option<ProcessIdentity>,
    /// The start time.
    pub started: Timestamp,
    /// The time when all processes of the run had ended.
    pub ended: Option<Timestamp>,
}

/// An open session whose owner is dead.
#[derive(Clone, Debug)]
pub struct AbandonedSession {
    /// The session.
    pub session: SessionRecord,
    /// The runs without a recorded end.
    pub runs: Vec<AgentRun>,
}
