//! A stage for one test: its own directories, a scripted model, a minimal environment, and the pinned agents on its
//! `PATH`. Dropping it removes everything, including processes.
//!
//! ```text
//! Stage::new(&programs)  ─►  root/home      each agent's configuration
//!                            root/project   a git repository, the working directory
//!                            root/data      for Switchboard's log
//!                            root/tmp       for temporary files
//! ```
//!
//! Agents use the network if they can, so a stage should run in a network namespace with loopback only.
//! [`isolated`] checks that.

mod folders;
mod running;

pub use folders::{AgentStage, StagePrograms};
pub use running::{LeftoverProcess, child_pids};
pub use running::{REMOTE_ADDRESS, is_isolated};
pub use running::{StageProcess, StageProcessOutput};
