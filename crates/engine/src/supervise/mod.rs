//! Starting an agent's process so that nothing of it is left when its session ends, whatever happens to the agent, to
//! us or to the processes in between. Knows nothing of what agents say.
//!
//! ```text
//! engine ── control ──► switchboard __supervise ── parent of ──► switchboard __exec ══ becomes ══► the agent
//!    └────────────── order: argv, environment, directory, stdin ──────────►┘
//! ```
//! The supervisor adopts every orphan among the agent's descendants. When the agent ends, when it is told so, or when
//! the control channel closes (we ended or were killed), it kills them all and ends. If the supervisor itself is stopped
//! or killed, its descendants come to us ([`adopt_orphans`]), and are killed.
//!
//! Around a confined agent is a sandbox (`sandbox`). It has a PID namespace, whose first process is `__init`, between
//! the supervisor and `__exec`.

mod cgroup;
mod control;
mod handover;
mod hidden;
mod order;
mod orphans;
mod process;
mod sandbox;
mod session_ancestry;
mod spec;
mod start;
mod sweep;
mod tcp;
mod watcher;
mod wire;

pub use cgroup::remove_abandoned_cgroups;
pub use control::{Control, Exit, Running, Signal};
pub use hidden::{DETACH, hidden_mode};
pub use orphans::adopt_orphans;
pub use process::{Process, start_time};
pub use sandbox::{SandboxError, SandboxFeature, SandboxReport, probe, refusal_hint as sandbox_refusal_hint};
pub use session_ancestry::{Sockets, has_other_users_inside, is_of_session, sockets};
pub use spec::{Confinement, DirectoryView, Input, SESSION_VARIABLE, Spec};
pub use start::{StartError, start};
pub use sweep::{Swept, sweep};
pub use tcp::{Connections, Socket};
