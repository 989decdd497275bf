//! Roles with children that try to escape from supervision.

use std::{
    fs::File,
    io,
    process::{Child, Command, Stdio},
};

use rustix::{
    process::setsid,
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

use super::{announce_process, ignore_signals, print_line, sleep_forever, stop_signals};

pub fn play_role(args: &[&str]) -> io::Result<()> {
    match args {
        // Parents.
        ["parent-of", role @ ..] => {
            spawn_child(role)?;
            sleep_forever("parent");
        }
        ["deaf-parent-of", role @ ..] => {
            spawn_child(role)?;
            ignore_signals("parent")?;
        }
        ["leave-behind", role @ ..] => drop(spawn_child(role)?),
        ["nameless", role @ ..] => drop(role_command(role)?.env_clear().spawn()?),
        // Children.
        ["runaway"] => run_away()?,
        ["chain"] => replace_forever()?,
        ["swarm", count] => start_swarm(count.parse().unwrap_or(1))?,
        _ => return Err(io::Error::other(format!("no role {args:?}"))),
    }
    Ok(())
}

/// Leaves the session, ignores signals and closes all files after it has announced itself.
fn run_away() -> io::Result<()> {
    setsid()?;
    let _signals = stop_signals()?;
    announce_process("runaway");
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    sleep_forever("unheard");
    Ok(())
}

/// Replaces itself with a new process all the time.
fn replace_forever() -> io::Result<()> {
    // The first one may lead its group already.
    setsid().ok();
    role_command(&["chain"])?.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

fn start_swarm(count: usize) -> io::Result<()> {
    for _ in 0..count {
        replace_forever()?;
    }
    print_line("swarming");
    Ok(())
}

fn spawn_child(role: &[&str]) -> io::Result<Child> {
    role_command(role)?.spawn()
}

/// Returns a command that starts another fake agent.
#[expect(clippy::disallowed_methods, reason = "a fake agent starts any program")]
fn role_command(role: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(role);
    Ok(command)
}
