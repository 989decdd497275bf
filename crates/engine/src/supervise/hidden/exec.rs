//! `__exec`: takes an order, prepares this process, and becomes the agent. A failure is reported, and ends it.

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _, Write as _},
    os::unix::{fs::MetadataExt as _, net::UnixStream, process::CommandExt as _},
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use rustix::{
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Signal, getppid, set_parent_process_death_signal, setsid},
    stdio::{dup2_stdin, stdin},
    thread::set_no_new_privs,
};

use crate::supervise::{
    Confinement, ProcessSpec, SESSION_VARIABLE, SandboxFeature, SandboxReport,
    process::from_pid,
    protocol::{ExecReport, ExecStage, LineMessage as _, receive_file},
    sandbox::{landlock, namespaces::drop_all_capabilities, seccomp},
};

/// The prefix of the argument that is given inside of namespaces, followed by the features in force there.
pub const INSIDE_PREFIX: &str = "inside:";

/// The features that are missing without namespaces.
const NAMESPACE_FEATURES: &[SandboxFeature] = &[
    SandboxFeature::PidNamespace,
    SandboxFeature::MountNamespace,
    SandboxFeature::OwnProc,
    SandboxFeature::OwnDevices,
];

/// Executes the order on standard input, as a child of `parent`. For a confined agent, `namespaces` is the reason why
/// it has none, or names the features in force inside of them.
pub fn run_exec(parent: u32, namespaces: Option<OsString>) -> ExitCode {
    // Without the channel there is no way to report anything.
    let Ok(mut channel) = fcntl_dupfd_cloexec(stdin(), 3).map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    let namespaces = namespaces.unwrap_or_default().into_string().unwrap_or_default();
    let failed = become_agent(parent, &namespaces, &mut channel);
    drop(channel.write_all(&failed.to_line()));
    ExitCode::FAILURE
}

/// Returns only if it failed.
fn become_agent(parent: u32, namespaces: &str, channel: &mut UnixStream) -> ExecReport {
    let mut order = match receive_order(parent, channel) {
        Ok(order) => order,
        Err(error) => return ExecReport::failed(ExecStage::Order, &error),
    };
    if let Err(error) = enter_directory(&mut order) {
        return ExecReport::failed(ExecStage::Directory, &error);
    }
    if let Some(confinement) = order.confinement.take() {
        if let Err(message) = confine(&confinement, namespaces, channel) {
            return ExecReport::Failed { stage: ExecStage::Confinement, errno: 0, message };
        }
        let network = confinement.network.filter(|_| is_in_force(namespaces, SandboxFeature::NetworkNamespace));
        order.env.extend(network.into_iter().flat_map(|network| network.env));
    }
    drop(channel.write_all(&ExecReport::Ready.to_line()));
    execute(&order)
}

fn receive_order(parent: u32, channel: &mut UnixStream) -> io::Result<ProcessSpec> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was set.
    if getppid().map(from_pid) != Some(parent) {
        return Err(io::Error::other("the supervisor is gone"));
    }
    // A new session is also a new process group. It has no terminal: nothing that the agent starts can ask for a
    // password there, or be stopped because it tried.
    setsid()?;
    let input = receive_file(&*channel)?;
    // The network is for `__init`.
    drop(receive_file(&*channel)?);
    let mut bytes = Vec::new();
    channel.read_to_end(&mut bytes)?;
    match input {
        Some(input) => dup2_stdin(input)?,
        None => dup2_stdin(File::open("/dev/null")?)?,
    }
    Ok(serde_json::from_slice(&bytes)?)
}

/// Enters the working directory and verifies that it is the one that was checked: the path may lead elsewhere by now.
fn enter_directory(order: &mut ProcessSpec) -> io::Result<()> {
    env::set_current_dir(&order.cwd)?;
    // Writable paths are opened later. The working directory is opened as `.`, which cannot be exchanged.
    let writable = order.confinement.iter_mut().flat_map(|confinement| &mut confinement.writable);
    writable.filter(|path| **path == order.cwd).for_each(|path| *path = ".".into());
    let here = fs::metadata(".")?;
    match order.cwd_identity {
        Some(identity) if identity != (here.dev(), here.ino()) => {
            Err(io::Error::other("it was exchanged for another directory"))
        }
        _ => Ok(()),
    }
}

/// Applies the layers that work on this process itself. The others are already in force, or not available.
fn confine(confinement: &Confinement, namespaces: &str, channel: &mut UnixStream) -> Result<(), String> {
    let mut report = SandboxReport::default();
    // `__init` reports its own part, and its mounts decide which paths have to be granted here.
    let is_mounted = is_in_force(namespaces, SandboxFeature::MountNamespace);
    let has_devices = is_in_force(namespaces, SandboxFeature::OwnDevices);
    if !namespaces.starts_with(INSIDE_PREFIX) {
        let network = confinement.network.as_ref().map(|_| SandboxFeature::NetworkNamespace);
        let missing = NAMESPACE_FEATURES.iter().copied().chain(network);
        missing.for_each(|feature| report.add_missing(feature, namespaces));
    }
    let dropped = drop_all_capabilities().and_then(|()| Ok(set_no_new_privs(true)?));
    report.record(SandboxFeature::NoCapabilities, dropped);
    landlock::restrict_writes(&writable_paths(confinement, is_mounted), has_devices, &mut report)
        .map_err(|error| error.to_string())?;
    report.record(SandboxFeature::Seccomp, seccomp::apply_filters());
    for message in ExecReport::of_sandbox(&report) {
        drop(channel.write_all(&message.to_line()));
    }
    match report.shortfall() {
        Some(shortfall) if !confinement.best_effort => Err(shortfall.to_string()),
        _ => Ok(()),
    }
}

/// Returns whether `__init` has put a feature in force.
fn is_in_force(namespaces: &str, feature: SandboxFeature) -> bool {
    namespaces
        .strip_prefix(INSIDE_PREFIX)
        .is_some_and(|enforced| enforced.split(',').any(|name| name == feature.name()))
}

/// Returns the writable paths. Everything below a view may be written, since changes go to a separate layer. Without
/// mounts, only the entries whose changes are kept.
fn writable_paths(confinement: &Confinement, is_mounted: bool) -> Vec<PathBuf> {
    let mut writable = confinement.writable.clone();
    for view in &confinement.views {
        if is_mounted {
            writable.push(view.path.clone());
        } else {
            writable.extend(view.kept.iter().map(|name| view.path.join(name)));
        }
    }
    writable
}

#[expect(clippy::disallowed_methods, reason = "this process becomes the agent")]
fn execute(order: &ProcessSpec) -> ExecReport {
    let Some((program, args)) = order.argv.split_first() else {
        return ExecReport::failed(ExecStage::Order, &io::ErrorKind::InvalidInput.into());
    };
    let mut command = Command::new(program);
    command.args(args).env_clear().envs(order.env.iter().map(|(name, value)| (name, value)));
    let error = command.env(SESSION_VARIABLE, &order.session).exec();
    // The system reports the same for a missing script and for a script with a missing interpreter.
    if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) && Path::new(program).is_file() {
        let message = "the interpreter that its first line names is missing".to_owned();
        return ExecReport::Failed { stage: ExecStage::Program, errno: 0, message };
    }
    ExecReport::failed(ExecStage::Program, &error)
}
