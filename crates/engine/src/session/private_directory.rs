//! The private directory of a session: temporary and startup files of the agent. It is removed with the session.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use rustix::{
    fd::{AsRawFd as _, OwnedFd},
    fs::{CWD, Mode, OFlags, openat},
};

use crate::{paths::write_file_beneath, supervise::process_start_time};

const DIRECTORY_FLAGS: OFlags = OFlags::PATH.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);

/// The maximum depth of a cleanup; each level holds a descriptor. Deeper directories are left to the next cleanup.
const MAX_DEPTH: usize = 128;

/// A directory that only the user can read, removed when dropped.
pub struct PrivateDirectory(PathBuf);

impl PrivateDirectory {
    /// Creates a directory. Its name contains its owner, so that leftovers of a crash can be distinguished from
    /// directories in use.
    pub fn new(parent: &Path, secret: &str) -> io::Result<Self> {
        let pid = std::process::id();
        let random: String = secret.chars().take(8).collect();
        let name = format!("{pid}.{}.{random}", process_start_time(pid).unwrap_or_default());
        fs::DirBuilder::new().mode(0o700).recursive(true).create(parent)?;
        // The agent uses it from another directory.
        let directory = fs::canonicalize(parent)?.join(name);
        fs::DirBuilder::new().mode(0o700).create(&directory)?;
        Ok(Self(directory))
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn write_file(&self, path: &Path, text: &str) -> io::Result<()> {
        write_file_beneath(&self.0, path, text)
    }
}

impl Drop for PrivateDirectory {
    fn drop(&mut self) {
        // If it cannot be removed now, the next start tries again.
        drop(remove_directory(&self.0));
    }
}

/// Removes the directories of processes that are gone.
pub fn remove_abandoned_directories(parent: &Path) {
    for entry in fs::read_dir(parent).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let mut parts = name.to_str().unwrap_or_default().split('.');
        let owner = parts.next().and_then(|pid| pid.parse().ok()).zip(parts.next().and_then(|time| time.parse().ok()));
        if owner.is_some_and(|(pid, start_time): (u32, u64)| process_start_time(pid) != Some(start_time)) {
            drop(remove_directory(&entry.path()));
        }
    }
}

/// Removes a directory and everything in it, including directories that their owner may not enter.
fn remove_directory(path: &Path) -> io::Result<()> {
    fs::remove_dir_all(path).or_else(|_| {
        let opened = openat(CWD, path, DIRECTORY_FLAGS, Mode::empty())?;
        make_accessible(&opened, MAX_DEPTH)?;
        fs::remove_dir_all(path)
    })
}

/// Makes a directory and those in it accessible. Links are not followed.
fn make_accessible(directory: &OwnedFd, depth: usize) -> io::Result<()> {
    // Permissions are set through the descriptor, so that the directory cannot be exchanged in between.
    let path = format!("/proc/self/fd/{}", directory.as_raw_fd());
    fs::set_permissions(&path, fs::Permissions::from_mode(0o700))?;
    for entry in fs::read_dir(&path)?.flatten() {
        let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if depth > 0 && is_directory {
            let inner = openat(directory, entry.file_name(), DIRECTORY_FLAGS, Mode::empty())?;
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

    use super::PrivateDirectory;
    use crate::test_tree::TestTree;

    /// Drops the capabilities with which root enters every directory, so that this thread behaves like any user's.
    fn drop_root_access() {
        let mut held = capabilities(None).unwrap();
        held.effective.remove(CapabilitySet::DAC_OVERRIDE | CapabilitySet::DAC_READ_SEARCH);
        set_capabilities(None, held).unwrap();
    }

    #[test]
    fn directories_without_rights_are_removed() {
        let tree = TestTree::new(&["outside"]);
        let outside = tree.join("outside");
        fs::set_permissions(&outside, fs::Permissions::from_mode(0o500)).unwrap();
        drop_root_access();
        let private = PrivateDirectory::new(&tree.join("temp"), "0123456789").unwrap();
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
        let tree = TestTree::new(&[]);
        let private = PrivateDirectory::new(&tree, "0123456789").unwrap();
        private.write_file(&private.path().join("a/b.json"), "{}").unwrap();
        assert_eq!(fs::read_to_string(private.path().join("a/b.json")).unwrap(), "{}");
        assert!(private.write_file(&private.path().join("../outside"), "x").is_err());
        assert!(private.write_file(&tree.join("outside"), "x").is_err());
    }
}
