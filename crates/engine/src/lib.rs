//! Runs coding agents: their processes, sessions and approvals. Not how they speak (`switchboard-agents`), nor how
//! clients hear of it.

mod confinement;
mod discover;
mod engine;
pub mod find;
mod follow;
mod git_config;
mod git_directories;
mod hub;
mod in_process;
mod inspect;
mod machine;
mod mask;
mod nowhere;
mod owner;
mod past;
pub mod paths;
mod policy;
#[cfg(test)]
mod policy_recordings;
mod prepare;
mod protected_files;
pub mod protected_paths;
mod recover;
mod request;
mod rooms;
mod session;
pub mod supervise;
mod unix_sockets;

pub use engine::Engine;
pub use hub::{Follower, Look, Slice};
pub use in_process::InProcess;
pub use inspect::{Inspected, Installed, glance, inspect};
pub use machine::{Machine, is_root};
pub use owner::this_process;
pub use request::{Adopted, Audience, CommandError, Limits, StartError, StartRequest};
pub use session::{Outcome, Session};
