//! Namespaces: the agent sees and signals the processes of its session alone, and they end with the first of them.

use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use rustix::process::{getegid, geteuid};

use super::capabilities;

/// Enters a new user namespace, and has the next child be the first process of a new PID namespace. The child keeps the
/// capabilities that mounting needs. Where user namespaces are not allowed, root does without.
pub fn enter_pid_namespace() -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    match unshare(CloneFlags::CLONE_NEWUSER) {
        Ok(()) => map_ids(uid, gid)?,
        Err(error) if uid != 0 => return Err(explain("cannot create a user namespace", error)),
        Err(_) => {}
    }
    unshare(CloneFlags::CLONE_NEWPID).map_err(|error| explain("cannot create a PID namespace", error))?;
    capabilities::keep_for_setup()
}

/// Leaves the mounts of the machine alone: those of this process are its own from now on.
pub fn enter_mount_namespace() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC)
        .map_err(|error| explain("cannot create a mount namespace", error))
}

/// The user keeps its own ids: an agent that runs as root behaves differently.
fn map_ids(uid: u32, gid: u32) -> io::Result<()> {
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(|error| io::Error::new(error.kind(), format!("cannot write {file} of a user namespace: {error}")))
    };
    write("uid_map", format!("{uid} {uid} 1"))?;
    write("setgroups", "deny".to_owned())?;
    write("gid_map", format!("{gid} {gid} 1"))
}

fn explain(what: &str, errno: nix::errno::Errno) -> io::Error {
    let error = io::Error::from(errno);
    io::Error::new(error.kind(), format!("{what}: {error}"))
}
