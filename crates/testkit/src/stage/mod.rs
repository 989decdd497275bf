//! A stage for one test: folders of its own, a scripted model, an environment with nothing in it but what is needed, and
//! the pinned agents on its `PATH`. Everything on it is gone when it is dropped, processes too.
//!
//! ```text
//! Stage::new(&programs)  ─►  root/home      each agent's configuration
//!                            root/project   a git repository, the working directory
//!                            root/data      for Switchboard's log
//!                            root/tmp       for temporary files
//! ```
//!
//! Agents talk to the world when they can; the stage is meant to stand in a network namespace that has only loopback.
//! [`isolated`] says whether it does.

mod folders;
mod left;
mod network;
mod running;
mod terminal;

pub use folders::{Programs, Stage};
pub use left::{Left, children};
pub use network::isolated;
pub use running::{Ended, Running};
