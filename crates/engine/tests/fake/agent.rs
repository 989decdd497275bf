//! A fake agent that imitates the worst behavior of real ones. The first argument is the role. It is also its own
//! supervisor, like the product.

mod descendants;
mod holder;

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::{self, Read as _, Write},
    os::unix::{
        ffi::OsStrExt as _,
        fs::{OpenOptionsExt as _, symlink},
        net::{UnixListener, UnixStream},
    },
    process::ExitCode,
};

use rustix::process::{Pid, Signal, getpgrp, getpid, getppid, getsid, kill_process};
use switchboard_engine::supervise::{process_start_time, run_hidden_mode};

fn main() -> ExitCode {
    if let Some(code) = run_hidden_mode(env::args_os().skip(1)) {
        return code;
    }
    let args: Vec<String> = env::args_os().skip(1).map(|arg| arg.to_string_lossy().into_owned()).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match play_role(&args) {
        Ok(code) => code,
        Err(error) => {
            print_line(&format!("failed: {error}"));
            ExitCode::from(99)
        }
    }
}

fn play_role(args: &[&str]) -> io::Result<ExitCode> {
    match args {
        ["exit", code] => return Ok(ExitCode::from(code.parse().unwrap_or(98))),
        ["die", signal] => die_by_signal(signal)?,
        ["cat"] => drop(io::copy(&mut io::stdin(), &mut io::stdout())?),
        ["outputs"] => print_to_both()?,
        ["environment"] => print_environment()?,
        ["arguments", ..] => print_arguments()?,
        ["descriptors"] => print_descriptors()?,
        ["place"] => print_place()?,
        ["sleep"] => sleep_forever("sleep"),
        ["deaf"] => ignore_signals("deaf")?,
        ["polite"] => return exit_when_asked(),
        ["writes", attempts @ ..] => attempt_writes(attempts),
        ["shell", args @ ..] => holder::hold_shell(args)?,
        ["hold", role @ ..] => holder::hold_agent(role)?,
        ["terminal", path, role @ ..] => holder::hold_on_terminal(path, role)?,
        _ => descendants::play_role(args)?,
    }
    Ok(ExitCode::SUCCESS)
}

pub fn print_line(line: &str) {
    let mut out = io::stdout().lock();
    drop(writeln!(out, "{line}").and_then(|()| out.flush()));
}

/// Prints the role, PID and start time, so that a test can watch this process.
pub fn announce_process(role: &str) {
    let pid = std::process::id();
    print_line(&format!("{role} {pid} {}", process_start_time(pid).unwrap_or_default()));
}

/// Sleeps until killed.
pub fn sleep_forever(role: &str) {
    announce_process(role);
    loop {
        std::thread::park();
    }
}

/// Ignores signals that ask it to end.
pub fn ignore_signals(role: &str) -> io::Result<()> {
    let _signals = stop_signals()?;
    sleep_forever(role);
    Ok(())
}

/// Makes signals that ask this process to end readable: a byte each.
pub fn stop_signals() -> io::Result<UnixStream> {
    let (read, write) = UnixStream::pair()?;
    for signal in [Signal::INT, Signal::TERM, Signal::HUP] {
        signal_hook::low_level::pipe::register(signal.as_raw(), write.try_clone()?)?;
    }
    Ok(read)
}

/// Exits with code 42 when asked to end.
fn exit_when_asked() -> io::Result<ExitCode> {
    let mut signals = stop_signals()?;
    announce_process("polite");
    signals.read_exact(&mut [0])?;
    Ok(ExitCode::from(42))
}

fn die_by_signal(signal: &str) -> io::Result<()> {
    let signal = if signal == "KILL" { Signal::KILL } else { Signal::ABORT };
    Ok(kill_process(getpid(), signal)?)
}

fn print_to_both() -> io::Result<()> {
    print_line("to stdout");
    writeln!(io::stderr(), "to stderr")
}

fn print_environment() -> io::Result<()> {
    let mut out = io::stdout().lock();
    for (name, value) in env::vars_os() {
        write_zero_terminated(&mut out, &[name, "=".into(), value])?;
    }
    Ok(())
}

fn print_arguments() -> io::Result<()> {
    let mut out = io::stdout().lock();
    env::args_os().skip(2).try_for_each(|arg| write_zero_terminated(&mut out, &[arg]))
}

fn write_zero_terminated(out: &mut impl Write, parts: &[OsString]) -> io::Result<()> {
    parts.iter().try_for_each(|part| out.write_all(part.as_bytes()))?;
    out.write_all(b"\0")
}

/// Prints every open file and its target.
fn print_descriptors() -> io::Result<()> {
    for entry in fs::read_dir("/proc/self/fd")? {
        let path = entry?.path();
        let target = fs::read_link(&path).unwrap_or_default();
        print_line(&format!("{} {}", path.file_name().unwrap_or_default().display(), target.display()));
    }
    Ok(())
}

fn print_place() -> io::Result<()> {
    let number = |pid: Option<Pid>| pid.map_or(0, |pid| pid.as_raw_nonzero().get());
    let (pid, group, session) = (getpid(), getpgrp(), getsid(None).ok());
    print_line(&format!("own group: {}", pid == group));
    print_line(&format!("own session: {}", Some(pid) == session));
    print_line(&format!("terminal: {}", File::open("/dev/tty").is_ok()));
    print_line(&format!("parent: {}", number(getppid())));
    print_line(&format!("directory: {}", env::current_dir()?.display()));
    Ok(())
}

/// Tries each of `WAY:PATH` or `WAY:PATH:PATH`, and prints the result.
fn attempt_writes(attempts: &[&str]) {
    for attempt in attempts {
        let mut parts = attempt.split(':');
        let mut part = || parts.next().unwrap_or_default();
        match attempt_write(part(), part(), part()) {
            Ok(()) => print_line(&format!("{attempt} done")),
            Err(error) => print_line(&format!("{attempt} {:?}", error.kind())),
        }
    }
}

fn attempt_write(way: &str, path: &str, other: &str) -> io::Result<()> {
    match way {
        "read" => fs::read(path).map(drop),
        "list" => fs::read_dir(path).map(drop),
        "create" => File::create_new(path).map(drop),
        "append" => File::options().append(true).open(path)?.write_all(b"more"),
        "truncate" => truncate_file(path),
        "rename" => fs::rename(path, other),
        "link" => fs::hard_link(path, other),
        "symlink" => symlink(path, other),
        "unlink" => fs::remove_file(path),
        "mkdir" => fs::create_dir(path),
        "rmdir" => fs::remove_dir(path),
        "socket" => UnixListener::bind(path).map(drop),
        "write" => File::options().write(true).open(path)?.write_all(b"x"),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Truncates a file that is opened only for reading.
fn truncate_file(path: &str) -> io::Result<()> {
    const O_TRUNC: i32 = 0o1000;
    File::options().read(true).custom_flags(O_TRUNC).open(path).map(drop)
}
