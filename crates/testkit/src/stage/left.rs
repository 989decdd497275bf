//! Processes that a test left behind: those with the stage's variable in their environment, or with a working directory
//! on the stage.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftoverProcess {
    pub pid: i32,
    /// The command line.
    pub command: String,
}

impl LeftoverProcess {
    pub fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            // It may have exited already.
            kill_process(pid, Signal::KILL).unwrap_or_default();
        }
    }
}

/// Returns the processes of a stage.
pub fn find_leftovers(mark: &str, root: &Path) -> Vec<LeftoverProcess> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter_map(|pid| stage_process(pid, mark, root)).collect()
}

/// Returns the process if it belongs to the stage. A zombie has no command line.
fn stage_process(pid: i32, mark: &str, root: &Path) -> Option<LeftoverProcess> {
    let folder = Path::new("/proc").join(pid.to_string());
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let marked = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
    let inside = fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
    let command = String::from_utf8_lossy(&fs::read(folder.join("cmdline")).ok()?).replace('\0', " ");
    let command = command.trim_end().to_owned();
    ((marked || inside) && !command.is_empty()).then_some(LeftoverProcess { pid, command })
}

/// Returns the direct children of a process.
#[must_use]
pub fn child_pids(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}
