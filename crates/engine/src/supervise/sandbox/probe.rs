//! What this machine can enforce, found out by doing it, and what to change where it cannot.

use std::{fs, path::Path};

use super::SandboxReport;
use crate::supervise::{Confinement, Input, Spec, StartError, start};

/// Starts a confined process that does nothing, and returns the features that were in force around it.
///
/// # Errors
/// If no process can be started at all.
pub async fn probe(exe: &Path) -> Result<SandboxReport, StartError> {
    let confine = Some(Confinement { best_effort: true, ..Confinement::default() });
    let argv = vec![exe.into(), crate::supervise::hidden::NOTHING.into()];
    let session = format!("probe-{}", std::process::id());
    let (env, cwd, cwd_identity) = (Vec::new(), "/".into(), None);
    let spec = Spec { argv, env, cwd, cwd_identity, stdin: Input::Closed, confine, session };
    let running = start(exe, spec).await?;
    running.control.gone().await;
    Ok(running.sandbox.unwrap_or_default())
}

/// Settings of the kernel that forbid user namespaces, the value that does, and what allows them again.
const SETTINGS: &[(&str, &str, &str)] = &[
    (
        "/proc/sys/kernel/apparmor_restrict_unprivileged_userns",
        "1",
        "AppArmor restricts user namespaces: run `sudo sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or add an \
         AppArmor profile for switchboard with the rule `userns,`",
    ),
    ("/proc/sys/kernel/unprivileged_userns_clone", "0", "run `sudo sysctl kernel.unprivileged_userns_clone=1`"),
    ("/proc/sys/user/max_user_namespaces", "0", "run `sudo sysctl user.max_user_namespaces=10000`"),
];

/// Files that container engines leave inside their containers.
const CONTAINER_MARKS: &[&str] = &["/.dockerenv", "/run/.containerenv"];

/// What to change so that a refused sandbox can be enforced.
pub fn refusal_hint(cause: &str) -> String {
    let accept = "or accept a weaker sandbox with --sandbox-best-effort";
    if cause.contains("Landlock") || cause.contains("landlock") {
        return format!(
            "run on Linux 6.2 or newer with Landlock enabled (`landlock` in the boot option lsm=), {accept}"
        );
    }
    let is_gone =
        |cause: &str| ["Not a directory", "No such file or directory"].iter().any(|text| cause.contains(text));
    if is_gone(cause) {
        return "a file or directory was moved or replaced while the session started: start it again".to_owned();
    }
    let is_forbidden = ["not permitted", "ermission denied"].iter().any(|text| cause.contains(text));
    let is_refused = cause.contains("namespace") || cause.contains("mount") && is_forbidden;
    if !is_refused {
        return format!("run `switchboard doctor` for details, {accept}");
    }
    let value = |path: &str| fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let found = SETTINGS.iter().find(|(path, forbids, _)| value(path) == *forbids);
    let is_container = CONTAINER_MARKS.iter().any(|mark| Path::new(mark).exists());
    match found {
        Some((_, _, fix)) => format!("{fix}, {accept}"),
        None if is_container => format!(
            "start the container with `--security-opt seccomp=unconfined --security-opt apparmor=unconfined \
             --security-opt systempaths=unconfined`, {accept}"
        ),
        None => format!("allow user namespaces for this user, {accept}"),
    }
}
