//! OpenCode: the event bus of `opencode serve`, and the output of `opencode run --format json`. Its ACP form is read
//! like any other ACP agent.

mod bus;
mod calls;
mod catchup;
mod changes;
mod chatter;
mod clock;
mod driver;
mod errors;
mod exchange;
mod launch;
mod log;
mod messages;
mod next;
mod next_stream;
mod offers;
mod parts;
mod prompts;
mod requests;
mod routes;
mod run;
mod sessions;
mod shell;
mod speech;
mod state;
mod status;
mod steps;
mod tools;
mod turn;
mod wire;

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
        reader: || Box::new(bus::Bus::default()),
    },
    RecordSource {
        name: "opencode:run",
        agent: "opencode",
        title: "OpenCode, `opencode run --format json`",
        schema: None,
        reader: || Box::new(run::Run::default()),
    },
    RecordSource {
        name: "opencode:log",
        agent: "opencode",
        title: "OpenCode, the sessions in `opencode.db`, a row a line as `{\"table\",\"row\"}`",
        schema: None,
        reader: log::reader,
    },
];
