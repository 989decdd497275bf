//! The sandbox of a confined session, in layers: namespaces decide what the agent can see and signal, mounts and Landlock
//! where it can write, seccomp which system calls it has. Each layer is applied by trying, and reported.

pub mod capabilities;
pub mod landlock;
pub mod mounts;
pub mod namespaces;
mod probe;
pub mod seccomp;

use std::{fmt, io};

use thiserror::Error;

pub use probe::{probe, refusal_hint};

/// A protection that the kernel offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SandboxFeature {
    /// Landlock decides which files can be written.
    LandlockFiles,
    /// Landlock decides which devices can be controlled (`ioctl`).
    LandlockDevices,
    /// Landlock keeps signals and abstract sockets inside the session.
    LandlockScopes,
    /// The processes of the session are the only ones that can be seen, and end together.
    PidNamespace,
    /// Files outside the writable directories are mounted read-only, and protected paths stay as they are.
    MountNamespace,
    /// `/proc` shows only the processes of the session.
    OwnProc,
    /// `/dev` has the usual devices and terminals of the session alone.
    OwnDevices,
    /// System calls that reach into other processes or terminals are refused.
    Seccomp,
    /// No process of the session can gain privileges.
    NoCapabilities,
    /// The processes of the session are in a control group, which the kernel kills as a whole.
    Cgroup,
}

impl SandboxFeature {
    /// All of them.
    pub const ALL: &'static [Self] = &[
        Self::LandlockFiles,
        Self::LandlockDevices,
        Self::LandlockScopes,
        Self::PidNamespace,
        Self::MountNamespace,
        Self::OwnProc,
        Self::OwnDevices,
        Self::Seccomp,
        Self::NoCapabilities,
        Self::Cgroup,
    ];

    /// The promise of a confined session cannot be kept without it. The others only repeat what these already refuse.
    #[must_use]
    pub fn is_required(self) -> bool {
        !matches!(self, Self::LandlockDevices | Self::LandlockScopes | Self::OwnProc | Self::Cgroup)
    }

    /// Its name on the wire and in reports.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::LandlockFiles => "landlock-files",
            Self::LandlockDevices => "landlock-devices",
            Self::LandlockScopes => "landlock-scopes",
            Self::PidNamespace => "pid-namespace",
            Self::MountNamespace => "mount-namespace",
            Self::OwnProc => "own-proc",
            Self::OwnDevices => "own-devices",
            Self::Seccomp => "seccomp",
            Self::NoCapabilities => "no-capabilities",
            Self::Cgroup => "cgroup",
        }
    }

    /// The feature of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|feature| feature.name() == name)
    }
}

impl fmt::Display for SandboxFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The features that are in force around a process.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxReport {
    /// Those in force.
    pub enforced: Vec<SandboxFeature>,
    /// Those that are not, and the reason.
    pub missing: Vec<(SandboxFeature, String)>,
}

impl SandboxReport {
    /// Notes that a feature is in force.
    pub fn enforce(&mut self, feature: SandboxFeature) {
        self.enforced.push(feature);
    }

    /// Notes that a feature is missing.
    pub fn miss(&mut self, feature: SandboxFeature, reason: impl fmt::Display) {
        self.missing.push((feature, reason.to_string()));
    }

    /// Notes what came of applying a feature.
    pub fn record<E: fmt::Display>(&mut self, feature: SandboxFeature, result: Result<(), E>) {
        match result {
            Ok(()) => self.enforce(feature),
            Err(error) => self.miss(feature, error),
        }
    }

    /// The first missing feature without which the session must not start.
    #[must_use]
    pub fn shortfall(&self) -> Option<SandboxError> {
        let (feature, reason) = self.missing.iter().find(|(feature, _)| feature.is_required())?;
        Some(SandboxError { feature: *feature, reason: reason.clone() })
    }
}

/// A required feature that cannot be enforced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{feature} is not available: {reason}")]
pub struct SandboxError {
    /// The feature.
    pub feature: SandboxFeature,
    /// What the kernel answered.
    pub reason: String,
}

/// An error of the system, with what was tried.
pub fn context(what: impl fmt::Display) -> impl FnOnce(rustix::io::Errno) -> io::Error {
    move |errno| io::Error::new(io::Error::from(errno).kind(), format!("{what}: {errno}"))
}
