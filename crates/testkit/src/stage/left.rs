//! Processes that a test left behind: those that have the stage's mark in their environment, or work in its folders.

use std::{fs, path::Path};

use rustix::process::{Pid, Signal, kill_process};

/// A process that is still there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Left {
    /// Its number.
    pub pid: i32,
    /// What it was started with.
    pub command: String,
}

impl Left {
    /// Ends it, whatever it thinks of that.
    pub fn kill(&self) {
        if let Some(pid) = Pid::from_raw(self.pid) {
            // It may have ended by itself.
            kill_process(pid, Signal::KILL).unwrap_or_default();
        }
    }
}

/// The processes that belong to a stage, by the folder that it has to itself.
pub fn left_behind(mark: &str, root: &Path) -> Vec<Left> {
    let processes = fs::read_dir("/proc").into_iter().flatten().flatten();
    let processes = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    processes.filter_map(|pid| process(pid, mark, root)).collect()
}

/// The process, if it belongs to the stage. One that has ended and was not buried yet has no command any more.
fn process(pid: i32, mark: &str, root: &Path) -> Option<Left> {
    let folder = Path::new("/proc").join(pid.to_string());
    let environment = fs::read(folder.join("environ")).unwrap_or_default();
    let marked = environment.split(|byte| *byte == 0).any(|variable| variable == mark.as_bytes());
    let inside = fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd.starts_with(root));
    let command = String::from_utf8_lossy(&fs::read(folder.join("cmdline")).ok()?).replace('\0', " ");
    let command = command.trim_end().to_owned();
    ((marked || inside) && !command.is_empty()).then_some(Left { pid, command })
}

/// The processes that a process started and that are still its own.
#[must_use]
pub fn children(parent: i32) -> Vec<i32> {
    let tasks = fs::read_dir(format!("/proc/{parent}/task")).into_iter().flatten().flatten();
    let lists = tasks.filter_map(|task| fs::read_to_string(task.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<_>>()).collect()
}
