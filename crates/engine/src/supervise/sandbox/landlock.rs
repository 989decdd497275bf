//! Landlock: a process and all its descendants can write only to allowed paths, and their signals and abstract sockets
//! reach only each other. Modes, owners and times of files, and existing sockets, are left to the mounts.

use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access as _, AccessFs, BitFlags, CompatLevel, Compatible as _, PathBeneath, PathFd, Ruleset, RulesetAttr as _,
    RulesetCreated, RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use thiserror::Error;

use super::{SandboxFeature, SandboxReport};

/// Devices that programs use, if they exist.
const COMMON_DEVICES: &[&str] = &["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty"];

/// Terminals and shared memory: of the session alone where it has devices of its own.
const OWN_DEVICES: &[&str] = &["/dev/pts", "/dev/ptmx", "/dev/shm"];

/// The first version that also covers truncation (2) and moves between directories (3).
const FILES_ABI: ABI = ABI::V3;

/// The first version that covers `ioctl` on devices.
const IOCTL_ABI: ABI = ABI::V5;

/// The first version that keeps signals and abstract sockets inside.
const SCOPES_ABI: ABI = ABI::V6;

/// The reason why a process was not confined.
#[derive(Debug, Error)]
pub enum LandlockError {
    #[error("cannot open {path} to make it writable: {cause}")]
    Path { path: String, cause: landlock::PathFdError },
    #[error(transparent)]
    Refused(#[from] RulesetError),
}

/// Confines the calling process and all its later children irrevocably. Records in `report` what the kernel enforces.
/// Terminals and shared memory are granted only where they are the session's own.
///
/// # Errors
/// If a writable path cannot be opened, or the kernel refuses rules that it knows.
pub fn restrict_writes(
    writable: &[PathBuf],
    has_own_devices: bool,
    report: &mut SandboxReport,
) -> Result<(), LandlockError> {
    let mut rules = create_rules()?;
    for path in writable {
        let opened = PathFd::new(path);
        let opened = opened.map_err(|cause| LandlockError::Path { path: path.display().to_string(), cause })?;
        rules = rules.add_rule(PathBeneath::new(opened, applicable_rights(path, AccessFs::from_write(FILES_ABI))))?;
    }
    let own = OWN_DEVICES.iter().filter(|_| has_own_devices);
    for device in COMMON_DEVICES.iter().chain(own) {
        if let Ok(opened) = PathFd::new(device) {
            rules = rules.add_rule(PathBeneath::new(
                opened,
                applicable_rights(Path::new(device), AccessFs::from_write(IOCTL_ABI)),
            ))?;
        }
    }
    let status = rules.restrict_self()?.ruleset;
    record_features(status, report);
    Ok(())
}

/// Creates rules that forbid writing and signalling, so far without exceptions.
fn create_rules() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default()
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_write(IOCTL_ABI))?
        .scope(Scope::from_all(SCOPES_ABI))?
        .create()
}

/// Records the features that the kernel has. Creating rules restricts nothing yet.
fn record_features(status: RulesetStatus, report: &mut SandboxReport) {
    let hard = |abi| {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.handle_access(AccessFs::from_write(abi)).and_then(Ruleset::create).map(drop)
    };
    let scopes = || {
        let rules = Ruleset::default().set_compatibility(CompatLevel::HardRequirement);
        rules.scope(Scope::from_all(SCOPES_ABI)).and_then(Ruleset::create).map(drop)
    };
    let files = match (status, hard(FILES_ABI), hard(ABI::V1)) {
        (RulesetStatus::NotEnforced, _, Err(_)) => Err("this kernel has no Landlock, or it is not enabled"),
        (_, Ok(()), _) => Ok(()),
        _ => Err("the Landlock of this kernel is too old; Linux 6.2 or newer is needed"),
    };
    report.record(SandboxFeature::LandlockFiles, files);
    report.record(SandboxFeature::LandlockDevices, hard(IOCTL_ABI).map_err(|_| "needs Linux 6.10 or newer"));
    report.record(SandboxFeature::LandlockScopes, scopes().map_err(|_| "needs Linux 6.12 or newer"));
}

/// Returns the rights that apply to a path: a file has none of a directory.
fn applicable_rights(path: &Path, all: BitFlags<AccessFs>) -> BitFlags<AccessFs> {
    if path.is_dir() { all } else { all & AccessFs::from_file(IOCTL_ABI) }
}
