//! Bringing the index up to date: which logs there are, which have changed, reading those on all cores, writing what
//! they give on one.

mod mark;
mod own;
mod plan;
mod reading;
mod walk;
mod work;

pub use own::Own;
pub use plan::{Task, plan};
pub use reading::{UNKNOWN_KIND, Way};
pub use walk::{Blocked, Seen, walk};
pub use work::run;
