//! Codex: `codex exec --json`, `codex app-server`, the formats of older documentation of both, and the rollouts on
//! disk.

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

pub use launch::{AGENT, endpoints, state_directory};
pub use log::LOGS;

use crate::RecordSource;

/// Readable sources of Codex.
pub const SOURCES: &[RecordSource] = &[
    RecordSource {
        name: "codex",
        agent: "codex",
        title: "Codex, `codex exec --json`",
        schema: Some(include_str!("schema.json")),
        reader: || Box::new(live::CodexExecReader::default()),
    },
    RecordSource {
        name: "codex:app-server",
        agent: "codex",
        title: "Codex, a transcript of `codex app-server`, both directions",
        schema: None,
        reader: || Box::new(app_server::AppServerReader::default()),
    },
    RecordSource {
        name: "codex:log",
        agent: "codex",
        title: "Codex, a rollout from `sessions`",
        schema: None,
        reader: || Box::new(log::RolloutReader::default()),
    },
];
