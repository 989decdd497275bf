//! Starting an agent's process so that nothing of it is left when its session ends, whatever happens to the agent, to
//! us or to the process in between. Knows nothing of what agents say.
//!
//! ```text
//! engine ── control ──► switchboard __supervise ── parent of ──► switchboard __exec ══ becomes ══► the agent
//!    └────────────── order: argv, environment, folder, stdin ──────────►┘
//! ```
//! The supervisor adopts every orphan among the agent's descendants. When the agent ends, when it is told so, or when
//! the control channel closes (we ended or were killed), it kills them all and ends. Should the supervisor itself be
//! killed, the agent dies by its parent-death signal, and [`sweep`] finds what the agent had started.

mod confine;
mod control;
mod handover;
mod hidden;
mod kin;
mod order;
mod process;
mod spec;
mod start;
mod sweep;
mod tcp;
mod wire;

pub use confine::{NoConfinement, confinement_available};
pub use control::{Control, Exit, Running, Signal};
pub use hidden::hidden_mode;
pub use kin::{Sockets, any_session, is_of_session, sockets};
pub use order::Confined;
pub use process::{Process, start_time};
pub use spec::{Confinement, Input, SESSION_VARIABLE, Spec};
pub use start::{StartError, start};
pub use sweep::{Swept, sweep};
pub use tcp::{Connections, Socket};
