//! Files that we read and write for an agent, in directories that the agent writes too: below the directory no link is
//! followed, so that a link in it cannot make us write where the agent may not.

use std::{
    ffi::OsStr,
    fs::File,
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
};

use rustix::{
    fd::{AsFd, OwnedFd},
    fs::{CWD, FileType, Mode, OFlags, fstat, mkdirat, openat},
    io::Errno,
};

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);

/// Writes a new file below a directory, with the directories it lies in. Only the user can read it.
///
/// # Errors
/// If it is there already, is not below the directory, or cannot be written.
pub fn write_file_beneath(base: &Path, path: &Path, text: &str) -> io::Result<()> {
    let relative = path.strip_prefix(base).unwrap_or(path);
    let (parents, name) = split(relative)?;
    let mut directory = open_directory(base)?;
    for parent in parents {
        match mkdirat(&directory, parent, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => directory = enter(&directory, parent)?,
            Err(error) => return Err(error.into()),
        }
    }
    create(&directory, name)?.write_all(text.as_bytes())
}

/// Copies a file. Both paths must lie below one of the directories, and the source must be a regular file.
///
/// # Errors
/// If one of them lies elsewhere or leads through a link, if the copy is there already, or if it cannot be written.
pub fn copy_file_beneath(bases: &[PathBuf], from: &Path, to: &Path) -> io::Result<()> {
    let (source_directory, source) = open_parent(bases, from)?;
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let opened = openat(&source_directory, source, flags, Mode::empty())?;
    if FileType::from_raw_mode(fstat(&opened)?.st_mode) != FileType::RegularFile {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "not a regular file"));
    }
    let (directory, name) = open_parent(bases, to)?;
    io::copy(&mut File::from(opened), &mut create(&directory, name)?)?;
    Ok(())
}

fn open_parent<'a>(bases: &[PathBuf], path: &'a Path) -> io::Result<(OwnedFd, &'a OsStr)> {
    let base = bases.iter().filter(|base| path.starts_with(base)).max_by_key(|base| base.as_os_str().len());
    let base = base.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "not in a directory of the agent"))?;
    let (parents, name) = split(path.strip_prefix(base).unwrap_or(path))?;
    let directory = parents.into_iter().try_fold(open_directory(base)?, |directory, name| enter(&directory, name))?;
    Ok((directory, name))
}

/// Opens a directory by its path, following links: where it is, is not up to the agent.
pub(super) fn open_directory(path: &Path) -> io::Result<OwnedFd> {
    Ok(openat(CWD, path, DIRECTORY, Mode::empty())?)
}

/// Opens a directory in a directory, unless it is a link.
pub(super) fn enter(directory: impl AsFd, name: &OsStr) -> io::Result<OwnedFd> {
    match openat(directory, name, DIRECTORY | OFlags::NOFOLLOW, Mode::empty()) {
        Err(Errno::LOOP | Errno::NOTDIR) => {
            let text = format!("{} is a symbolic link or not a directory", name.display());
            Err(io::Error::new(io::ErrorKind::InvalidInput, text))
        }
        opened => Ok(opened?),
    }
}

fn create(directory: &OwnedFd, name: &OsStr) -> io::Result<File> {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(openat(directory, name, flags, Mode::RUSR | Mode::WUSR)?.into())
}

/// The directories and the name of a relative path that does not go up.
pub(super) fn names_of(relative: &Path) -> io::Result<Vec<&OsStr>> {
    let name = |component| match component {
        Component::Normal(name) => Ok(name),
        _ => Err(io::Error::new(io::ErrorKind::InvalidInput, "the path leaves its directory")),
    };
    relative.components().map(name).collect()
}

fn split(relative: &Path) -> io::Result<(Vec<&OsStr>, &OsStr)> {
    let mut names = names_of(relative)?;
    let name = names.pop().ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    Ok((names, name))
}

#[cfg(test)]
mod tests {
    use std::{fs, os::unix::fs::symlink, path::PathBuf};

    use super::{copy_file_beneath, write_file_beneath};

    fn place() -> (tempfile::TempDir, PathBuf) {
        let directory = tempfile::tempdir().unwrap();
        let base = directory.path().canonicalize().unwrap();
        for name in ["state/chats", "outside"] {
            fs::create_dir_all(base.join(name)).unwrap();
        }
        fs::write(base.join("state/chats/old"), "said").unwrap();
        fs::write(base.join("outside/secret"), "secret").unwrap();
        (directory, base)
    }

    #[test]
    fn a_copy_is_made_within_the_agents_directories() {
        let (_directory, base) = place();
        let bases = [base.join("state")];
        let copy = |from: &str, to: &str| copy_file_beneath(&bases, &base.join(from), &base.join(to));
        copy("state/chats/old", "state/chats/new").unwrap();
        assert_eq!(fs::read_to_string(base.join("state/chats/new")).unwrap(), "said");
        assert!(copy("state/chats/old", "state/chats/new").is_err(), "nothing is overwritten");
        assert!(copy("state/chats/old", "outside/new").is_err());
        assert!(copy("outside/secret", "state/chats/secret").is_err());
        assert!(copy("state/../outside/secret", "state/chats/secret").is_err());
        assert!(copy("state/chats", "state/chats/directory").is_err());
    }

    #[test]
    fn a_copy_follows_no_links() {
        let (_directory, base) = place();
        let bases = [base.join("state")];
        let chats = base.join("state/chats");
        symlink(base.join("outside"), base.join("state/linked")).unwrap();
        symlink(base.join("outside/planted"), chats.join("dangling")).unwrap();
        symlink(base.join("outside/secret"), chats.join("to_secret")).unwrap();
        rustix::fs::mkfifoat(rustix::fs::CWD, chats.join("fifo"), rustix::fs::Mode::RWXU).unwrap();
        for (from, to) in [
            ("chats/old", "linked/planted"),
            ("chats/old", "chats/dangling"),
            ("chats/to_secret", "chats/copied"),
            ("linked/secret", "chats/copied"),
            ("chats/fifo", "chats/copied"),
        ] {
            let (from_path, to_path) = (base.join("state").join(from), base.join("state").join(to));
            assert!(copy_file_beneath(&bases, &from_path, &to_path).is_err(), "{from} {to}");
        }
        assert!(!base.join("outside/planted").exists() && !chats.join("copied").exists());
    }

    #[test]
    fn files_are_written_with_their_directories_and_never_through_links() {
        let (_directory, base) = place();
        let state = base.join("state");
        write_file_beneath(&state, &state.join("a/b/file"), "text").unwrap();
        assert_eq!(fs::read_to_string(state.join("a/b/file")).unwrap(), "text");
        symlink(base.join("outside"), state.join("linked")).unwrap();
        for path in [state.join("linked/x"), state.join("../outside/x"), base.join("outside/x"), state.clone()] {
            assert!(write_file_beneath(&state, &path, "text").is_err(), "{}", path.display());
        }
        assert!(!base.join("outside/x").exists());
    }
}
