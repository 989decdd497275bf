//! Locations of logs: the agents' directories on this machine, or explicitly named ones.

use std::path::{Path, PathBuf};

use switchboard_agents::{AgentLogs, HostAccess, LOGS};

/// An agent's directory with its logs.
#[derive(Clone)]
pub struct AgentHome {
    pub logs: &'static AgentLogs,
    pub folder: PathBuf,
    /// The machine it comes from, unless it is this one.
    pub machine: Option<String>,
}

/// Returns the existing agent directories: those of this machine if none are named. A named home is a user's home
/// directory, or an agent's own directory.
#[must_use]
pub fn find_homes(host: &dyn HostAccess, named: &[PathBuf], machine: Option<&str>) -> Vec<AgentHome> {
    let mut homes = candidate_homes(host, named, machine);
    homes.retain(AgentHome::has_logs);
    homes
}

/// Returns all possible agent directories, existing or not.
#[must_use]
pub fn candidate_homes(host: &dyn HostAccess, named: &[PathBuf], machine: Option<&str>) -> Vec<AgentHome> {
    let of_machine = |logs: &'static AgentLogs| {
        if named.is_empty() { (logs.homes)(host) } else { candidate_directories(logs, named) }
    };
    let found = LOGS.iter().flat_map(|logs| of_machine(logs).into_iter().map(move |folder| (logs, folder)));
    let mut homes: Vec<AgentHome> = Vec::new();
    for (logs, folder) in found {
        let folder = folder.canonicalize().unwrap_or(folder);
        let known = homes.iter().any(|home| home.logs.agent == logs.agent && home.folder == folder);
        if !known {
            homes.push(AgentHome { logs, folder, machine: machine.map(str::to_owned) });
        }
    }
    homes
}

fn candidate_directories(logs: &AgentLogs, named: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |home: &PathBuf| logs.below.iter().map(|below| home.join(below)).collect::<Vec<_>>();
    named.iter().flat_map(|home| [inside(home), vec![home.clone()]].concat()).collect()
}

impl AgentHome {
    /// Returns whether the directory contains logs, or cannot be read.
    #[must_use]
    pub fn has_logs(&self) -> bool {
        self.logs
            .folders
            .iter()
            .any(|inner| expand_pattern(&self.folder, inner).iter().any(|path| path.try_exists().unwrap_or(true)))
    }
}

/// Returns the paths in a directory that match a name. A `*` in a file name matches anything.
pub fn expand_pattern(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((before, behind)) = name.split_once('*') else {
        return vec![folder.join(name)];
    };
    let fits = |name: &str| name.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)).is_some();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(fits));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    // The order of directory entries differs between machines.
    paths.sort();
    paths
}
