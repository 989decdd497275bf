//! Host access for files next to a log.

use std::{
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::HostAccess;

use super::file;

/// Only the disk: neither the environment nor the user's home affects where a log's own files are.
pub struct DiskOnlyHost;

impl HostAccess for DiskOnlyHost {
    fn env_var(&self, _: &str) -> Option<String> {
        None
    }

    fn home_dir(&self) -> PathBuf {
        PathBuf::new()
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        String::from_utf8(file::read_whole_file(path).ok()?).ok()
    }

    fn list_dir(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten();
        let mut paths: Vec<_> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
        paths.sort();
        paths
    }
}
