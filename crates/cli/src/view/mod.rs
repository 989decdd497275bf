//! What a person sees of a running session: events in, text for two sinks out. The *answer* is what the agent says,
//! the *activity* is everything else: commands, changes of files, plans, problems, figures. On a terminal both are the
//! same place; in a pipe the answer goes to standard output and the activity to standard error, so that scripts read
//! the answer alone. Pure: no clock, no terminal, no input. What agents say is never trusted: nothing of it reaches a
//! terminal but text.
//!
//! [`View`] shows events and draws the status line, [`Asking`] is the conversation about one request of the agent.

mod ask;
pub mod clean;
mod command;
mod diff;
pub mod figures;
pub mod fold;
mod items;
mod last;
mod notices;
mod options;
mod output;
mod paper;
pub mod pieces;
mod plan;
mod problems;
mod requests;
mod session;
mod speech;
mod status;
pub mod style;
mod subagents;
mod tools;
mod turns;
mod viewer;

#[cfg(test)]
mod tests;

pub use ask::{Asking, Step};
pub use options::{Detail, Options, Screen};
pub use output::{Output, Sink};
pub use paper::paint;
pub use tools::work;
pub use viewer::View;
