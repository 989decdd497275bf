//! A control group (cgroup v2) for each run, where one is delegated to the user. The kernel tracks every descendant in
//! it, however it was started, and kills all of them at once. Processes of confined sessions cannot leave it; those of
//! unconfined ones can do so deliberately.

use std::{
    fs, io,
    os::unix::fs::MetadataExt as _,
    path::{Path, PathBuf},
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::{Duration, Instant},
};

use super::process::{ProcessRef, process_start_time};

/// The prefix of every group's name. The rest names its owner, so that groups of dead owners can be removed.
const NAME_PREFIX: &str = "switchboard-";

/// The maximum time that killed processes may take to leave a group.
const KILL_TIMEOUT: Duration = Duration::from_secs(2);

/// The depth to which abandoned groups are searched.
const MAX_SEARCH_DEPTH: usize = 12;

/// The interval between checks of a group while its processes die.
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
        let (namespace, started) = (pid_namespace(), process_start_time(pid).unwrap_or_default());
        let path = parent.join(format!("{NAME_PREFIX}{namespace}-{pid}-{started}-{number}"));
        fs::create_dir(&path)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot create a control group: {error}")))?;
        let group = Self(path);
        if !group.0.join("cgroup.kill").exists() {
            return Err(io::Error::other("cannot kill control groups; needs Linux 5.14 or newer"));
        }
        Ok(group)
    }

    /// Moves a process into the group. Its later descendants are born there.
    pub fn add(&self, process: ProcessRef) -> io::Result<()> {
        fs::write(self.0.join("cgroup.procs"), process.pid.to_string())
            .map_err(|error| io::Error::new(error.kind(), format!("cannot enter a control group: {error}")))
    }
}

impl Drop for SessionCgroup {
    fn drop(&mut self) {
        remove_group(&self.0);
    }
}

/// Removes the groups that dead processes of this program left below the one of this process, with the processes in
/// them.
pub fn remove_abandoned_cgroups() {
    if let Ok(directory) = own_directory() {
        remove_abandoned_below(&directory, 1);
    }
}

/// Removes the groups that dead processes of this program left anywhere: a process that was started in another terminal
/// or by another service had another group.
pub fn remove_all_abandoned_cgroups() {
    if let Ok(directory) = mounted_directory() {
        remove_abandoned_below(&directory, MAX_SEARCH_DEPTH);
    }
}

fn remove_abandoned_below(directory: &Path, depth: usize) {
    let namespace = pid_namespace();
    for entry in fs::read_dir(directory).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        match parse_owner(&entry.file_name().to_string_lossy(), namespace) {
            Some(owner) if process_start_time(owner.pid) != Some(owner.start_time) => remove_group(&entry.path()),
            Some(_) => {}
            None if depth > 1 => remove_abandoned_below(&entry.path(), depth - 1),
            None => {}
        }
    }
}

/// Parses the process that created a group from the group's name. Processes of other PID namespaces are not visible
/// here.
fn parse_owner(name: &str, namespace: u64) -> Option<ProcessRef> {
    let mut numbers = name.strip_prefix(NAME_PREFIX)?.split('-').map(|part| part.parse::<u64>().ok());
    let is_visible = numbers.next()?? == namespace;
    let owner = ProcessRef { pid: u32::try_from(numbers.next()??).ok()?, start_time: numbers.next()?? };
    is_visible.then_some(owner)
}

/// Returns the number of the PID namespace of this process.
fn pid_namespace() -> u64 {
    fs::metadata("/proc/self/ns/pid").map(|namespace| namespace.ino()).unwrap_or_default()
}

/// Kills the processes in a group and removes it. Groups that an agent created below it go first.
fn remove_group(path: &Path) {
    // An empty group can be removed at once.
    if fs::remove_dir(path).is_ok() {
        return;
    }
    fs::write(path.join("cgroup.kill"), "1").ok();
    let nested = fs::read_dir(path).into_iter().flatten().flatten().map(|entry| entry.path());
    nested.filter(|path| path.is_dir()).for_each(|path| remove_group(&path));
    let deadline = Instant::now() + KILL_TIMEOUT;
    while fs::remove_dir(path).is_err_and(|error| error.kind() == io::ErrorKind::ResourceBusy)
        && Instant::now() < deadline
    {
        thread::sleep(POLL_INTERVAL);
    }
}

/// Returns the directory of the group of this process.
fn own_directory() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    find_directory(&mounts, &groups).ok_or_else(not_mounted)
}

/// Returns the directory of all groups that are visible here.
fn mounted_directory() -> io::Result<PathBuf> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    let first = cgroup_mounts(&mounts).next();
    first.map(|(_, point)| PathBuf::from(point)).ok_or_else(not_mounted)
}

fn not_mounted() -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, "cgroup v2 is not mounted")
}

fn find_directory(mounts: &str, groups: &str) -> Option<PathBuf> {
    let group = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    cgroup_mounts(mounts)
        .find_map(|(root, point)| Some(Path::new(point).join(Path::new(group).strip_prefix(root).ok()?)))
}

/// Returns the mounted directory and the mount point of each cgroup v2 mount.
fn cgroup_mounts(mounts: &str) -> impl Iterator<Item = (&str, &str)> {
    mounts.lines().filter_map(|line| {
        let (mount, kind) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        kind.starts_with("cgroup2 ").then_some((fields.next()?, fields.next()?))
    })
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{find_directory, parse_owner};
    use crate::supervise::ProcessRef;

    #[test]
    fn the_directory_of_a_group_is_found() {
        let unified = "29 23 0:26 / /sys/fs/cgroup rw,nosuid - cgroup2 cgroup2 rw,nsdelegate\n";
        let hybrid = "30 20 0:25 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids\n\
                      31 20 0:27 / /sys/fs/cgroup/unified rw - cgroup2 none rw\n";
        let container = "40 39 0:30 /docker/abc /sys/fs/cgroup ro - cgroup2 cgroup rw\n";
        let group = "5:pids:/x\n0::/user.slice/app.scope\n";
        assert_eq!(find_directory(unified, group), Some(PathBuf::from("/sys/fs/cgroup/user.slice/app.scope")));
        assert_eq!(find_directory(hybrid, "0::/\n").as_deref(), Some(Path::new("/sys/fs/cgroup/unified")));
        assert_eq!(find_directory(container, "0::/docker/abc/y\n"), Some(PathBuf::from("/sys/fs/cgroup/y")));
        assert_eq!(find_directory(container, group), None);
        assert_eq!(find_directory("", group), None);
    }

    #[test]
    fn the_name_of_a_group_names_its_owner() {
        assert_eq!(
            parse_owner("switchboard-4026531836-12-345-6", 4026531836),
            Some(ProcessRef { pid: 12, start_time: 345 })
        );
        for name in ["switchboard-1-12-345-6", "switchboard-4026531836-12", "switchboard-a-b-c-d", "app-1-12-345-6", ""]
        {
            assert_eq!(parse_owner(name, 4026531836), None, "{name}");
        }
    }
}
