//! `__exec`: takes an order, prepares this process, and becomes the agent. A failure is answered, and ends it.

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

use super::super::{
    handover,
    order::{self, Answer, Order, Stage},
    process::from_pid,
    sandbox::{SandboxFeature, SandboxReport, capabilities, landlock, seccomp},
    spec::Confinement,
};

/// Becomes what the order on standard input says, as a child of `parent`. For a confined agent, `namespaces` is the
/// reason why it has none, or empty inside of them.
pub fn run(parent: u32, namespaces: Option<OsString>) -> ExitCode {
    // Without the channel there is no way to report anything.
    let Ok(mut channel) = fcntl_dupfd_cloexec(stdin(), 3).map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    let failed = become_agent(parent, namespaces, &mut channel);
    drop(channel.write_all(failed.line().as_bytes()));
    ExitCode::FAILURE
}

/// Returns only if it failed.
fn become_agent(parent: u32, namespaces: Option<OsString>, channel: &mut UnixStream) -> Answer {
    let mut order = match prepare(parent, channel) {
        Ok(order) => order,
        Err(error) => return Answer::failed(Stage::Order, &error),
    };
    if let Err(error) = enter_directory(&mut order) {
        return Answer::failed(Stage::Directory, &error);
    }
    if let Some(confinement) = &order.confine
        && let Err(refusal) = confine(confinement, namespaces, channel)
    {
        return Answer::Failed(Stage::Confine, 0, refusal);
    }
    drop(channel.write_all(Answer::Ready.line().as_bytes()));
    execute(&order)
}

/// Enters the working directory, and makes sure that it is the one that was checked: the path may lead elsewhere by now.
fn enter_directory(order: &mut Order) -> io::Result<()> {
    env::set_current_dir(&order.cwd)?;
    // What may be written is opened by its path later: that of the working directory is where we are.
    let writable = order.confine.iter_mut().flat_map(|confinement| &mut confinement.writable);
    writable.filter(|path| **path == order.cwd).for_each(|path| *path = ".".into());
    let here = fs::metadata(".")?;
    match order.cwd_identity {
        Some(identity) if identity != (here.dev(), here.ino()) => {
            Err(io::Error::other("it was exchanged for another directory"))
        }
        _ => Ok(()),
    }
}

fn prepare(parent: u32, channel: &mut UnixStream) -> io::Result<Order> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the signal was set.
    if getppid().map(from_pid) != Some(parent) {
        return Err(io::Error::other("the supervisor is gone"));
    }
    // A session of its own is also a process group of its own. It has no terminal: nothing that the agent starts can
    // ask for a password there, or be stopped because it tried.
    setsid()?;
    let input = handover::receive(channel)?;
    let mut bytes = Vec::new();
    channel.read_to_end(&mut bytes)?;
    match input {
        Some(input) => dup2_stdin(input)?,
        None => dup2_stdin(File::open("/dev/null")?)?,
    }
    order::decode(&bytes).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// Applies the layers that work on this process itself. The others are around it already, or cannot be.
fn confine(confinement: &Confinement, namespaces: Option<OsString>, channel: &mut UnixStream) -> Result<(), String> {
    let mut report = SandboxReport::default();
    let outer = namespaces.unwrap_or_default().into_string().unwrap_or_default();
    let (mut is_mounted, mut has_devices) = (false, false);
    // `__init` reports its own part; what it arranged decides what has to be granted here.
    match outer.strip_prefix(INSIDE) {
        Some(enforced) => {
            is_mounted = enforced.split(',').any(|name| name == SandboxFeature::MountNamespace.name());
            has_devices = enforced.split(',').any(|name| name == SandboxFeature::OwnDevices.name());
        }
        None => NAMESPACE_FEATURES.iter().for_each(|feature| report.miss(*feature, &outer)),
    }
    report.record(SandboxFeature::NoCapabilities, capabilities::drop_all().and_then(|()| Ok(set_no_new_privs(true)?)));
    landlock::restrict(&granted(confinement, is_mounted), has_devices, &mut report)
        .map_err(|error| error.to_string())?;
    report.record(SandboxFeature::Seccomp, seccomp::apply());
    for answer in Answer::of_report(&report) {
        drop(channel.write_all(answer.line().as_bytes()));
    }
    match report.shortfall() {
        Some(shortfall) if !confinement.best_effort => Err(shortfall.to_string()),
        _ => Ok(()),
    }
}

/// The argument that says that `__exec` runs inside of namespaces, followed by the features that are in force there.
pub const INSIDE: &str = "inside:";

/// What is missing without namespaces.
const NAMESPACE_FEATURES: &[SandboxFeature] = &[
    SandboxFeature::PidNamespace,
    SandboxFeature::MountNamespace,
    SandboxFeature::OwnProc,
    SandboxFeature::OwnDevices,
];

/// Everything below a view may be written, since changes go to a layer of their own. Without mounts, only the entries
/// whose changes are kept.
fn granted(confinement: &Confinement, is_mounted: bool) -> Vec<PathBuf> {
    let mut granted = confinement.writable.clone();
    for view in &confinement.views {
        if is_mounted {
            granted.push(view.path.clone());
        } else {
            granted.extend(view.kept.iter().map(|name| view.path.join(name)));
        }
    }
    granted
}

#[expect(clippy::disallowed_methods, reason = "this process becomes the agent")]
fn execute(order: &Order) -> Answer {
    let Some((program, args)) = order.argv.split_first() else {
        return Answer::failed(Stage::Order, &io::ErrorKind::InvalidInput.into());
    };
    let envs = order.env.iter().map(|(name, value)| (name, value));
    let error = Command::new(program).args(args).env_clear().envs(envs).exec();
    // The system reports the same for a missing script and for a script with a missing interpreter.
    if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) && Path::new(program).is_file() {
        return Answer::Failed(Stage::Program, 0, "the program that its first line names is missing".to_owned());
    }
    Answer::failed(Stage::Program, &error)
}
