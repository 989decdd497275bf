//! One session: an actor that has the agent on one side and everybody else on the other. All that comes, whatever way,
//! comes to it one by one; all that is told was written down before.

mod actor;
mod desk;
mod effects;
mod end;
mod handle;
mod journal;
mod link;
mod orders;
mod private;
pub(crate) mod sandbox_notices;
mod session_approvals;
mod stderr;
mod stop;
mod timers;
mod told;

pub use handle::{Outcome, Session};

pub(crate) use actor::{Actor, Parts};
pub(crate) use journal::Journal;
pub(crate) use link::Link;
pub(crate) use private::{Private, clean};
