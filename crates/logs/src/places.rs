//! Where logs may lie: the homes of this machine, or those that were named.

use std::path::{Path, PathBuf};

use switchboard_agents::{Host, LOGS, Logs};

/// A folder of an agent with its logs.
#[derive(Clone)]
pub struct Home {
    /// The agent's logs.
    pub logs: &'static Logs,
    /// Its own folder.
    pub folder: PathBuf,
    /// The machine that it comes from, if that is another one.
    pub machine: Option<String>,
}

/// The agents' folders: those of this machine if none are named. A named home is the home folder of a user, or an
/// agent's own folder.
#[must_use]
pub fn homes(host: &dyn Host, named: &[PathBuf], machine: Option<&str>) -> Vec<Home> {
    let mut homes = looked_in(host, named, machine);
    homes.retain(Home::is_there);
    homes
}

/// All folders that are looked for, whether they are there or not.
#[must_use]
pub fn looked_in(host: &dyn Host, named: &[PathBuf], machine: Option<&str>) -> Vec<Home> {
    let of_machine = |logs: &'static Logs| if named.is_empty() { (logs.homes)(host) } else { below(logs, named) };
    let found = LOGS.iter().flat_map(|logs| of_machine(logs).into_iter().map(move |folder| (logs, folder)));
    let mut homes: Vec<Home> = Vec::new();
    for (logs, folder) in found {
        let folder = folder.canonicalize().unwrap_or(folder);
        let known = homes.iter().any(|home| home.logs.agent == logs.agent && home.folder == folder);
        if !known {
            homes.push(Home { logs, folder, machine: machine.map(str::to_owned) });
        }
    }
    homes
}

fn below(logs: &Logs, named: &[PathBuf]) -> Vec<PathBuf> {
    let inside = |home: &PathBuf| logs.below.iter().map(|below| home.join(below)).collect::<Vec<_>>();
    named.iter().flat_map(|home| [inside(home), vec![home.clone()]].concat()).collect()
}

impl Home {
    /// The folder has what the agent keeps its logs in, or cannot be looked into.
    #[must_use]
    pub fn is_there(&self) -> bool {
        self.logs
            .folders
            .iter()
            .any(|inner| inside(&self.folder, inner).iter().any(|path| path.try_exists().unwrap_or(true)))
    }
}

/// A folder or a file in a folder. A `*` in the name of a file stands for anything.
pub fn inside(folder: &Path, name: &str) -> Vec<PathBuf> {
    let Some((before, behind)) = name.split_once('*') else {
        return vec![folder.join(name)];
    };
    let fits = |name: &str| name.strip_prefix(before).and_then(|rest| rest.strip_suffix(behind)).is_some();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let named = entries.filter(|entry| entry.file_name().to_str().is_some_and(fits));
    let mut paths: Vec<PathBuf> = named.map(|entry| entry.path()).collect();
    // A folder lists its files in an order of its own, on every machine in another.
    paths.sort();
    paths
}
