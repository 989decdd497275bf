//! Roles with children, who do what they can to be forgotten.

use std::{
    fs::File,
    io,
    process::{Child, Command, Stdio},
};

use rustix::{
    process::setsid,
    stdio::{dup2_stderr, dup2_stdin, dup2_stdout},
};

use super::{announce, deaf, say, sleep};

/// Plays a role.
pub fn play(args: &[&str]) -> io::Result<()> {
    match args {
        // Parents.
        ["parent-of", role @ ..] => {
            child(role)?;
            sleep("parent");
        }
        ["deaf-parent-of", role @ ..] => {
            child(role)?;
            deaf("parent")?;
        }
        ["leave-behind", role @ ..] => drop(child(role)?),
        ["nameless", role @ ..] => drop(command(role)?.env_clear().spawn()?),
        // Children.
        ["runaway"] => runaway()?,
        ["chain"] => chain()?,
        ["swarm", count] => swarm(count.parse().unwrap_or(1))?,
        _ => return Err(io::Error::other(format!("no role {args:?}"))),
    }
    Ok(())
}

/// Leaves the session, ignores signals and closes everything, once it has said who it is.
fn runaway() -> io::Result<()> {
    setsid()?;
    let _signals = super::signals()?;
    announce("runaway");
    let nothing = File::options().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&nothing)?;
    dup2_stdout(&nothing)?;
    dup2_stderr(&nothing)?;
    sleep("nobody hears this");
    Ok(())
}

/// Is never the same process for long.
fn chain() -> io::Result<()> {
    // The first one may lead its group already.
    setsid().ok();
    command(&["chain"])?.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    Ok(())
}

fn swarm(count: usize) -> io::Result<()> {
    for _ in 0..count {
        chain()?;
    }
    say("swarming");
    Ok(())
}

fn child(role: &[&str]) -> io::Result<Child> {
    command(role)?.spawn()
}

/// Another of us.
#[expect(clippy::disallowed_methods, reason = "a fake agent starts what it likes")]
fn command(role: &[&str]) -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    command.args(role);
    Ok(command)
}
