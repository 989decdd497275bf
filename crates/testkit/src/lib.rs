//! What the tests and the development commands share: the recordings, the invariants that must hold for every
//! stream, ways to spoil a stream, and endless streams made of recordings; a scripted model, and a stage on which the
//! real agents run against it; an editor that uses them. Names no dialect, and agents in
//! `clis` and in `corpus/agents` only: everything else goes through the tables.

pub mod check;
pub mod clis;
pub mod corpus;
pub mod dice;
pub mod editor;
pub mod fake;
pub mod generate;
pub mod ledger;
pub mod load;
pub mod minimise;
pub mod model;
pub mod mutate;
pub mod parallel;
pub mod play;
pub mod recording;
pub mod rpc;
pub mod said;
pub mod skimmed;
pub mod stage;
pub mod text;
pub mod wire;

use std::path::PathBuf;

/// The top folder of the repository.
#[must_use]
pub fn repository() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}
