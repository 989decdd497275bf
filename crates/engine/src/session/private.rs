//! The private folder of a session: temporary files of the agent and what it is started with. It goes with the session.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

use crate::supervise::start_time;

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
        let path = self.0.join(path);
        if !path.starts_with(&self.0) {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "not in the private folder of the session"));
        }
        if let Some(folder) = path.parent() {
            fs::DirBuilder::new().mode(0o700).recursive(true).create(folder)?;
        }
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(path)?;
        io::Write::write_all(&mut file, text.as_bytes())
    }
}

impl Drop for Private {
    fn drop(&mut self) {
        // What cannot be removed now is tried again at the next start.
        drop(fs::remove_dir_all(&self.0));
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
            drop(fs::remove_dir_all(entry.path()));
        }
    }
}
