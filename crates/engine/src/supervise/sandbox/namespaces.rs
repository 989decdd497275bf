//! Namespaces: the agent sees and signals only the processes of its session, and they end with the first of them. And
//! capabilities: those that setting up a sandbox needs, and none for the agent.

use std::{fs, io};

use nix::sched::{CloneFlags, unshare};
use rustix::{
    io::Errno,
    process::{getegid, geteuid},
    thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};

use super::context;

/// Capabilities that mounting, a loopback interface and dropping the others need. Overlayfs works in a directory
/// without any permissions, with the capabilities of the process that mounted it.
const SETUP_CAPABILITIES: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::NET_ADMIN)
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN);

/// A capability for listeners of the session on ports below 1024. It may be missing where no user namespace is allowed.
const LISTENER_CAPABILITY: CapabilitySet = CapabilitySet::NET_BIND_SERVICE;

/// Enters a new user namespace, and makes the next child the first process of a new PID namespace. The child keeps the
/// capabilities that mounting needs. Where user namespaces are not allowed, root goes without one.
pub fn enter_pid_namespace() -> io::Result<()> {
    let (uid, gid) = (geteuid().as_raw(), getegid().as_raw());
    match unshare(CloneFlags::CLONE_NEWUSER) {
        Ok(()) => map_ids(uid, gid)?,
        Err(error) if uid != 0 => return Err(context("cannot create a user namespace")(error)),
        Err(_) => {}
    }
    unshare(CloneFlags::CLONE_NEWPID).map_err(context("cannot create a PID namespace"))?;
    keep_setup_capabilities()
}

/// Gives this process its own mounts, so that changes do not affect the machine.
pub fn enter_mount_namespace() -> io::Result<()> {
    unshare(CloneFlags::CLONE_NEWNS | CloneFlags::CLONE_NEWIPC).map_err(context("cannot create a mount namespace"))
}

/// Maps the user to its own IDs: an agent that runs as root behaves differently.
fn map_ids(uid: u32, gid: u32) -> io::Result<()> {
    let write = |file: &str, text: String| {
        fs::write(format!("/proc/self/{file}"), text)
            .map_err(context(format!("cannot write {file} of a user namespace")))
    };
    write("uid_map", format!("{uid} {uid} 1"))?;
    write("setgroups", "deny".to_owned())?;
    write("gid_map", format!("{gid} {gid} 1"))
}

/// Keeps the capabilities for setting up a sandbox in the next program of this process, whatever its user is.
fn keep_setup_capabilities() -> io::Result<()> {
    let sets = capabilities(None)?;
    let kept = SETUP_CAPABILITIES | (sets.permitted & LISTENER_CAPABILITY);
    set_capabilities(None, CapabilitySets { inheritable: sets.inheritable | kept, ..sets })?;
    for capability in kept.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Gives up all capabilities, for this process and all its later children, including those that a program could gain by
/// running as root.
pub fn drop_all_capabilities() -> io::Result<()> {
    for number in 0..64 {
        let Some(capability) = CapabilitySet::from_bits(1 << number) else { continue };
        match remove_capability_from_bounding_set(capability) {
            Ok(()) => {}
            // Past the last capability that this kernel has.
            Err(Errno::INVAL) => break,
            // Without privileges there is nothing to give up: no program gains any once `no_new_privs` is set.
            Err(Errno::PERM) if capabilities(None)?.permitted.is_empty() => break,
            Err(error) => return Err(error.into()),
        }
    }
    clear_ambient_capability_set()?;
    drop_own_capabilities()
}

/// Gives up the capabilities of this process only.
pub fn drop_own_capabilities() -> io::Result<()> {
    let none = CapabilitySet::empty();
    Ok(set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })?)
}
