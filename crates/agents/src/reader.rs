//! The contract between an agent's folder and the rest: a [`Reader`] looks at records and tells the [`Scribe`]
//! what they mean.

use switchboard_event::{Decider, Dir, Fault, Id, Notice, SessionConfig, Topic, Usage};

use crate::{Json, Scribe};

/// Reads what one agent says, record by record. It never fails: what it does not understand it leaves, and the
/// translator keeps it as a `notice`.
pub trait Reader: Send {
    /// The records say when they happened: events wait for the first that does, so that those before have a time of the
    /// stream and not that of its reading.
    fn tells_time(&self) -> bool {
        false
    }

    /// The product's own name for itself, where logs know it by another name than users type.
    fn product(&self) -> Option<&'static str> {
        None
    }

    /// Looks at one JSON record and writes the events that it means.
    fn read(&mut self, dir: Dir, record: Json<'_>, scribe: &mut Scribe);

    /// Looks at one record that is text, not JSON. Most agents print such lines by accident.
    fn text(&mut self, dir: Dir, line: &str, scribe: &mut Scribe) {
        let _unused = dir;
        scribe.notice(Notice::new(Topic::Stdout).with_text(line.trim_end_matches('\r')));
    }

    /// Hears what the wire never says.
    fn note(&mut self, note: &Note<'_>, scribe: &mut Scribe) {
        let _unused = (note, scribe);
    }

    /// The record belongs to another session than those before: some files have several, one after the other.
    fn is_another(&self, record: Json<'_>, scribe: &Scribe) -> bool {
        let _unused = (record, scribe);
        false
    }

    /// The last record says that the agent has nothing left to do, though it has no word for the end of a turn: something
    /// that belongs to the turn may still follow.
    fn is_resting(&self) -> bool {
        false
    }

    /// The stream is over: a last chance to close in the agent's own way what is open. The scribe closes the rest.
    fn end(&mut self, scribe: &mut Scribe) {
        let _unused = scribe;
    }
}

/// What is known about a session beside what its agent says.
#[derive(Clone, Debug, Default)]
pub struct Start {
    /// The settings it was started with.
    pub config: SessionConfig,
    /// The prompt it was started with, where that is not on the wire.
    pub prompt: Option<String>,
    /// The session that it continues.
    pub resumed: Option<Id>,
    /// What a running total of usage had reached before this run.
    pub usage_base: Option<Usage>,
}

/// What the wire never says.
#[derive(Clone, Debug)]
pub enum Note<'a> {
    /// A line on the agent's standard error.
    Stderr(&'a str),
    /// A request will be answered, and this is who decided it: the wire shows only the answer.
    Decided(&'a Id, Decider),
    /// Something to know that Switchboard itself has to say.
    Said(&'a Notice),
    /// We are stopping the agent.
    Stopping(Why),
    /// Nothing more is wanted of the agent: it is to end by itself, and that is no failure.
    Closing,
    /// What went wrong, should it turn out that something did.
    Failed(Fault),
    /// The agent's process ended.
    Exited {
        /// Its exit code.
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

/// Why we stop an agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// Somebody asked for it.
    Cancelled,
    /// It took too long.
    Timeout,
    /// It took as many turns as it may.
    MaxTurns,
}
