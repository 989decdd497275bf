//! What the machine gives, as the caller found it: environment, folders, clock, fresh ids. The engine asks for none
//! of it itself, so that tests can give it another.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use switchboard_agents::Host;
use switchboard_event::{Id, Timestamp};

/// A larger configuration file than this is none.
const LARGEST_FILE: u64 = 16 << 20;

/// What the machine gives.
#[derive(Clone)]
pub struct Machine {
    /// The environment that agents inherit.
    pub env: BTreeMap<String, String>,
    /// The user's home folder.
    pub home: PathBuf,
    /// Where private folders of sessions are made. It is ours alone: old ones in it are removed.
    pub temp: PathBuf,
    /// Our own program, which also is the launcher.
    pub program: PathBuf,
    /// The user is root.
    pub root: bool,
    /// The clock.
    pub now: fn() -> Timestamp,
    /// An id that nothing else has, and that sorts by time.
    pub fresh_id: fn() -> Id,
    /// A secret that nobody can guess.
    pub secret: fn() -> String,
}

impl Host for Machine {
    fn env(&self, name: &str) -> Option<String> {
        self.env.get(name).filter(|value| !value.is_empty()).cloned()
    }

    fn home(&self) -> PathBuf {
        self.home.clone()
    }

    fn read(&self, path: &Path) -> Option<String> {
        let size = fs::metadata(path).ok().filter(fs::Metadata::is_file)?.len();
        (size <= LARGEST_FILE).then(|| fs::read_to_string(path).ok()).flatten()
    }

    fn list(&self, folder: &Path) -> Vec<PathBuf> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        let mut paths: Vec<_> = entries.map(|entry| entry.path()).collect();
        paths.sort();
        paths
    }
}

/// We run as root.
#[must_use]
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

impl Machine {
    /// The same machine with another environment.
    #[must_use]
    pub fn with_env(&self, env: BTreeMap<String, String>) -> Self {
        Self { env, ..self.clone() }
    }
}
