//! The session logs that Claude Code leaves on disk: `projects/FOLDER/SESSION.jsonl`, and a file for each subagent.
//! Reading them in full is `read.rs` and what it dispatches to; the quick way through is `skim.rs`.

mod asides;
mod figures;
mod passages;
mod places;
mod read;
mod replies;
mod reply;
mod skim;
mod threads;
mod told;
mod words;

#[cfg(test)]
mod tests;

pub use places::LOGS;
pub use read::Log;
