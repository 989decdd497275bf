//! Where OpenCode keeps its things.

use std::path::PathBuf;

use crate::{Host, StateDirectory};

/// A folder of OpenCode's: under what the variable says, or under this folder of the home folder.
fn folder(host: &dyn Host, variable: &str, default: &str) -> PathBuf {
    let base = host.env(variable).filter(|base| !base.is_empty()).map(PathBuf::from);
    base.unwrap_or_else(|| host.home().join(default)).join("opencode")
}

/// Sessions, logins, logs, long output.
pub fn data(host: &dyn Host) -> PathBuf {
    folder(host, "XDG_DATA_HOME", ".local/share")
}

/// Configuration.
pub fn config(host: &dyn Host) -> PathBuf {
    folder(host, "XDG_CONFIG_HOME", ".config")
}

/// Directories that it writes to and whose content runs later: plugins, language servers, git directories. Its database
/// lies in the data directory itself, with files next to it that come and go.
pub fn discarded(host: &dyn Host) -> Vec<StateDirectory> {
    let state = folder(host, "XDG_STATE_HOME", ".local/state");
    let cache = folder(host, "XDG_CACHE_HOME", ".cache");
    let [snapshot, bin, repos] = ["snapshot", "bin", "repos"].map(|name| data(host).join(name));
    [snapshot, bin, repos, state, cache, config(host)].into_iter().map(StateDirectory::discarded).collect()
}
