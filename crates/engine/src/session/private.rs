//! The private folder of a session: temporary files of the agent and what it is started with. It goes with the session.

use std::{
    fs, io,
    os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _},
    path::{Path, PathBuf},
};

/// A folder that nobody else can read, and that is removed when this is dropped.
pub struct Private(PathBuf);

impl Private {
    /// Makes one in the folder for temporary files.
    pub fn new(temp: &Path, name: &str) -> io::Result<Self> {
        let folder = temp.join(name);
        // One that is there already belongs to somebody else.
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
        // What cannot be removed is left to whoever cleans the folder for temporary files.
        drop(fs::remove_dir_all(&self.0));
    }
}
