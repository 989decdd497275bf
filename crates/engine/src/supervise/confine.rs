//! Confinement by Landlock: a process and all its descendants write where they may, and nowhere else. They read and
//! run everything. Not covered by the kernel: modes, owners and times of files, sockets that exist, the network.

use std::path::Path;

use landlock::{
    ABI, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus,
};
use thiserror::Error;

use super::{order::Confined, spec::Confinement};

/// Devices that programs write to, as far as they exist. Never the temp folder: a workspace may lie there.
const DEVICES: &[&str] = &[
    "/dev/null",
    "/dev/zero",
    "/dev/full",
    "/dev/random",
    "/dev/urandom",
    "/dev/tty",
    "/dev/ptmx",
    "/dev/pts",
    "/dev/shm",
];

/// The first version that also guards truncation (2) and moves between folders (3).
const NEEDED: ABI = ABI::V3;

/// Why the kernel cannot confine a process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum NoConfinement {
    /// Not built in, not enabled, or hidden from us.
    #[error("this kernel has no Landlock, or it is not enabled")]
    Missing,
    /// It does not guard all ways to write.
    #[error("the Landlock of this kernel is too old, Linux 6.2 or newer is needed")]
    TooOld,
}

/// Whether a [`Confinement`] can be enforced here in full.
pub fn confinement_available() -> Result<(), NoConfinement> {
    // Making rules restricts nobody yet.
    match (rules(NEEDED, CompatLevel::HardRequirement), rules(ABI::V1, CompatLevel::HardRequirement)) {
        (Ok(_), _) => Ok(()),
        (Err(_), Ok(_)) => Err(NoConfinement::TooOld),
        (Err(_), Err(_)) => Err(NoConfinement::Missing),
    }
}

/// Why a process was not confined.
#[derive(Debug, Error)]
pub enum ConfineError {
    /// The kernel cannot.
    #[error(transparent)]
    Unavailable(#[from] NoConfinement),
    /// A folder that cannot be granted.
    #[error("cannot open {path} to make it writable: {cause}")]
    Folder {
        /// The folder.
        path: String,
        /// Why.
        cause: landlock::PathFdError,
    },
    /// The kernel refused the rules.
    #[error(transparent)]
    Refused(#[from] RulesetError),
}

/// Confines the calling process and all that it will start, for ever.
pub fn confine(confinement: &Confinement) -> Result<Confined, ConfineError> {
    let level = if confinement.best_effort { CompatLevel::BestEffort } else { CompatLevel::HardRequirement };
    if !confinement.best_effort {
        confinement_available()?;
    }
    let mut rules = rules(NEEDED, level)?;
    for path in &confinement.writable {
        let folder = PathFd::new(path);
        let folder = folder.map_err(|cause| ConfineError::Folder { path: path.display().to_string(), cause })?;
        rules = rules.add_rule(PathBeneath::new(folder, rights(path)))?;
    }
    for device in DEVICES {
        if let Ok(file) = PathFd::new(device) {
            rules = rules.add_rule(PathBeneath::new(file, rights(Path::new(device))))?;
        }
    }
    Ok(match rules.restrict_self()?.ruleset {
        RulesetStatus::FullyEnforced => Confined::Full,
        RulesetStatus::PartiallyEnforced => Confined::Partial,
        RulesetStatus::NotEnforced => Confined::Unavailable,
    })
}

/// Rules that forbid to write, so far without exception.
fn rules(abi: ABI, level: CompatLevel) -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().set_compatibility(level).handle_access(AccessFs::from_write(abi))?.create()
}

/// What a writable path grants: a file has no rights of a folder.
fn rights(path: &Path) -> BitFlags<AccessFs> {
    let all = AccessFs::from_write(NEEDED);
    if path.is_dir() { all } else { all & AccessFs::from_file(NEEDED) }
}
