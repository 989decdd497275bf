//! Running sessions: follows logs as they grow. It needs no index and writes nothing, so it also works on read-only
//! systems. Rendering is up to the caller.

mod doing;
mod ears;
mod followed;
mod ground;
mod growth;
mod last;
mod own;
mod running;
mod tail;
mod together;
mod used;
mod watcher;

pub use doing::SessionActivity;
pub use running::RunningSession;
pub use used::SessionUsage;
pub use watcher::{LogWatcher, OwnLogLocation, SessionChange, WatchUpdate, WatcherConfig, WatcherStopHandle};
