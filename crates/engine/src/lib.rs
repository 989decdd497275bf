//! Runs coding agents: their processes, sessions and approvals. The agents' protocols are in `switchboard-agents`; the
//! protocols of clients are in other crates.

mod agent_programs;
mod confinement;
mod discover;
mod engine;
mod follow;
mod git;
mod host;
mod in_process;
mod mask;
mod network;
pub mod paths;
mod policy;
mod prepare;
mod protected_files;
mod protected_paths;
mod recover;
mod request;
mod session;
mod session_registry;
pub mod supervise;
#[cfg(test)]
mod test_tree;

pub use agent_programs::{
    AgentInstallation, InstallState, inspect_agents, is_older_version, locate_agents, program_override_variable,
};
pub use engine::Engine;
pub use follow::{EventSlice, EventSource, Follower, TailRead};
pub use host::{HostEnvironment, is_root, this_process};
pub use in_process::{InProcessTransport, session_lifecycle, session_phases, session_view, to_request_answer};
pub use network::{HostRule, RuleError, parse_domain};
pub use protected_paths::is_protected;
pub use request::{AdoptedSession, CommandError, RequestAudience, SessionTimeouts, StartError, StartRequest};
pub use session::{RunOutcome, SessionHandle};
