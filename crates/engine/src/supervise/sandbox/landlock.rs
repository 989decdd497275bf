//! Landlock: a process and all its descendants write where they may, and nowhere else; their signals and abstract sockets
//! stay among them. Modes, owners and times of files, and sockets that exist, are left to the mounts.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use thiserror::Error;

use super::{SandboxFeature, SandboxReport};

/// Devices that programs use, as far as they exist.
const DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Terminals and shared memory: of the session alone where it has devices of its own.
const OWN_DEVICES: &[&str] = &["/dev/pts", "/dev/ptmx", "/dev/shm"];

/// The first version that also covers truncation (2) and moves between directories (3).
const FILES: ABI = ABI::V3;

/// The first version that covers `ioctl` on devices.
const IOCTL: ABI = ABI::V5;

/// The first version that keeps signals and abstract sockets inside.
const SCOPES: ABI = ABI::V6;

/// The reason why a process was not confined.
#[derive(Debug, Error)]
pub enum LandlockError {
    /// A path that cannot be granted.
    #[error("cannot open {path} to make it writable: {cause}")]
    Path {
        /// The path.
        path: String,
        /// The reason.
        cause: landlock::PathFdError,
    },
    /// The kernel refused the rules.
    #[error(transparent)]
    Refused(#[from] RulesetError),
}

/// Confines the calling process and all that it will start, for good. Notes in `report` what the kernel enforces.
/// Terminals and shared memory are granted only where they are the session's own.
///
/// # Errors
/// If a writable path cannot be opened, or the kernel refuses rules that it knows.
pub fn restrict(writable: &[PathBuf], has_own_devices: bool, report: &mut SandboxReport) -> Result<(), LandlockError> {
    let mut rules = rules()?;
    for path in writable {
        let opened = PathFd::new(path);
        let opened = opened.map_err(|cause| LandlockError::Path { path: path.display().to_string(), cause })?;
        rules = rules.add_rule(PathBeneath::new(opened, rights(path, AccessFs::from_write(FILES))))?;
    }
    let own = OWN_DEVICES.iter().filter(|_| has_own_devices);
    for device in DEVICES.iter().chain(own) {
        if let Ok(opened) = PathFd::new(device) {
            rules = rules.add_rule(PathBeneath::new(opened, rights(Path::new(device), AccessFs::from_write(IOCTL))))?;
        }
    }
    let status = rules.restrict_self()?.ruleset;
    note(status, report);
    Ok(())
}

/// Rules that forbid to write and to signal, so far without exception.
fn rules() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(IOCTL))?
        .scope(Scope::from_all(SCOPES))?
        .create()
}

/// The features that the kernel has. Creating rules restricts nothing yet.
fn note(status: RulesetStatus, report: &mut SandboxReport) {
    let hard = |abi| {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(AccessFs::from_write(abi)).and_then(Ruleset::create).map(drop)
    };
    let scopes = || {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.scope(Scope::from_all(SCOPES)).and_then(Ruleset::create).map(drop)
    };
    let files = match (status, hard(FILES), hard(ABI::V1)) {
        (RulesetStatus::NotEnforced, _, Err(_)) => Err("this kernel has no Landlock, or it is not enabled"),
        (_, Ok(()), _) => Ok(()),
        _ => Err("the Landlock of this kernel is too old; Linux 6.2 or newer is needed"),
    };
    report.record(SandboxFeature::LandlockFiles, files);
    report.record(SandboxFeature::LandlockDevices, hard(IOCTL).map_err(|_| "needs Linux 6.10 or newer"));
    report.record(SandboxFeature::LandlockScopes, scopes().map_err(|_| "needs Linux 6.12 or newer"));
}

/// The rights that a path can have: a file has none of a directory.
fn rights(path: &Path, all: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    if path.is_dir() { all } else { all & AccessFs::from_file(IOCTL) }
}
