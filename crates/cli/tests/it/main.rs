//! Switchboard's tests over all agents and all dialects, and of the program itself. They go through the tables and
//! the `testdata` folders: a new agent or dialect is tested without a change here.

#![cfg(test)]

mod acp;
mod binary;
mod cli;
mod conformance;
mod consumers;
mod corpus;
mod examples;
mod recordings;
mod tidy;

use std::fmt::Display;

const SHOWN: usize = 40;

/// Fails a test with all failures, if there are any.
#[track_caller]
fn verdict<F: Display>(what: &str, failures: impl IntoIterator<Item = F>) {
    let failures: Vec<String> = failures.into_iter().map(|failure| failure.to_string()).collect();
    let shown = failures.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join("\n");
    assert!(failures.is_empty(), "{what}: {} failures\n{shown}", failures.len());
}
