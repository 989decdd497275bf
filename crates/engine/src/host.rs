//! The host environment as the caller provides it: variables, directories, clock, fresh IDs. The engine reads none of
//! it itself, so that tests can replace it.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::HostAccess;
use switchboard_event::{Id, Timestamp};
use switchboard_store::{LogOwner, ProcessIdentity};

use crate::supervise::process_start_time;

const MAX_CONFIG_FILE_BYTES: u64 = 16 << 20;

/// The environment that the engine runs in.
#[derive(Clone)]
pub struct HostEnvironment {
    /// The environment that agents inherit.
    pub env: BTreeMap<String, String>,
    /// The user's home directory.
    pub home: PathBuf,
    /// The parent of the private directories of sessions. Used by Switchboard alone: stale ones in it are removed.
    pub temp: PathBuf,
    /// The Switchboard program, which also has the supervisor's hidden modes.
    pub program: PathBuf,
    /// Whether the user is root.
    pub is_root: bool,
    pub now: fn() -> Timestamp,
    /// Returns a unique ID that sorts by time.
    pub new_id: fn() -> Id,
    /// Returns an unguessable secret.
    pub new_secret: fn() -> String,
}

impl HostEnvironment {
    pub(crate) fn with_env(&self, env: BTreeMap<String, String>) -> Self {
        Self { env, ..self.clone() }
    }
}

impl HostAccess for HostEnvironment {
    fn env_var(&self, name: &str) -> Option<String> {
        self.env.get(name).filter(|value| !value.is_empty()).cloned()
    }

    fn home_dir(&self) -> PathBuf {
        self.home.clone()
    }

    fn read_file(&self, path: &Path) -> Option<String> {
        let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        (size <= MAX_CONFIG_FILE_BYTES).then(|| fs::read_to_string(path).ok()).flatten()
    }

    fn list_dir(&self, directory: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(directory).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }
}

/// Returns whether this process runs as root.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

pub fn this_process() -> LogOwner {
    let pid = std::process::id();
    let process = ProcessIdentity { pid, start: process_start_time(pid).unwrap_or_default() };
    LogOwner { process, boot: boot_id() }
}

/// Returns the name of this machine in diagnostics.
pub(crate) fn node_name() -> String {
    rustix::system::uname().nodename().to_string_lossy().into_owned()
}

/// Returns the ID of the current boot of the machine. PIDs of another boot are meaningless.
pub(crate) fn boot_id() -> Id {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    Id::from(text.trim())
}
