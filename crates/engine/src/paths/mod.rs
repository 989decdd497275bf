//! Paths as the file system resolves them, at the moment of asking. Policies, `--root`, images and copies of session
//! files decide through this module.
//!
//! [`Workspace`] judges a path that an agent will open by itself. Between the answer and the write the file system can
//! change, and a hard link to a file outside cannot be told from a file inside: only confinement closes both gaps. The
//! other functions hand out descriptors, so that what was checked is what is used.

mod beneath;
mod locate;
mod resolve;
mod workspace;

pub use beneath::{copy_file_beneath, write_file_beneath};
pub use locate::{LocateError, LocatedFile, WorkingDirectory, read_bounded_file};
pub use resolve::{PathError, resolve_path};
pub use workspace::{EditTarget, Workspace};
