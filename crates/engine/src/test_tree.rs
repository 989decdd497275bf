//! A directory tree for tests.

use std::{
    fs,
    ops::Deref,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use tempfile::TempDir;

/// A temporary directory, by its path without links. Removed when dropped.
pub struct TestTree {
    path: PathBuf,
    _directory: TempDir,
}

impl TestTree {
    pub fn new(directories: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().canonicalize().unwrap();
        directories.iter().for_each(|name| fs::create_dir_all(path.join(name)).unwrap());
        Self { path, _directory: directory }
    }

    /// Writes a file, and creates its parent directories.
    pub fn write(&self, path: &str, text: &str) {
        let path = self.path.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    /// Creates a symbolic link. Relative targets stay relative.
    pub fn link(&self, target: &str, path: &str) {
        symlink(target, self.path.join(path)).unwrap();
    }

    pub fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.path).unwrap().display().to_string()
    }
}

impl Deref for TestTree {
    type Target = Path;

    fn deref(&self) -> &Path {
        &self.path
    }
}
