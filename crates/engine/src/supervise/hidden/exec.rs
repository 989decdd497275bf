//! `__exec`: takes an order, prepares this process, and becomes the agent. What fails is answered, and is the end.

use std::{
    env,
    fs::File,
    io::{self, Read as _, Write as _},
    os::unix::{net::UnixStream, process::CommandExt as _},
    path::Path,
    process::{Command, ExitCode},
};

use rustix::{
    io::{Errno, fcntl_dupfd_cloexec},
    process::{Signal, getppid, set_parent_process_death_signal, setsid},
    stdio::{dup2_stdin, stdin},
};

use super::super::{
    confine::confine,
    handover,
    order::{self, Answer, Order, Stage},
    process::from_pid,
};

/// Becomes what the order on standard input says, as a child of `supervisor`.
pub fn run(supervisor: u32) -> ExitCode {
    // Nobody is there to be told if even the channel is broken.
    let Ok(mut channel) = fcntl_dupfd_cloexec(stdin(), 3).map(UnixStream::from) else {
        return ExitCode::FAILURE;
    };
    let failed = become_agent(supervisor, &mut channel);
    drop(channel.write_all(failed.line().as_bytes()));
    ExitCode::FAILURE
}

/// Returns only if it failed.
fn become_agent(supervisor: u32, channel: &mut UnixStream) -> Answer {
    let order = match prepare(supervisor, channel) {
        Ok(order) => order,
        Err(error) => return Answer::failed(Stage::Order, &error),
    };
    if let Err(error) = env::set_current_dir(&order.cwd) {
        return Answer::failed(Stage::Directory, &error);
    }
    if let Some(confinement) = &order.confine {
        match confine(confinement) {
            Ok(confined) => drop(channel.write_all(Answer::Confined(confined).line().as_bytes())),
            Err(error) => return Answer::Failed(Stage::Confine, 0, error.to_string()),
        }
    }
    drop(channel.write_all(Answer::Ready.line().as_bytes()));
    execute(&order)
}

fn prepare(supervisor: u32, channel: &mut UnixStream) -> io::Result<Order> {
    set_parent_process_death_signal(Some(Signal::KILL))?;
    // The supervisor may have died before the signal was set.
    if getppid().map(from_pid) != Some(supervisor) {
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

#[expect(clippy::disallowed_methods, reason = "this process becomes the agent")]
fn execute(order: &Order) -> Answer {
    let Some((program, args)) = order.argv.split_first() else {
        return Answer::failed(Stage::Order, &io::ErrorKind::InvalidInput.into());
    };
    let envs = order.env.iter().map(|(name, value)| (name, value));
    let error = Command::new(program).args(args).env_clear().envs(envs).exec();
    // The system says the same of a missing script and of a script with a missing interpreter.
    if error.raw_os_error() == Some(Errno::NOENT.raw_os_error()) && Path::new(program).is_file() {
        return Answer::Failed(Stage::Program, 0, "the program that its first line names is missing".to_owned());
    }
    Answer::failed(Stage::Program, &error)
}
