//! A session as a story: turns, and in each what was said, thought and done, subagents within the call that began them.
//! Made of events; pages are made of it.

mod build;
mod redacted;
#[cfg(test)]
mod tests;
mod tool;
mod turns;

use switchboard_event::{Change, Timestamp, Usage};

pub use turns::Turns;

/// A session from beginning to end.
#[derive(Clone, Debug, Default)]
pub struct Story {
    /// What it is called: its title, else what it began with.
    pub title: String,
    /// What is known of it, by name, in the order in which it is shown.
    pub about: Vec<(&'static str, String)>,
    /// Its turns.
    pub turns: Vec<Turn>,
    /// What all of it used.
    pub usage: Usage,
}

/// Something that a person asked, and what came of it.
#[derive(Clone, Debug, Default)]
pub struct Turn {
    /// Its number, from 1; 0 for what came before anything was asked.
    pub number: u32,
    /// When it began.
    pub at: Option<Timestamp>,
    /// What was asked.
    pub prompt: Option<String>,
    /// What came of it.
    pub steps: Vec<Step>,
    /// What it used.
    pub usage: Usage,
    /// How long it took.
    pub duration_ms: Option<u64>,
    /// Why it ended, if not well.
    pub problem: Option<String>,
}

/// One thing that was said, thought or done.
#[derive(Clone, Debug)]
pub struct Step {
    /// When.
    pub at: Timestamp,
    /// What.
    pub what: What,
    /// What a subagent did in it.
    pub inner: Vec<Step>,
}

/// What a step is.
#[derive(Clone, Debug)]
pub enum What {
    /// The agent said it.
    Said(String),
    /// The agent thought it.
    Thought(String),
    /// A tool was called.
    Did(Box<Did>),
    /// Something to know.
    Note(String),
}

/// A call of a tool.
#[derive(Clone, Debug, Default)]
pub struct Did {
    /// The tool.
    pub name: String,
    /// What it was about, in a line.
    pub about: String,
    /// The command, if it was one.
    pub command: Option<String>,
    /// What it was given, as JSON, where the rest does not say it.
    pub input: Option<String>,
    /// What it gave back.
    pub output: String,
    /// What it changed.
    pub changes: Vec<Change>,
    /// How it ended, if not well.
    pub problem: Option<String>,
    /// The exit code, if it is not zero.
    pub exit_code: Option<i32>,
    /// How long it took.
    pub duration_ms: Option<u64>,
}
