//! Files and directories that are opened once and then asked where they are: what was checked cannot be exchanged for
//! something else before it is used.

use std::{
    fs::{self, File},
    io::{self, Read as _},
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
};

use rustix::{
    fd::{AsFd, AsRawFd as _, OwnedFd},
    fs::{CWD, FileType, Mode, OFlags, Stat, fstat, openat},
};
use thiserror::Error;

use super::beneath::{enter, names_of, open_directory};

/// Why a file or directory cannot be used.
#[derive(Debug, Error)]
pub enum LocateError {
    /// It does not lie below an allowed directory.
    #[error("it is not below an allowed directory")]
    Outside,
    /// It is not a regular file.
    #[error("it is not a regular file")]
    NotRegular,
    /// It was moved or removed in the meantime.
    #[error("it was moved while it was opened")]
    Moved,
    /// It cannot be opened.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// A directory to work in: where it is, and which one it is. A process that enters the path compares the two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorkingDirectory {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl WorkingDirectory {
    /// Opens a directory and asks where it is.
    ///
    /// # Errors
    /// If it is not there, or not a directory.
    pub fn open(path: &Path) -> Result<Self, LocateError> {
        let opened = open_directory(path)?;
        let (path, stat) = locate(&opened, path)?;
        Ok(Self { path, device: stat.st_dev, inode: stat.st_ino })
    }

    /// The same for one that must lie below one of the directories; any if there are none.
    ///
    /// # Errors
    /// If it is not there, not a directory, or lies elsewhere.
    pub fn open_beneath(path: &Path, roots: &[PathBuf]) -> Result<Self, LocateError> {
        let found = Self::open(path)?;
        let is_found = |stat: &Stat| (stat.st_dev, stat.st_ino) == found.identity();
        if roots.is_empty() || roots.iter().any(|root| lies_beneath(&found.path, root, is_found)) {
            return Ok(found);
        }
        Err(LocateError::Outside)
    }

    /// Where it was when it was opened, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The device and the inode number, which are the directory's own wherever it is moved.
    #[must_use]
    pub fn identity(&self) -> (u64, u64) {
        (self.device, self.inode)
    }
}

/// A regular file that was opened for reading, and where it is.
#[derive(Debug)]
pub struct LocatedFile {
    file: File,
    path: PathBuf,
}

impl LocatedFile {
    /// Opens a regular file that lies below one of the directories; any if there are none.
    ///
    /// # Errors
    /// If it is not there, not a regular file, or lies elsewhere.
    pub fn open_beneath(path: &Path, roots: &[PathBuf]) -> Result<Self, LocateError> {
        let opened = open_regular(path)?;
        let (path, stat) = locate(&opened, path)?;
        let is_found = |found: &Stat| (found.st_dev, found.st_ino) == (stat.st_dev, stat.st_ino);
        if !roots.is_empty() && !roots.iter().any(|root| lies_beneath(&path, root, is_found)) {
            return Err(LocateError::Outside);
        }
        Ok(Self { file: opened.into(), path })
    }

    /// Where it was when it was opened, without links.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Reads the file.
    ///
    /// # Errors
    /// If it has more bytes than allowed, or cannot be read.
    pub fn read(self, max_bytes: u64) -> io::Result<Vec<u8>> {
        read_bounded(self.file, max_bytes)
    }
}

/// Reads a regular file of a bounded size: neither a device nor a pipe, which may never end.
///
/// # Errors
/// If it is something else, has more bytes, or cannot be read.
pub fn read_bounded_file(path: &Path, max_bytes: u64) -> Result<Vec<u8>, LocateError> {
    Ok(read_bounded(open_regular(path)?.into(), max_bytes)?)
}

fn open_regular(path: &Path) -> Result<OwnedFd, LocateError> {
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
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, format!("it has more than {max_bytes} bytes")));
    }
    Ok(bytes)
}

/// Asks the kernel where something open is, and makes sure that the path leads there.
fn locate(opened: &OwnedFd, path: &Path) -> Result<(PathBuf, Stat), LocateError> {
    let stat = fstat(opened).map_err(io::Error::from)?;
    let found = fs::read_link(format!("/proc/self/fd/{}", opened.as_raw_fd())).or_else(|_| fs::canonicalize(path))?;
    let there = fs::symlink_metadata(&found).map_err(|_| LocateError::Moved)?;
    if (there.dev(), there.ino()) != (stat.st_dev, stat.st_ino) {
        return Err(LocateError::Moved);
    }
    Ok((found, stat))
}

/// Whether a path without links leads from a directory to something, without leaving the directory on the way.
fn lies_beneath(path: &Path, root: &Path, is_found: impl Fn(&Stat) -> bool) -> bool {
    let find = || -> io::Result<bool> {
        let root = open_directory(root)?;
        let (root_path, root_stat) = locate(&root, Path::new("")).map_err(io::Error::other)?;
        let Ok(relative) = path.strip_prefix(root_path) else { return Ok(false) };
        let names = names_of(relative)?;
        let Some((last, parents)) = names.split_last() else { return Ok(is_found(&root_stat)) };
        let parent = parents.iter().try_fold(root, |directory, name| enter(&directory, name))?;
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let found = openat(parent.as_fd(), *last, flags, Mode::empty())?;
        Ok(is_found(&fstat(&found)?))
    };
    find().unwrap_or(false)
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::{fs::symlink, net::UnixListener},
        path::Path,
    };

    use rustix::fs::{CWD, Mode, mkfifoat};

    use super::{LocateError, LocatedFile, WorkingDirectory, read_bounded_file};

    #[test]
    fn a_directory_is_where_the_kernel_says() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for name in ["root/a/b", "outside", "roots"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        fs::write(base.join("root/file"), "").unwrap();
        symlink(base.join("root/a"), base.join("outside/in")).unwrap();
        symlink(base.join("outside"), base.join("root/out")).unwrap();
        symlink(base.join("root"), base.join("other_name")).unwrap();
        let open = |path: &str, root: &str| WorkingDirectory::open_beneath(&base.join(path), &[base.join(root)]);
        assert_eq!(open("outside/in/b", "root").unwrap().path(), base.join("root/a/b"));
        assert_eq!(open("root", "other_name").unwrap().path(), base.join("root"));
        assert_eq!(open("root/a/../a", "root").unwrap().identity(), open("root/a", "root").unwrap().identity());
        for path in ["root/out", "outside", "roots", "root/.."] {
            assert!(matches!(open(path, "root"), Err(LocateError::Outside)), "{path}");
        }
        for path in ["root/file", "root/missing"] {
            assert!(matches!(open(path, "root"), Err(LocateError::Io(_))), "{path}");
        }
        assert!(WorkingDirectory::open_beneath(&base.join("outside"), &[]).is_ok());
    }

    #[test]
    fn only_regular_files_of_a_bounded_size_are_read() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        fs::write(base.join("file"), "12345").unwrap();
        mkfifoat(CWD, base.join("fifo"), Mode::RWXU).unwrap();
        let _socket = UnixListener::bind(base.join("socket")).unwrap();
        assert_eq!(read_bounded_file(&base.join("file"), 5).unwrap(), b"12345");
        assert!(read_bounded_file(&base.join("file"), 4).is_err());
        for path in [base.join("fifo"), base.join("socket"), base.clone(), "/dev/zero".into(), base.join("missing")] {
            assert!(read_bounded_file(&path, 5).is_err(), "{}", path.display());
        }
    }

    #[test]
    fn a_file_lies_below_an_allowed_directory() {
        let place = tempfile::tempdir().unwrap();
        let base = place.path().canonicalize().unwrap();
        for name in ["root", "outside"] {
            fs::create_dir(base.join(name)).unwrap();
            fs::write(base.join(name).join("image.png"), name).unwrap();
        }
        symlink("../outside/image.png", base.join("root/link.png")).unwrap();
        let open = |path: &Path| LocatedFile::open_beneath(path, &[base.join("root")]);
        let file = open(&base.join("root/image.png")).unwrap();
        assert_eq!(file.path(), base.join("root/image.png"));
        assert_eq!(file.read(10).unwrap(), b"root");
        for path in ["outside/image.png", "root/link.png"] {
            assert!(matches!(open(&base.join(path)), Err(LocateError::Outside)), "{path}");
        }
    }
}
