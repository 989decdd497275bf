//! OpenCode's directories.

use std::path::PathBuf;

use crate::{HostAccess, StateDirectory};

/// Returns one of OpenCode's directories: below the variable's value, or below a default in the home directory.
fn folder(host: &dyn HostAccess, variable: &str, default: &str) -> PathBuf {
    let base = host.env_var(variable).filter(|base| !base.is_empty()).map(PathBuf::from);
    base.unwrap_or_else(|| host.home_dir().join(default)).join("opencode")
}

/// Returns the directory for sessions, logins, logs and long output.
pub fn data(host: &dyn HostAccess) -> PathBuf {
    folder(host, "XDG_DATA_HOME", ".local/share")
}

pub fn config(host: &dyn HostAccess) -> PathBuf {
    folder(host, "XDG_CONFIG_HOME", ".config")
}

/// Returns the directories that OpenCode writes to and whose content runs later: plugins, language servers, git
/// directories. The database is in the data directory itself, next to temporary files.
pub fn discarded(host: &dyn HostAccess) -> Vec<StateDirectory> {
    let state = folder(host, "XDG_STATE_HOME", ".local/state");
    let cache = folder(host, "XDG_CACHE_HOME", ".cache");
    let [snapshot, bin, repos] = ["snapshot", "bin", "repos"].map(|name| data(host).join(name));
    [snapshot, bin, repos, state, cache, config(host)].into_iter().map(StateDirectory::new_discarded).collect()
}
