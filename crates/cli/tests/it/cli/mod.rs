//! The program itself: names, files, bad input, pipes.

mod adopting;
mod command_examples;
mod damaged_log;
mod diagnostics;
mod harness;
mod hidden;
mod hostile;
mod hostile_arguments;
mod input;
mod logs;
mod mcp;
mod names;
mod own_logs;
mod pipes;
mod serve;
mod sessions;
mod short_ids;
mod traced;
mod usage;
mod watching;

use switchboard_agents::{RecordSource, SOURCES};

/// All sources.
fn sources() -> impl Iterator<Item = &'static RecordSource> {
    SOURCES.iter().copied().flatten()
}

/// Some source, where any will do.
fn a_source() -> &'static str {
    sources().next().unwrap().name
}
