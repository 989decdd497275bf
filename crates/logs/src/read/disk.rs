//! Files beside a log, as an agent's folder asks for them.

use std::{
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::Host;

use super::file;

/// The disk alone: neither the environment nor the user's home has to do with where a log's own files are.
pub struct Disk;

impl Host for Disk {
    fn env(&self, _: &str) -> Option<String> {
        None
    }

    fn home(&self) -> PathBuf {
        PathBuf::new()
    }

    fn read(&self, path: &Path) -> Option<String> {
        String::from_utf8(file::whole(path).ok()?).ok()
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.sort();
        paths
    }
}
