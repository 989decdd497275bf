//! An agent that plays what real ones do at their worst. The first argument is the role, as a test needs it. It is also
//! its own supervisor, as the product is.

mod family;
mod holder;
mod shell;
mod writes;

use std::{
    env,
    ffi::OsString,
    fs,
    io::{self, Read as _, Write as _},
    os::unix::{ffi::OsStrExt as _, net::UnixStream},
    process::ExitCode,
};

use rustix::process::{Signal, getpgrp, getpid, getppid, getsid, kill_process};
use switchboard_engine::supervise::{hidden_mode, start_time};

fn main() -> ExitCode {
    if let Some(code) = hidden_mode(env::args_os().skip(1)) {
        return code;
    }
    let args: Vec<String> = env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match play(&args) {
        Ok(code) => code,
        Err(error) => {
            say(&format!("failed: {error}"));
            ExitCode::from(99)
        }
    }
}

fn play(args: &[&str]) -> io::Result<ExitCode> {
    match args {
        ["exit", code] => return Ok(ExitCode::from(code.parse().unwrap_or(98))),
        ["die", signal] => die(signal)?,
        ["cat"] => drop(io::copy(&mut io::stdin(), &mut io::stdout())?),
        ["outputs"] => outputs()?,
        ["environment"] => environment()?,
        ["arguments", ..] => arguments()?,
        ["descriptors"] => descriptors()?,
        ["place"] => place()?,
        ["sleep"] => sleep("sleep"),
        ["deaf"] => deaf("deaf")?,
        ["polite"] => return polite(),
        ["writes", attempts @ ..] => writes::attempt(attempts),
        ["shell", args @ ..] => shell::run(args)?,
        ["hold", role @ ..] => holder::hold(role)?,
        ["terminal", path, role @ ..] => holder::on_terminal(path, role)?,
        _ => family::play(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Says a line to whoever reads our output.
pub fn say(line: &str) {
    let mut out = io::stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Says who we are, so that a test can see us die.
pub fn announce(role: &str) {
    let pid = std::process::id();
    say(&format!("{role} {pid} {}", start_time(pid).unwrap_or_default()));
}

/// Until somebody kills us.
pub fn sleep(role: &str) {
    announce(role);
    loop {
        std::thread::park();
    }
}

/// Takes no hint.
pub fn deaf(role: &str) -> io::Result<()> {
    let _signals = signals()?;
    sleep(role);
    Ok(())
}

/// Makes signals that ask us to end readable: a byte each.
pub fn signals() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal_hook::low_level::pipe::register(signal.as_raw(), write.try_clone()?)?;
    }
    Ok(read)
}

/// Ends with a code of its own when asked to.
fn polite() -> io::Result<ExitCode> {
    let mut signals = signals()?;
    announce("polite");
    signals.read_exact(&mut [0])?;
    Ok(ExitCode::from(42))
}

fn die(signal: &str) -> io::Result<()> {
    let signal = if signal == "KILL" { Signal::KILL } else { Signal::ABORT };
    Ok(kill_process(getpid(), signal)?)
}

fn outputs() -> io::Result<()> {
    say("to stdout");
    writeln!(io::stderr(), "to stderr")
}

fn environment() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, value) in env::vars_os() {
        line(&mut out, &[name, "=".into(), value])?;
    }
    Ok(())
}

fn arguments() -> io::Result<()> {
    let mut out = io::stdout().lock();
    env::args_os().skip(2).try_for_each(|arg| line(&mut out, &[arg]))
}

fn line(out: &mut impl io::Write, parts: &[OsString]) -> io::Result<()> {
    parts.iter().try_for_each(|part| out.write_all(part.as_bytes()))?;
    out.write_all(b"\0")
}

/// Every open file and what it is.
fn descriptors() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let path = entry?.path();
        let target = fs::read_link(&path).unwrap_or_default();
        say(&format!("{} {}", path.file_name().unwrap_or_default().display(), target.display()));
    }
    Ok(())
}

fn place() -> io::Result<()> {
    let number = |pid: Option<rustix::process::Pid>| pid.map_or(0, |pid| pid.as_raw_nonzero().get());
    let (pid, group, session) = (getpid(), getpgrp(), getsid(None).ok());
    say(&format!("own group: {}", pid == group));
    say(&format!("own session: {}", Some(pid) == session));
    say(&format!("terminal: {}", fs::File::open("/dev/tty").is_ok()));
    say(&format!("parent: {}", number(getppid())));
    say(&format!("folder: {}", env::current_dir()?.display()));
    Ok(())
}
