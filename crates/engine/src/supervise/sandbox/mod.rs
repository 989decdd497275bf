//! The sandbox of a confined session, in layers: namespaces decide what the agent can see and signal, mounts and
//! Landlock where it can write, seccomp which system calls it has. Each layer is tried, and the result is reported.

pub mod landlock;
pub mod mounts;
pub mod namespaces;
pub mod network;
pub mod seccomp;

use std::{fmt, fs, io, path::Path};

use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{Confinement, IsolatedNetwork, LaunchError, ProcessSpec, hidden::NOTHING_MODE, start_agent};

/// Kernel settings that forbid namespaces, the forbidding value, and the fix.
const KERNEL_SETTINGS: &[(&str, &str, &str)] = &[
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces: run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or add an \
         AppArmor profile for switchboard with the rule `userns,`",
    ),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "run `sudo sysctl kernel.unprivileged_userns_clone=1`"),
    ("/proc/sys/user/max_user_namespaces", "0", "run `sudo sysctl user.max_user_namespaces=10000`"),
    ("/proc/sys/user/max_net_namespaces", "0", "run `sudo sysctl user.max_net_namespaces=10000`"),
];

const NETWORK_NAMESPACE_LIMIT: &str = "max_net_namespaces";

/// Files that container engines leave inside their containers.
const CONTAINER_MARKS: &[&str] = &["/.dockerenv", "/run/.containerenv"];

/// A protection that the kernel offers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
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
    /// The session has an isolated network, from which only Switchboard's proxy can be reached.
    NetworkNamespace,
    /// The processes of the session are in a control group, which the kernel kills as a whole.
    Cgroup,
}

impl SandboxFeature {
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
        Self::NetworkNamespace,
        Self::Cgroup,
    ];

    /// Returns whether a session cannot be confined without it. The others only repeat restrictions of the required
    /// ones.
    pub fn is_required(self) -> bool {
        !matches!(self, Self::LandlockDevices | Self::LandlockScopes | Self::OwnProc | Self::Cgroup)
    }

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
            Self::NetworkNamespace => "network-namespace",
            Self::Cgroup => "cgroup",
        }
    }
}

impl fmt::Display for SandboxFeature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SandboxReport {
    pub enforced: Vec<SandboxFeature>,
    /// The features that are not in force, and the reason.
    pub missing: Vec<(SandboxFeature, String)>,
}

impl SandboxReport {
    pub(super) fn add_missing(&mut self, feature: SandboxFeature, reason: impl fmt::Display) {
        self.missing.push((feature, reason.to_string()));
    }

    pub(super) fn record<E: fmt::Display>(&mut self, feature: SandboxFeature, result: Result<(), E>) {
        match result {
            Ok(()) => self.enforced.push(feature),
            Err(error) => self.add_missing(feature, error),
        }
    }

    /// Returns the first missing feature without which the session must not start.
    pub fn shortfall(&self) -> Option<SandboxShortfall> {
        let (feature, reason) = self.missing.iter().find(|(feature, _)| feature.is_required())?;
        Some(SandboxShortfall { feature: *feature, reason: reason.clone() })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{feature} is not available: {reason}")]
pub struct SandboxShortfall {
    pub feature: SandboxFeature,
    /// The answer of the kernel.
    pub reason: String,
}

/// Adds the attempted operation to a system error.
fn context<E: Into<io::Error>>(operation: impl fmt::Display) -> impl FnOnce(E) -> io::Error {
    move |errno| {
        let error: io::Error = errno.into();
        io::Error::new(error.kind(), format!("{operation}: {error}"))
    }
}

/// Starts a confined process that does nothing, and returns the features in force around it.
pub async fn probe_sandbox(exe: &Path) -> Result<SandboxReport, LaunchError> {
    let network = Some(IsolatedNetwork::default());
    let spec = ProcessSpec {
        argv: vec![exe.into(), NOTHING_MODE.into()],
        env: Vec::new(),
        cwd: "/".into(),
        cwd_identity: None,
        has_stdin: false,
        confinement: Some(Confinement { best_effort: true, network, ..Confinement::default() }),
        session: format!("probe-{}", std::process::id()),
    };
    let running = start_agent(exe, spec).await?;
    running.control.wait_until_gone().await;
    Ok(running.sandbox.unwrap_or_default())
}

/// Returns a hint for a person on how to make a refused sandbox enforceable.
pub fn sandbox_refusal_hint(cause: &str) -> String {
    let value = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let is_container = CONTAINER_MARKS.iter().any(|mark| Path::new(mark).exists());
    refusal_hint(cause, value, is_container)
}

fn refusal_hint(cause: &str, kernel_setting: impl Fn(&str) -> String, is_container: bool) -> String {
    let accept = match cause.contains("network namespace") {
        true => {
            "give the session the whole network with --network-access, or accept a weaker sandbox with --sandbox-best-effort"
        }
        false => "or accept a weaker sandbox with --sandbox-best-effort",
    };
    if cause.contains("Landlock") || cause.contains("landlock") {
        return format!(
            "run on Linux 6.2 or newer with Landlock enabled (`landlock` in the boot option lsm=), {accept}"
        );
    }
    if ["Not a directory", "No such file or directory"].iter().any(|text| cause.contains(text)) {
        return "a file or directory was moved or replaced while the session started: start it again".to_owned();
    }
    let is_forbidden = ["not permitted", "ermission denied"].iter().any(|text| cause.contains(text));
    let is_refused = cause.contains("namespace") || cause.contains("mount") && is_forbidden;
    if !is_refused {
        return format!("run `switchboard doctor` for details, {accept}");
    }
    // The limit of a kind of namespace concerns only that kind, and is more specific than the others.
    let is_network = cause.contains("network namespace");
    let concerns = |path: &str| is_network || !path.ends_with(NETWORK_NAMESPACE_LIMIT);
    let mut forbidding = KERNEL_SETTINGS.iter().filter(|(path, forbids, _)| kernel_setting(path) == *forbids);
    let found = forbidding.clone().find(|(path, ..)| is_network && path.ends_with(NETWORK_NAMESPACE_LIMIT));
    match found.or_else(|| forbidding.find(|(path, ..)| concerns(path))) {
        Some((_, _, fix)) => format!("{fix}, {accept}"),
        None if is_container => format!(
            "start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined \
             --security-opt systempaths=unconfined`, {accept}"
        ),
        None => format!("allow user namespaces for this user, {accept}"),
    }
}

#[cfg(test)]
mod tests {
    use super::refusal_hint;

    #[test]
    fn a_refusal_names_the_exact_fix() {
        let user = "user namespace: Operation not permitted (os error 1)";
        let network = "network namespace: No space left on device (os error 28)";
        let mount = "mount: remount / read-only: Permission denied (os error 13)";
        let apparmor = "kernel.apparmor_restrict_unprivileged_userns=0";
        for (cause, forbidding, is_container, fix) in [
            (user, &[("apparmor_restrict_unprivileged_userns", "1")][..], false, apparmor),
            (user, &[("max_user_namespaces", "0")], false, "sysctl user.max_user_namespaces=10000"),
            (user, &[("unprivileged_userns_clone", "0")], true, "sysctl kernel.unprivileged_userns_clone=1"),
            (user, &[("max_net_namespaces", "0")], false, "allow user namespaces for this user"),
            (
                network,
                &[("max_net_namespaces", "0"), ("apparmor_restrict_unprivileged_userns", "1")],
                false,
                "user.max_net",
            ),
            (network, &[("apparmor_restrict_unprivileged_userns", "1")], false, apparmor),
            (mount, &[], true, "--security-opt seccomp=unconfined"),
            (mount, &[], false, "allow user namespaces for this user"),
            ("Landlock: not supported", &[], false, "Linux 6.2"),
            ("bind /x: No such file or directory", &[], false, "start it again"),
            ("something else", &[], false, "switchboard doctor"),
        ] {
            let value = |path: &str| {
                let found = forbidding.iter().find(|(name, _)| path.ends_with(name));
                found.map(|(_, value)| (*value).to_owned()).unwrap_or_default()
            };
            let hint = refusal_hint(cause, value, is_container);
            assert!(hint.contains(fix), "{cause}: {hint}");
            let is_open = hint.contains("start it again") || hint.contains("--sandbox-best-effort");
            assert!(is_open && hint.contains("--network-access") == cause.starts_with("network"), "{cause}: {hint}");
        }
    }
}
