//! A control group (cgroup v2) for each run, where one is delegated to the user. The kernel counts every descendant in
//! it, however it was started, and kills all of them at once. Processes of confined sessions cannot leave it; those of
//! unconfined ones can, if they mean to.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::process::{Process, start_time};

/// The first part of the name of every group. The rest names its owner, so that groups of dead owners can be removed.
const PREFIX: &str = "switchboard-";

/// How long processes may take to leave a group in which all were killed.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// How often a group is looked at while its processes die.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The control group of one run. Removed when dropped, with all processes in it.
#[derive(Debug)]
pub struct SessionCgroup(PathBuf);

impl SessionCgroup {
    /// Creates an empty group below the one of this process.
    ///
    /// # Errors
    /// If the machine has no cgroup v2, the group of this process is not delegated, or the kernel cannot kill groups.
    pub fn create() -> io::Result<Self> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let parent = own_directory()?;
        let (pid, number) = (std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let (namespace, started) = (pid_namespace(), start_time(pid).unwrap_or_default());
        let path = parent.join(format!("{PREFIX}{namespace}-{pid}-{started}-{number}"));
        fs::create_dir(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot create a control group: {error}")))?;
        let group = Self(path);
        if !group.0.join("cgroup.kill").exists() {
            return Err(io::Error::other("cannot kill control groups; needs Linux 5.14 or newer"));
        }
        Ok(group)
    }

    /// Moves a process into the group. Its later descendants are born there.
    pub fn add(&self, process: Process) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), process.pid.to_string())
            .map_err(|error| io::Error::new(error.kind(), format!("cannot enter a control group: {error}")))
    }
}

impl Drop for SessionCgroup {
    fn drop(&mut self) {
        remove(&self.0);
    }
}

/// Removes the groups that dead processes of this program left next to our own, and kills what is in them.
pub fn remove_abandoned_cgroups() {
    let (entries, namespace) = (own_directory().and_then(fs::read_dir), pid_namespace());
    for entry in entries.into_iter().flatten().flatten() {
        let owner = owner(&entry.file_name().to_string_lossy(), namespace);
        if owner.is_some_and(|owner| start_time(owner.pid) != Some(owner.start_time)) {
            remove(&entry.path());
        }
    }
}

/// The process that created a group, by the group's name. Processes of other PID namespaces cannot be seen from here.
fn owner(name: &str, namespace: u64) -> Option<Process> {
    let mut numbers = name.strip_prefix(PREFIX)?.split('-').map(|part| part.parse::<u64>().ok());
    let is_visible = numbers.next()?? == namespace;
    let owner = Process { pid: u32::try_from(numbers.next()??).ok()?, start_time: numbers.next()?? };
    is_visible.then_some(owner)
}

/// The number of the PID namespace that this process is in.
fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map(|namespace| namespace.ino()).unwrap_or_default()
}

/// Kills the processes in a group and removes it. Groups that an agent created below it go first.
fn remove(path: &Path) {
    // The directory can be removed at once if nothing is in it.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    fs::write(path.join("cgroup.kill"), "1").ok();
    let nested = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    nested.filter(|path| path.is_dir()).for_each(|path| remove(&path));
    let deadline = Instant::now() + KILL_TIMEOUT;
    while fs::remove_dir(path).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
        && Instant::now() < deadline
    {
        thread::sleep(POLL_INTERVAL);
    }
}

/// The directory of the group that this process is in.
fn own_directory() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    directory(&mounts, &groups).ok_or_else(|| io::Error::new(io::ErrorKind::NotFound, "cgroup v2 is not mounted"))
}

fn directory(mounts: &str, groups: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    mounts.lines().find_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, point) = (fields.next()?, fields.next()?);
        let below = Path::new(group).strip_prefix(root).ok()?;
        kind.starts_with("cgroup2 ").then(|| Path::new(point).join(below))
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{directory, owner};
    use crate::supervise::Process;

    #[test]
    fn the_directory_of_a_group_is_found() {
        let unified = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "30 20 0:25 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      31 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
        let container = "40 39 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let group = "5:pids:/x\n0::/user.slice/app.scope\n";
        assert_eq!(directory(unified, group), Some(PathBuf::from("/sys/fs/cgroup/user.slice/app.scope")));
        assert_eq!(directory(hybrid, "0::/\n").as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(directory(container, "0::/docker/abc/y\n"), Some(PathBuf::from("/sys/fs/cgroup/y")));
        assert_eq!(directory(container, group), None);
        assert_eq!(directory("", group), None);
    }

    #[test]
    fn the_name_of_a_group_tells_its_owner() {
        assert_eq!(owner("switchboard-4026531836-12-345-6", 4026531836), Some(Process { pid: 12, start_time: 345 }));
        for name in ["switchboard-1-12-345-6", "switchboard-4026531836-12", "switchboard-a-b-c-d", "app-1-12-345-6", ""]
        {
            assert_eq!(owner(name, 4026531836), None, "{name}");
        }
    }
}
