//! Resolves a path that may not exist yet: every symlink is followed, also a dangling one at the end.

use std::{
    collections::VecDeque,
    ffi::OsString,
    io,
    path::{Component, Path, PathBuf},
};

use rustix::fs::{PROC_SUPER_MAGIC, statfs};
use thiserror::Error;

/// The kernel's own limit of links in one path.
const MAX_LINKS: usize = 40;

/// Why it cannot be told where a path leads.
#[derive(Debug, Error)]
pub enum PathError {
    /// It is empty.
    #[error("the path is empty")]
    Empty,
    /// It is relative, and there is nothing it could be relative to.
    #[error("the path is not absolute")]
    Relative,
    /// It names the home directory of another user.
    #[error("the path is in another user's home directory")]
    OtherHome,
    /// It names a variable, which only the agent can expand.
    #[error("the path contains a variable")]
    Variable,
    /// It is a URI.
    #[error("the path is a URI")]
    Uri,
    /// It follows more links than the kernel would.
    #[error("too many symbolic links")]
    TooManyLinks,
    /// It follows a link of `/proc`, which leads somewhere else for each process.
    #[error("the path leads through /proc")]
    ProcessLink,
    /// It goes up from a directory that does not exist.
    #[error("the path goes up from a directory that does not exist")]
    ParentOfMissing,
    /// The file system refuses to say.
    #[error(transparent)]
    Io(#[from] io::Error),
}

enum Step {
    Up,
    Into(OsString),
}

/// Returns where an absolute path leads: without links, `.` and `..`, as the kernel would walk it. What does not exist
/// yet is taken as it is named.
///
/// # Errors
/// If that cannot be told.
pub fn resolve_path(path: &Path) -> Result<PathBuf, PathError> {
    if !path.is_absolute() {
        return Err(if path.as_os_str().is_empty() { PathError::Empty } else { PathError::Relative });
    }
    let (mut resolved, mut steps, mut links) = (PathBuf::from("/"), steps_of(path), 0);
    while let Some(step) = steps.pop_front() {
        let name = match step {
            Step::Up => {
                resolved.pop();
                continue;
            }
            Step::Into(name) => name,
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

fn append_missing(mut path: PathBuf, rest: VecDeque<Step>) -> Result<PathBuf, PathError> {
    for step in rest {
        match step {
            Step::Into(name) => path.push(name),
            Step::Up => return Err(PathError::ParentOfMissing),
        }
    }
    Ok(path)
}

fn steps_of(path: &Path) -> VecDeque<Step> {
    let step = |component| match component {
        Component::ParentDir => Some(Step::Up),
        Component::Normal(name) => Some(Step::Into(name.to_owned())),
        Component::CurDir | Component::RootDir | Component::Prefix(_) => None,
    };
    path.components().filter_map(step).collect()
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::Path};

    use super::{PathError, resolve_path};

    #[test]
    fn links_are_followed_as_the_kernel_does() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        fs::create_dir_all(base.join("a/b")).unwrap();
        fs::create_dir_all(base.join("c")).unwrap();
        fs::write(base.join("c/file"), "").unwrap();
        symlink("../a/b", base.join("c/down")).unwrap();
        symlink(base.join("c"), base.join("a/back")).unwrap();
        symlink("nowhere/new", base.join("c/dangling")).unwrap();
        symlink("dangling", base.join("c/twice")).unwrap();
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
            assert_eq!(resolve_path(&base.join(path)).unwrap(), base.join(resolved), "{path}");
        }
        assert_eq!(resolve_path(Path::new("/../..")).unwrap(), Path::new("/"));
    }

    #[test]
    fn what_cannot_be_told_is_an_error() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        fs::write(base.join("file"), "").unwrap();
        symlink("loop", base.join("loop")).unwrap();
        symlink("/proc/self/cwd", base.join("process")).unwrap();
        symlink("/dev/fd/0", base.join("descriptor")).unwrap();
        for path in ["loop", "loop/x", "file/x", "process/x", "descriptor", "missing/../x", "nul\0"] {
            assert!(resolve_path(&base.join(path)).is_err(), "{path}");
        }
        assert!(matches!(resolve_path(Path::new("")), Err(PathError::Empty)));
        assert!(matches!(resolve_path(Path::new("x")), Err(PathError::Relative)));
        assert!(resolve_path(&base.join("x".repeat(300))).is_err());
    }
}
