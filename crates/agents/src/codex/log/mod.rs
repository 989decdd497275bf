//! Codex's rollouts on disk, one file per thread, in the formats of all versions. The reader converts them to events;
//! the scanner extracts facts, usage and text directly. Both count tokens with the same tracker.

mod account;
mod calls;
mod count;
mod ends;
mod events;
mod files;
mod head;
mod known;
mod line;
mod lineage;
mod output;
mod passages;
mod patch;
mod reader;
mod said;
mod skim;
mod speech;
mod turns;

#[cfg(test)]
mod tests;

pub use files::LOGS;
pub use reader::RolloutReader;
