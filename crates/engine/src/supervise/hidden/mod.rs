//! The hidden modes of the program: plain, single-threaded and small, since they run for as long as an agent or become
//! it. They are not for people.

mod exec;
mod init;
mod supervisor;

use std::{
    ffi::OsString,
    fs::File,
    io::{self, Read as _},
    os::unix::{net::UnixStream, process::CommandExt as _},
    process::{Command, ExitCode},
};

use rustix::{
    process::Signal,
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

pub use init::IPV6_SOCKET_REQUEST;

/// The mode that stays between Switchboard and an agent.
pub const SUPERVISE_MODE: &str = "__supervise";

/// The mode that is the first process of a confined session.
pub const INIT_MODE: &str = "__init";

/// The mode that becomes the agent.
pub const EXEC_MODE: &str = "__exec";

/// The mode that starts a program which does not belong to a session.
pub const DETACH_MODE: &str = "__detach";

/// The mode that exits at once: it only proves that a process can be started.
pub const NOTHING_MODE: &str = "__nothing";

/// Runs a hidden mode, if the program's arguments (without its name) request one. Must be called before anything else,
/// in particular before there is a second thread.
pub fn run_hidden_mode(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mode = args.next()?;
    match mode.to_str()? {
        SUPERVISE_MODE => Some(supervisor::run_supervisor(&args.next().unwrap_or_default(), args.next().is_some())),
        INIT_MODE => Some(init::run_init()),
        EXEC_MODE => Some(exec::run_exec(args.next()?.to_str()?.parse().ok()?, args.next())),
        NOTHING_MODE => Some(ExitCode::SUCCESS),
        DETACH_MODE => Some(detach(args)),
        _ => None,
    }
}

/// Starts the program in the arguments, in a new process group, and ends at once, so that the program is not a descendant
/// of Switchboard and outlives it.
#[expect(clippy::disallowed_methods, reason = "the program is the user's own")]
fn detach(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let started = args.next().map(|program| Command::new(program).args(args).process_group(0).spawn());
    if matches!(started, Some(Ok(_))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// Makes signals readable, instead of their default effect.
fn signal_pipe(signals: &[Signal]) -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    read.set_nonblocking(true)?;
    for signal in signals {
        signal_hook::low_level::pipe::register(signal.as_raw(), write.try_clone()?)?;
    }
    Ok(read)
}

/// Reads all signals that have arrived. Returns whether there were any.
fn drain_signals(signals: &mut UnixStream) -> bool {
    let mut has_any = false;
    while matches!(signals.read(&mut [0; 64]), Ok(1..)) {
        has_any = true;
    }
    has_any
}

/// Lets go of the agent's pipes: otherwise its output would have no end.
fn redirect_stdio_to_null() -> io::Result<()> {
    let null = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?;
    dup2_stdout(&null)?;
    Ok(dup2_stderr(&null)?)
}
