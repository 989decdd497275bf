//! Running sessions: follows logs as they grow. It needs no index and writes nothing, so it also works on read-only
//! systems. Rendering is up to the caller.

mod activity;
mod file_watcher;
mod follower;
mod log_files;
mod own_sessions;
mod running_session;
mod session_usage;
mod tail;
mod watcher;

pub use activity::SessionActivity;
pub use running_session::RunningSession;
pub use session_usage::SessionUsage;
pub use watcher::{LogWatcher, OwnLogLocation, SessionChange, WatchUpdate, WatcherConfig, WatcherStopHandle};
