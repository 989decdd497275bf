//! Watching a session, whoever runs it: shown to a person, or written for machines. Only what is needed of a session is
//! asked for here, so that one of this process and one of another look the same.

mod machine;
mod person;
mod signals;

use std::{ops::ControlFlow, sync::Arc};

use switchboard_agents::{Abilities, Answer};
use switchboard_event::Event;

use crate::failure::Failure;

pub use machine::{Writer, follow as write};
pub use person::{Look, follow as show};
pub use signals::{Asked, Signals};

/// The events of a session, in order.
pub trait Feed {
    /// The next events, as many as there are; nothing once the session has ended and all was seen. May be dropped while
    /// it waits, and nothing is missed.
    async fn next(&mut self) -> Result<Option<Vec<Arc<Event>>>, Failure>;

    /// More has happened than was given: what is asked in it may have been answered since.
    fn is_behind(&self) -> bool;
}

/// What somebody who watches may want of a session.
pub trait Steer {
    /// What its agent can do.
    fn abilities(&self) -> &Abilities;

    /// Answers a request. That somebody else did, or that nobody needs it any more, is no failure.
    async fn answer(&self, answer: Answer) -> Result<(), String>;

    /// Ctrl-C or its like. A break ends the watching, not the session.
    async fn stop(&self, asked: Asked) -> ControlFlow<()>;
}

/// Why the watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The session ended, and all of it was seen.
    ToItsEnd,
    /// Whoever watched had enough.
    Left,
}
