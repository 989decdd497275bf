//! Brings the index up to date: discovers logs, reads changed ones on all cores, and writes the results on one.

mod mark;
mod own;
mod plan;
mod reading;
mod walk;
mod work;

pub use own::OwnLogSource;
pub use plan::{ScanTask, plan_scan};
pub use reading::{ScanOptions, UNKNOWN_KIND_MESSAGE};
pub use walk::{DiscoveredLog, UnreadablePath, discover_logs};
pub use work::run_scan;
