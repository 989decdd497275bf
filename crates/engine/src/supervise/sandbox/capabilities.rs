//! Capabilities: those that setting up a sandbox needs, and none for the agent.

use std::io;

use rustix::{
    io::Errno,
    thread::{
        CapabilitySet, CapabilitySets, capabilities, clear_ambient_capability_set, configure_capability_in_ambient_set,
        remove_capability_from_bounding_set, set_capabilities,
    },
};

/// Capabilities that mounting and dropping the others needs. Layers over directories (overlayfs) work in a directory that
/// has no rights at all, with the capabilities of the process that mounted them.
const SETUP: CapabilitySet = CapabilitySet::SYS_ADMIN
    .union(CapabilitySet::SETPCAP)
    .union(CapabilitySet::DAC_OVERRIDE)
    .union(CapabilitySet::FOWNER)
    .union(CapabilitySet::CHOWN);

/// Keeps the capabilities for setting up a sandbox in the next program of this process, whatever its user is.
pub fn keep_for_setup() -> io::Result<()> {
    let sets = capabilities(None)?;
    set_capabilities(None, CapabilitySets { inheritable: sets.inheritable | SETUP, ..sets })?;
    for capability in SETUP.iter() {
        configure_capability_in_ambient_set(capability, true)?;
    }
    Ok(())
}

/// Gives up all capabilities, for this process and all that it will start. Also those that a program could get by
/// running as root.
pub fn drop_all() -> io::Result<()> {
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
    Ok(give_up()?)
}

/// Gives up the capabilities of this process alone.
pub fn give_up() -> rustix::io::Result<()> {
    let none = CapabilitySet::empty();
    set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
}
