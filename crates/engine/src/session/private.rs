//! The private folder of a session: temporary files of the agent and what it is started with. It goes with the session.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fd::{AsRawFd as _, OwnedFd},
    fs::{CWD, Mode, OFlags, openat},
};

use crate::{paths::write_file_beneath, supervise::start_time};

const DIRECTORY: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// Directories in directories beyond this are left to the next cleanup: each level holds a descriptor.
const MAX_DEPTH: usize = 128;

/// A folder that nobody else can read, and that is removed when this is dropped.
pub struct Private(PathBuf);

impl Private {
    /// Makes one. Its name says whose it is, so that what a crash leaves can be told from what is in use.
    pub fn new(parent: &Path, secret: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let random: String = secret.chars().take(8).collect();
        let name = format!("{pid}.{}.{random}", start_time(pid).unwrap_or_default());
        fs::DirBuilder::new().mode(0o700).recursive(true).create(parent)?;
        // The agent looks from another folder.
        let folder = fs::canonicalize(parent)?.join(name);
        fs::DirBuilder::new().mode(0o700).create(&folder)?;
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.0
    }

    /// Writes a file into it.
    pub fn write(&self, path: &Path, text: &str) -> io::Result<()> {
        write_file_beneath(&self.0, path, text)
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What cannot be removed now is tried again at the next start.
        drop(remove_directory(&self.0));
    }
}

/// Removes the folders of processes that are gone.
pub fn clean(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mut parts = name.to_str().unwrap_or_default().split('.');
        let (pid, start) =
            (parts.next().and_then(|p| p.parse().ok()), parts.next().and_then(|s| s.parse::<u64>().ok()));
        if let (Some(pid), Some(start)) = (pid, start)
            && start_time(pid) != Some(start)
        {
            drop(remove_directory(&entry.path()));
        }
    }
}

/// Removes a directory and everything in it, also directories that their owner may not enter.
fn remove_directory(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| {
        let opened = openat(CWD, path, DIRECTORY, Mode::empty())?;
        make_accessible(&opened, MAX_DEPTH)?;
        fs::remove_dir_all(path)
    })
}

/// Lets us enter a directory and those in it. Links are left alone.
fn make_accessible(directory: &OwnedFd, depth: usize) -> io::Result<()> {
    // Rights belong to the directory itself, and no other can come between: the descriptor stays what it is.
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(&path)?.flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if depth > 0 && is_directory {
            let inner = openat(directory, entry.file_name(), DIRECTORY, Mode::empty())?;
            make_accessible(&inner, depth - 1)?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::{
        fs,
        os::unix::fs::{PermissionsExt as _, symlink},
    };

    use rustix::thread::{CapabilitySet, capabilities, set_capabilities};

    use super::Private;

    /// Root enters every directory. Without these capabilities, this thread is as any user's.
    fn become_ordinary() {
        let mut held = capabilities(None).unwrap();
        held.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, held).unwrap();
    }

    #[test]
    fn directories_without_rights_are_removed() {
        let place = tempfile::tempdir().unwrap();
        let outside = place.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o500)).unwrap();
        become_ordinary();
        let private = Private::new(&place.path().join("temp"), "0123456789").unwrap();
        let path = private.path().to_owned();
        fs::create_dir_all(path.join("closed/inner")).unwrap();
        fs::write(path.join("closed/inner/file"), "x").unwrap();
        symlink(&outside, path.join("closed/inner/link")).unwrap();
        for (name, mode) in [("closed/inner", 0o000), ("closed", 0o000), ("", 0o500)] {
            fs::set_permissions(path.join(name), fs::Permissions::from_mode(mode)).unwrap();
        }
        drop(private);
        assert!(!path.exists());
        let mode = fs::metadata(&outside).unwrap().permissions().mode() & 0o777;
        assert_eq!(mode, 0o500, "links are not followed");
    }

    #[test]
    fn files_are_written_inside_only() {
        let place = tempfile::tempdir().unwrap();
        let private = Private::new(place.path(), "0123456789").unwrap();
        private.write(&private.path().join("a/b.json"), "{}").unwrap();
        assert_eq!(fs::read_to_string(private.path().join("a/b.json")).unwrap(), "{}");
        assert!(private.write(&private.path().join("../outside"), "x").is_err());
        assert!(private.write(&place.path().join("outside"), "x").is_err());
    }
}
