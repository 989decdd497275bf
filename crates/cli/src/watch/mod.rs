//! Watching a session of this or another process: shown to a person, or written for machines. Its events come from the
//! log; actions on it go through [`Steer`], so that sessions of this process and of others look the same.

mod machine;
mod person;
mod signals;

use std::ops::ControlFlow;

use switchboard_agents::{Abilities, RequestAnswer};

pub use machine::{Writer, follow as write};
pub use person::{Look, follow as show};
pub use signals::{Asked, Signals};

/// The actions that a watcher can take on a session.
pub trait Steer {
    /// What its agent can do.
    fn abilities(&self) -> &Abilities;

    /// Answers a request. A request that was already answered or withdrawn is not an error.
    async fn answer(&self, answer: RequestAnswer) -> Result<(), String>;

    /// Ctrl-C or its like. A break ends the watching, not the session.
    async fn stop(&self, asked: Asked) -> ControlFlow<()>;
}

/// Why the watching ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Watched {
    /// The session ended, and all of it was seen.
    ToItsEnd,
    /// The user stopped watching.
    Left,
}
