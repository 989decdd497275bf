//! Watching a session, whoever runs it: shown to a person, or written for machines. Its events come from the log; what
//! is wanted of it goes through [`Steer`], so that one of this process and one of another look the same.

mod machine;
mod person;
mod signals;

use std::ops::ControlFlow;

use switchboard_agents::{Abilities, Answer};

pub use machine::{Writer, follow as write};
pub use person::{Look, follow as show};
pub use signals::{Asked, Signals};

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
