use std::{
    fs::File,
    io::{self, Write as _},
    process::ExitCode,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::bail;
use rustix::process::{Signal, getpid, kill_process};

use super::{
    acp::FakeAcp,
    burst::print_burst,
    child::{self, CHILD_LIFETIME},
    fetch::run_fetches,
    script::{FakeStep, parse_script},
    stream_json::FakeStreamJson,
    wire::{FakeInput, FakeProtocol, print_line, read_until, write_bytes},
};

/// Performs a script to its end, with the program's arguments.
pub fn perform_script(script: &[FakeStep], args: &[String]) -> anyhow::Result<ExitCode> {
    if args.iter().any(|arg| arg == "--version") {
        print_line(script_version(script));
        return Ok(ExitCode::SUCCESS);
    }
    let mut wire: Box<dyn FakeProtocol> = Box::new(FakeStreamJson::default());
    for step in script {
        if let FakeStep::Speak(name) = step {
            wire = find_protocol(name)?;
        } else if let Some(end) = perform_step(step, &mut *wire)? {
            return Ok(end);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn script_version(script: &[FakeStep]) -> &str {
    let said = script.iter().find_map(|step| match step {
        FakeStep::Version(version) => Some(version.as_str()),
        _ => None,
    });
    said.unwrap_or("1.0.0")
}

fn find_protocol(name: &str) -> anyhow::Result<Box<dyn FakeProtocol>> {
    match name {
        "stream-json" => Ok(Box::new(FakeStreamJson::default())),
        "acp" => Ok(Box::new(FakeAcp::default())),
        _ => bail!("no fake speaks {name}"),
    }
}

/// Performs one step. Returns the exit code if it is the last.
fn perform_step(step: &FakeStep, wire: &mut dyn FakeProtocol) -> anyhow::Result<Option<ExitCode>> {
    match step {
        FakeStep::Open => {
            wait_for_prompt(wire);
            wire.print_opening();
        }
        FakeStep::Prompt => wait_for_prompt(wire),
        FakeStep::Obey => return perform_prompt(wire),
        FakeStep::Follow => return perform_prompts(wire),
        FakeStep::Say(text) => wire.print_text(text),
        FakeStep::Ask(command) => ask_permission(wire, command),
        FakeStep::Done => wire.end_turn(),
        FakeStep::Flood { count, rate } => print_at_rate(wire, *count, *rate),
        FakeStep::Burst(count) => print_burst(wire, *count),
        FakeStep::Fetch { count, server } => run_fetches(wire, *count, server)?,
        FakeStep::Line(size) => wire.print_text(&"x".repeat(*size)),
        FakeStep::Print(text) => print_line(text),
        FakeStep::Part(text) => write_bytes(text.as_bytes()),
        FakeStep::Garbage(size) => write_bytes(&[&vec![0xfe; *size], &b"\n"[..]].concat()),
        FakeStep::Complain(text) => drop(writeln!(io::stderr(), "{text}")),
        FakeStep::Ignore => child::ignore_signals()?,
        FakeStep::Child(words) => child::start_child(words)?,
        FakeStep::CloseStdin => rustix::stdio::dup2_stdin(File::open("/dev/null")?)?,
        FakeStep::CloseStdout => rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?,
        FakeStep::Sleep(time) => thread::sleep(*time),
        FakeStep::Wait => drop(read_until(wire, |_| false)),
        FakeStep::Hang => thread::sleep(CHILD_LIFETIME),
        FakeStep::Exit(code) => return Ok(Some(ExitCode::from(*code))),
        FakeStep::Crash => kill_process(getpid(), Signal::KILL)?,
        FakeStep::Version(_) | FakeStep::Speak(_) => {}
    }
    Ok(None)
}

/// Performs the last prompt as a script.
fn perform_prompt(wire: &mut dyn FakeProtocol) -> anyhow::Result<Option<ExitCode>> {
    for step in parse_script(wire.last_prompt())? {
        if let Some(end) = perform_step(&step, wire)? {
            return Ok(Some(end));
        }
    }
    Ok(None)
}

/// Performs every prompt as a turn, until the input ends.
fn perform_prompts(wire: &mut dyn FakeProtocol) -> anyhow::Result<Option<ExitCode>> {
    while read_until(wire, |heard| heard == FakeInput::Prompt).is_some() {
        if let Some(end) = perform_prompt(wire)? {
            return Ok(Some(end));
        }
        wire.end_turn();
    }
    Ok(None)
}

fn wait_for_prompt(wire: &mut dyn FakeProtocol) {
    read_until(wire, |heard| heard == FakeInput::Prompt);
}

/// The end of the input is not an approval.
fn ask_permission(wire: &mut dyn FakeProtocol, command: &str) {
    wire.request_permission(command);
    let answer = read_until(wire, |heard| matches!(heard, FakeInput::Answer(_)));
    wire.report_decision(answer == Some(FakeInput::Answer(true)));
}

/// Prints pieces at a steady rate: each has its due time, and a late one does not delay the next.
fn print_at_rate(wire: &mut dyn FakeProtocol, count: u64, rate: f64) {
    let (begin, mut sent) = (Instant::now(), 0_u32);
    let step = Duration::try_from_secs_f64(rate.recip()).unwrap_or_default();
    let mut pieces = (0..count).map(|_| {
        let moment = begin + step * sent;
        sent += 1;
        thread::sleep(moment.saturating_duration_since(Instant::now()));
        format!("{} ", unix_nanos())
    });
    wire.print_pieces(&mut pieces);
}

/// Returns nanoseconds since 1970 by the clock that all programs on this machine share.
#[expect(clippy::disallowed_methods, reason = "whoever measures a fake needs to know when it spoke")]
pub fn unix_nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
