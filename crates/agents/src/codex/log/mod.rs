//! What Codex leaves on disk: rollouts, one file a thread, in the shapes of all years. `reader` makes events of them,
//! `skim` is the quick way; both count with `account`.

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
#[cfg(test)]
mod tests;
mod turns;

pub use files::LOGS;
pub use reader::Log;
