//! Codex: `codex exec --json` and `codex app-server`, the shapes that older descriptions of both have, and the rollouts
//! that it leaves on disk.

mod app_server;
mod approvals;
mod changes;
mod collab;
mod driver;
mod errors;
mod flat;
mod functions;
mod items;
mod launch;
mod live;
mod log;
mod names;
mod offers;
mod responses;
mod usage;
mod user;

pub use launch::{AGENT, state};
pub use log::LOGS;

use crate::Source;

/// What Codex can be read from.
pub const SOURCES: &[Source] = &[
    Source {
        name: "codex",
        agent: "codex",
        title: "Codex, `codex exec --json`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(live::Live::default()),
    },
    Source {
        name: "codex:app-server",
        agent: "codex",
        title: "Codex, a transcript of `codex app-server`, both directions",
        schema: None,
        reader: || Box::new(app_server::AppServer::default()),
    },
    Source {
        name: "codex:log",
        agent: "codex",
        title: "Codex, a rollout from `sessions`",
        schema: None,
        reader: || Box::new(log::Log::default()),
    },
];
