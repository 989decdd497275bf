//! Files and directories that are opened once and located afterwards, so that a checked path cannot be exchanged for
//! another one before it is used. Files that are read and written for an agent are reached without following links below
//! a directory, since the agent can write there, too.

use std::{
    ffi::OsStr,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::fs::MetadataExt as _,
    path::{Component, Path, PathBuf},
};

use rustix::{
    fd::{AsFd, AsRawFd as _, OwnedFd},
    fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat},
    io::Errno,
};
use thiserror::Error;

const DIRECTORY_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// The reason why a file or directory cannot be used.
#[derive(Debug, Error)]
pub enum LocateError {
    #[error("not below an allowed directory")]
    Outside,
    #[error("not a regular file")]
    NotRegular,
    #[error("moved while it was opened")]
    Moved,
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The device and inode number of a file, which stay the same when it is moved.
type FileIdentity = (u64, u64);

/// A working directory: its path and its identity. A process that enters the path compares the identity.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingDirectory {
    path: PathBuf,
    identity: FileIdentity,
}

impl WorkingDirectory {
    pub fn open(path: &Path) -> Result<Self, LocateError> {
        let (path, identity) = locate(&open_directory(path)?, path)?;
        Ok(Self { path, identity })
    }

    /// Opens a directory that must lie below one of the roots; any directory if there are none.
    pub fn open_beneath(path: &Path, roots: &[PathBuf]) -> Result<Self, LocateError> {
        let directory = Self::open(path)?;
        check_beneath(roots, &directory.path, directory.identity)?;
        Ok(directory)
    }

    /// Returns the path at the time of opening, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the device and inode number, which stay the same when the directory is moved.
    pub fn identity(&self) -> (u64, u64) {
        self.identity
    }
}

/// A regular file that is open for reading, and its path.
#[derive(Debug)]
pub struct LocatedFile {
    file: File,
    path: PathBuf,
}

impl LocatedFile {
    /// Opens a regular file that must lie below one of the roots; any file if there are none.
    pub fn open_beneath(path: &Path, roots: &[PathBuf]) -> Result<Self, LocateError> {
        let opened = open_regular_file(path)?;
        let (path, identity) = locate(&opened, path)?;
        check_beneath(roots, &path, identity)?;
        Ok(Self { file: opened.into(), path })
    }

    /// Returns the path at the time of opening, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file. Fails if it is larger than allowed.
    pub fn read(self, max_bytes: u64) -> io::Result<Vec<u8>> {
        read_bounded(self.file, max_bytes)
    }
}

/// Reads a regular file of a bounded size. Devices and pipes, which may never end, are refused.
pub fn read_bounded_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, LocateError> {
    Ok(read_bounded(open_regular_file(path)?.into(), max_bytes)?)
}

fn open_regular_file(path: &Path) -> Result<OwnedFd, LocateError> {
    // Without waiting for the other end of a pipe.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
    let opened = openat(CWD, path, flags, Mode::empty()).map_err(io::Error::from)?;
    let stat = fstat(&opened).map_err(io::Error::from)?;
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(opened),
        _ => Err(LocateError::NotRegular),
    }
}

fn read_bounded(file: File, max_bytes: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes {
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("larger than {max_bytes} bytes")));
    }
    Ok(bytes)
}

/// Asks the kernel for the path of an open descriptor, and verifies that the path leads there.
fn locate(opened: &OwnedFd, path: &Path) -> Result<(PathBuf, FileIdentity), LocateError> {
    let identity = identity(opened)?;
    let found = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).or_else(|_| fs::canonicalize(path))?;
    let there = fs::symlink_metadata(&found).map_err(|_| LocateError::Moved)?;
    if (there.dev(), there.ino()) != identity {
        return Err(LocateError::Moved);
    }
    Ok((found, identity))
}

fn identity(opened: &OwnedFd) -> io::Result<FileIdentity> {
    let stat = fstat(opened)?;
    Ok((stat.st_dev, stat.st_ino))
}

/// Checks that a path without links leads from one of the roots, if there are any, to the expected file.
fn check_beneath(roots: &[PathBuf], path: &Path, expected: FileIdentity) -> Result<(), LocateError> {
    let lies_beneath = |root: &PathBuf| find_beneath(root, path).is_ok_and(|found| found == Some(expected));
    if roots.is_empty() || roots.iter().any(lies_beneath) { Ok(()) } else { Err(LocateError::Outside) }
}

/// Returns the file to which a path without links leads from a root, without leaving the root on the way.
fn find_beneath(root: &Path, path: &Path) -> Result<Option<FileIdentity>, LocateError> {
    let root = open_directory(root)?;
    let (root_path, root_identity) = locate(&root, Path::new(""))?;
    let Ok(relative) = path.strip_prefix(root_path) else { return Ok(None) };
    let names = component_names(relative)?;
    let Some((last, parents)) = names.split_last() else { return Ok(Some(root_identity)) };
    let parent = parents.iter().try_fold(root, |directory, name| enter_directory(&directory, name))?;
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let found = openat(parent.as_fd(), *last, flags, Mode::empty()).map_err(io::Error::from)?;
    Ok(Some(identity(&found)?))
}

/// Writes a new file below a directory, and creates its parent directories. Only the user can read it.
///
/// # Errors
/// If it exists already, is not below the directory, or cannot be written.
pub fn write_file_beneath(base: &Path, path: &Path, text: &str) -> io::Result<()> {
    let relative = path.strip_prefix(base).unwrap_or(path);
    let (parents, name) = split_file_name(relative)?;
    let mut directory = open_directory(base)?;
    for parent in parents {
        match mkdirat(&directory, parent, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => directory = enter_directory(&directory, parent)?,
            Err(error) => return Err(error.into()),
        }
    }
    create_file(&directory, name)?.write_all(text.as_bytes())
}

/// Copies a file. Both paths must lie below one of the directories, and the source must be a regular file.
///
/// # Errors
/// If one of them lies elsewhere or leads through a link, if the copy exists already, or if it cannot be written.
pub fn copy_file_beneath(bases: &[PathBuf], from: &Path, to: &Path) -> io::Result<()> {
    let (source_directory, source) = open_parent(bases, from)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(&source_directory, source, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::RegularFile {
        return Err(invalid_path("not a regular file"));
    }
    let (directory, name) = open_parent(bases, to)?;
    io::copy(&mut File::from(opened), &mut create_file(&directory, name)?)?;
    Ok(())
}

fn open_parent<'a>(bases: &[PathBuf], path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let base = bases.iter().filter(|base| path.starts_with(base)).max_by_key(|base| base.as_os_str().len());
    let base = base.ok_or_else(|| invalid_path("not in a directory of the agent"))?;
    let (parents, name) = split_file_name(path.strip_prefix(base).unwrap_or(path))?;
    let directory =
        parents.into_iter().try_fold(open_directory(base)?, |directory, name| enter_directory(&directory, name))?;
    Ok((directory, name))
}

/// Opens a directory by its path, following links: the agent does not control this path.
fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, DIRECTORY_FLAGS, Mode::empty())?)
}

/// Opens a directory in a directory, unless it is a link.
fn enter_directory(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    match openat(directory, name, DIRECTORY_FLAGS | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::LOOP | Errno::NOTDIR) => {
            Err(invalid_path(&format!("{} is a symbolic link or not a directory", name.display())))
        }
        opened => Ok(opened?),
    }
}

fn create_file(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// Returns the components of a relative path without `..`.
fn component_names(relative: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |component| match component {
        Component::Normal(name) => Ok(name),
        _ => Err(invalid_path("the path leaves its directory")),
    };
    relative.components().map(name).collect()
}

fn split_file_name(relative: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut names = component_names(relative)?;
    let name = names.pop().ok_or_else(|| invalid_path("the path names no file"))?;
    Ok((names, name))
}

fn invalid_path(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, text)
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::net::UnixListener};

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::{LocateError, LocatedFile, WorkingDirectory, copy_file_beneath, read_bounded_file, write_file_beneath};
    use crate::test_tree::TestTree;

    #[test]
    fn a_directory_is_where_the_kernel_says() {
        let tree = TestTree::new(&["base/a/b", "outside", "bases"]);
        tree.write("base/file", "");
        tree.link("../base/a", "outside/in");
        tree.link("../outside", "base/out");
        tree.link("base", "other_name");
        let open = |path: &str, base: &str| WorkingDirectory::open_beneath(&tree.join(path), &[tree.join(base)]);
        assert_eq!(open("outside/in/b", "base").unwrap().path(), tree.join("base/a/b"));
        assert_eq!(open("base", "other_name").unwrap().path(), tree.join("base"));
        assert_eq!(open("base/a/../a", "base").unwrap().identity(), open("base/a", "base").unwrap().identity());
        for path in ["base/out", "outside", "bases", "base/.."] {
            assert!(matches!(open(path, "base"), Err(LocateError::Outside)), "{path}");
        }
        for path in ["base/file", "base/missing"] {
            assert!(matches!(open(path, "base"), Err(LocateError::Io(_))), "{path}");
        }
        assert!(WorkingDirectory::open_beneath(&tree.join("outside"), &[]).is_ok());
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let tree = TestTree::new(&[]);
        tree.write("file", "12345");
        mkfifoat(CWD, tree.join("fifo"), Mode::RWXU).unwrap();
        let _socket = UnixListener::bind(tree.join("socket")).unwrap();
        assert_eq!(read_bounded_file(&tree.join("file"), 5).unwrap(), b"12345");
        assert!(read_bounded_file(&tree.join("file"), 4).is_err());
        for path in ["fifo", "socket", "", "/dev/zero", "missing"] {
            assert!(read_bounded_file(&tree.join(path), 5).is_err(), "{path}");
        }
    }

    #[test]
    fn a_file_lies_below_an_allowed_directory() {
        let tree = TestTree::new(&[]);
        tree.write("base/image.png", "base");
        tree.write("outside/image.png", "outside");
        tree.link("../outside/image.png", "base/link.png");
        let open = |path: &str| LocatedFile::open_beneath(&tree.join(path), &[tree.join("base")]);
        let file = open("base/image.png").unwrap();
        assert_eq!(file.path(), tree.join("base/image.png"));
        assert_eq!(file.read(10).unwrap(), b"base");
        for path in ["outside/image.png", "base/link.png"] {
            assert!(matches!(open(path), Err(LocateError::Outside)), "{path}");
        }
    }

    /// Creates a directory of an agent, and one outside of it.
    fn agent_tree() -> TestTree {
        let tree = TestTree::new(&[]);
        tree.write("state/chats/old", "old chat");
        tree.write("outside/secret", "secret");
        tree.link("../outside", "state/linked");
        tree
    }

    #[test]
    fn a_copy_is_made_within_the_agents_directories() {
        let tree = agent_tree();
        let copy = |from: &str, to: &str| copy_file_beneath(&[tree.join("state")], &tree.join(from), &tree.join(to));
        copy("state/chats/old", "state/chats/new").unwrap();
        assert_eq!(fs::read_to_string(tree.join("state/chats/new")).unwrap(), "old chat");
        tree.link("../../outside/planted", "state/chats/dangling");
        tree.link("../../outside/secret", "state/chats/to_secret");
        mkfifoat(CWD, tree.join("state/chats/fifo"), Mode::RWXU).unwrap();
        for (from, to) in [
            // Nothing is overwritten.
            ("state/chats/old", "state/chats/new"),
            ("state/chats/old", "outside/new"),
            ("outside/secret", "state/chats/secret"),
            ("state/../outside/secret", "state/chats/secret"),
            ("state/chats", "state/chats/directory"),
            // No link is followed.
            ("state/chats/old", "state/linked/planted"),
            ("state/chats/old", "state/chats/dangling"),
            ("state/chats/to_secret", "state/chats/copied"),
            ("state/linked/secret", "state/chats/copied"),
            ("state/chats/fifo", "state/chats/copied"),
        ] {
            assert!(copy(from, to).is_err(), "{from} {to}");
        }
        assert!(!tree.join("outside/planted").exists() && !tree.join("state/chats/copied").exists());
    }

    #[test]
    fn files_are_written_with_their_directories_and_never_through_links() {
        let tree = agent_tree();
        let state = tree.join("state");
        write_file_beneath(&state, &state.join("a/b/file"), "text").unwrap();
        assert_eq!(fs::read_to_string(state.join("a/b/file")).unwrap(), "text");
        for path in ["state/linked/x", "state/../outside/x", "outside/x", "state"] {
            assert!(write_file_beneath(&state, &tree.join(path), "text").is_err(), "{path}");
        }
        assert!(!tree.join("outside/x").exists());
    }
}
