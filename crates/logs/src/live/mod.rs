//! Running sessions: follows logs as they grow. It needs no index and writes nothing, so it also works on read-only
//! systems. Rendering is up to the caller.

mod file_watcher;
mod follower;
mod log_files;
mod own_sessions;
mod running_session;
mod tail;
mod watcher;

pub use own_sessions::SessionActivity;
pub use running_session::{RunningSession, SessionUsage};
pub use watcher::{LogWatcher, OwnLogLocation, SessionChange, WatchUpdate, WatcherConfig, WatcherStopHandle};
