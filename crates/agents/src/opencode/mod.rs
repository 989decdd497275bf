//! OpenCode: the event bus of `opencode serve`, and the output of `opencode run --format json`. Its ACP form is read
//! like any other ACP agent.

mod bus;
mod calls;
mod clock;
mod driver;
mod errors;
mod exchange;
mod file_changes;
mod launch;
mod log;
mod messages;
mod offers;
mod parts;
mod requests;
mod run_output;
mod session_next;
mod sessions;
mod status;
mod tools;
mod turn;

pub use launch::AGENT;
pub use log::LOGS;

use crate::RecordSource;

/// Record sources of OpenCode.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "opencode",
        agent: "opencode",
        title: "OpenCode, the events of `opencode serve` (`GET /event`), one a line",
        schema: None,
        reader: || Box::new(bus::BusReader::default()),
    },
    RecordSource {
        name: "opencode:run",
        agent: "opencode",
        title: "OpenCode, `opencode run --format json`",
        schema: None,
        reader: || Box::new(run_output::RunOutputReader::default()),
    },
    RecordSource {
        name: "opencode:log",
        agent: "opencode",
        title: "OpenCode, the sessions in `opencode.db`, a row a line as `{\"table\",\"row\"}`",
        schema: None,
        reader: log::reader,
    },
];
