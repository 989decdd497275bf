//! The session logs that Claude Code leaves on disk: `projects/FOLDER/SESSION.jsonl`, and a file for each subagent.
//! `ClaudeLogReader` reads them in full, `Glance` scans them quickly.

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
pub use read::ClaudeLogReader;
