//! Shared code of tests and development commands: recordings, invariants of streams, mutations, and endless streams
//! made from recordings; a scripted model, a stage on which the real agents run against it, and an editor. It names no
//! dialect, and agents only in `clis` and `corpus/agents`: everything else uses the tables.

pub mod certificates;
pub mod clis;
pub mod corpus;
pub mod editor;
pub mod fake;
pub mod generate;
pub mod ledger;
pub mod load;
pub mod log_scan;
pub mod model;
pub mod mutate;
pub mod parallel;
pub mod random;
pub mod recording;
pub mod rpc;
pub mod stage;
pub mod stream_checker;
pub mod wire;

use std::path::PathBuf;

#[must_use]
pub fn repository_root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}
