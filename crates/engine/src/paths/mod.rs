//! Paths as the file system resolves them at the moment. Policies, `--root`, images and copies of session files use
//! this module for their decisions.
//!
//! [`Workspace`] judges a path that an agent will open by itself. Between the answer and the write the file system can
//! change, and a hard link to a file outside cannot be distinguished from a file inside: only confinement closes both
//! gaps. The other functions return descriptors, so that the checked file is the one that is used.

mod opened;
mod workspace;

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use thiserror::Error;

pub use opened::{LocateError, LocatedFile, WorkingDirectory, read_bounded_file};
pub use workspace::{EditTarget, Workspace};

pub(crate) use opened::{copy_file_beneath, write_file_beneath};

/// The kernel's limit of symlinks in one path.
const MAX_LINKS: usize = 40;

/// The reason why a path cannot be resolved.
#[derive(Debug, Error)]
pub enum PathError {
    #[error("the path is empty")]
    Empty,
    #[error("the path is not absolute")]
    Relative,
    #[error("the path is in another user's home directory")]
    OtherHome,
    /// Only the agent can expand the variable.
    #[error("the path contains a variable")]
    Variable,
    #[error("the path is a URI")]
    Uri,
    #[error("too many symbolic links")]
    TooManyLinks,
    /// A link in `/proc` has another target for each process.
    #[error("the path leads through /proc")]
    ProcessLink,
    #[error("the path goes up from a directory that does not exist")]
    ParentOfMissing,
    #[error(transparent)]
    Io(#[from] io::Error),
}

enum PathStep {
    Up,
    Into(OsString),
}

/// Resolves an absolute path to one without links, `.` and `..`, as the kernel would. Components that do not exist yet
/// are kept.
pub fn resolve_path(path: &Path) -> Result<PathBuf, PathError> {
    if !path.is_absolute() {
        return Err(if path.as_os_str().is_empty() { PathError::Empty } else { PathError::Relative });
    }
    let (mut resolved, mut steps, mut links) = (PathBuf::from("/"), steps_of(path), 0);
    while let Some(step) = steps.pop_front() {
        let name = match step {
            PathStep::Up => {
                resolved.pop();
                continue;
            }
            PathStep::Into(name) => name,
        };
        let next = resolved.join(name);
        match next.symlink_metadata() {
            Ok(metadata) if metadata.is_symlink() => {
                links += 1;
                if links > MAX_LINKS {
                    return Err(PathError::TooManyLinks);
                }
                if statfs(&resolved).map_err(io::Error::from)?.f_type == PROC_SUPER_MAGIC {
                    return Err(PathError::ProcessLink);
                }
                let target = next.read_link()?;
                if target.is_absolute() {
                    resolved = PathBuf::from("/");
                }
                steps_of(&target).into_iter().rev().for_each(|step| steps.push_front(step));
            }
            Ok(_) => resolved = next,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return append_missing(next, steps),
            Err(error) => return Err(error.into()),
        }
    }
    Ok(resolved)
}

fn append_missing(mut path: PathBuf, rest: VecDeque<PathStep>) -> Result<PathBuf, PathError> {
    for step in rest {
        match step {
            PathStep::Into(name) => path.push(name),
            PathStep::Up => return Err(PathError::ParentOfMissing),
        }
    }
    Ok(path)
}

fn steps_of(path: &Path) -> VecDeque<PathStep> {
    let step = |component| match component {
        Component::ParentDir => Some(PathStep::Up),
        Component::Normal(name) => Some(PathStep::Into(name.to_owned())),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::{PathError, resolve_path};
    use crate::test_tree::TestTree;

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let tree = TestTree::new(&["a/b", "c"]);
        tree.write("c/file", "");
        tree.link("../a/b", "c/down");
        tree.link(tree.join("c").to_str().unwrap(), "a/back");
        tree.link("nowhere/new", "c/dangling");
        tree.link("dangling", "c/twice");
        for (path, resolved) in [
            ("c/down/x", "a/b/x"),
            // Up from where the link leads, not from where it is.
            ("c/down/../x", "a/x"),
            ("a/back/down/new/er", "a/b/new/er"),
            ("c/dangling", "c/nowhere/new"),
            ("c/twice", "c/nowhere/new"),
            ("c/./file", "c/file"),
            ("c", "c"),
        ] {
            assert_eq!(resolve_path(&tree.join(path)).unwrap(), tree.join(resolved), "{path}");
        }
        assert_eq!(resolve_path(Path::new("/../..")).unwrap(), Path::new("/"));
    }

    #[test]
    fn paths_that_cannot_be_resolved_are_errors() {
        let tree = TestTree::new(&[]);
        tree.write("file", "");
        tree.link("loop", "loop");
        tree.link("/proc/self/cwd", "process");
        tree.link("/dev/fd/0", "descriptor");
        for path in ["loop", "loop/x", "file/x", "process/x", "descriptor", "missing/../x", "nul\0"] {
            assert!(resolve_path(&tree.join(path)).is_err(), "{path}");
        }
        assert!(matches!(resolve_path(Path::new("")), Err(PathError::Empty)));
        assert!(matches!(resolve_path(Path::new("x")), Err(PathError::Relative)));
        assert!(resolve_path(&tree.join("x".repeat(300))).is_err());
    }
}
