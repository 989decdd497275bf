//! What runs now: logs that grow, read as they do. Nothing is written and no index is needed, so it also works where
//! nothing can be written. How it looks is somebody else's business.

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

pub use doing::Activity;
pub use running::Running;
pub use used::Used;
pub use watcher::{Change, Next, Ours, Setup, Stopper, Watcher};
