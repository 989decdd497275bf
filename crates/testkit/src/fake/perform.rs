use std::{
    fs::File,
    io::{self, Write as _},
    process::ExitCode,
    thread,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use anyhow::{Context as _, bail};
use rustix::process::{Signal, getpid, kill_process};

use super::acp::FakeAcp;
use super::stream_json::FakeStreamJson;
use super::{CHILD_LIFETIME, FakeInput, FakeProtocol, print_burst, print_line, read_until, run_fetches, write_bytes};
use crate::fake;

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
        FakeStep::Ignore => fake::ignore_signals()?,
        FakeStep::Child(words) => fake::start_child(words)?,
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

#[derive(Clone, Debug, PartialEq)]
pub enum FakeStep {
    Version(String),
    Speak(String),
    Open,
    Say(String),
    Ask(String),
    Prompt,
    Obey,
    Done,
    Follow,
    Flood { count: u64, rate: f64 },
    Burst(u64),
    Fetch { count: u32, server: String },
    Line(usize),
    Print(String),
    Part(String),
    Garbage(usize),
    Complain(String),
    Ignore,
    Child(Vec<String>),
    CloseStdin,
    CloseStdout,
    Sleep(Duration),
    Wait,
    Hang,
    Exit(u8),
    Crash,
}

/// Parses a script. Empty lines and lines that begin with `#` are ignored.
pub fn parse_script(script: &str) -> anyhow::Result<Vec<FakeStep>> {
    let lines = script.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| parse_step(line).with_context(|| format!("no step of a fake: {line}"))).collect()
}

fn parse_step(line: &str) -> anyhow::Result<FakeStep> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let text = rest.to_owned();
    Ok(match name {
        "version" => FakeStep::Version(text),
        "speak" => FakeStep::Speak(text),
        "open" => FakeStep::Open,
        "say" => FakeStep::Say(text),
        "ask" => FakeStep::Ask(text),
        "prompt" => FakeStep::Prompt,
        "obey" => FakeStep::Obey,
        "done" => FakeStep::Done,
        "follow" => FakeStep::Follow,
        "flood" => parse_flood(rest)?,
        "burst" => FakeStep::Burst(rest.trim().parse()?),
        "fetch" => parse_fetch(rest)?,
        "line" => FakeStep::Line(rest.trim().parse()?),
        "print" => FakeStep::Print(text),
        "part" => FakeStep::Part(text),
        "garbage" => FakeStep::Garbage(rest.trim().parse()?),
        "complain" => FakeStep::Complain(text),
        "ignore" => FakeStep::Ignore,
        "child" => FakeStep::Child(rest.split_whitespace().map(str::to_owned).collect()),
        "close" if rest == "stdin" => FakeStep::CloseStdin,
        "close" if rest == "stdout" => FakeStep::CloseStdout,
        "sleep" => FakeStep::Sleep(Duration::try_from_secs_f64(rest.trim().parse()?)?),
        "wait" => FakeStep::Wait,
        "hang" => FakeStep::Hang,
        "exit" => FakeStep::Exit(rest.trim().parse()?),
        "crash" => FakeStep::Crash,
        _ => bail!("there is no {name}"),
    })
}

fn parse_fetch(rest: &str) -> anyhow::Result<FakeStep> {
    let (count, server) = rest.split_once(' ').context("fetch needs a number and a server")?;
    Ok(FakeStep::Fetch { count: count.parse()?, server: server.trim().to_owned() })
}

fn parse_flood(rest: &str) -> anyhow::Result<FakeStep> {
    let (count, rate) = rest.split_once(' ').context("flood needs a number and a rate")?;
    Ok(FakeStep::Flood { count: count.parse()?, rate: rate.trim().parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_line_by_line() {
        let steps = parse_script("# why\nopen\n  say a b \n\nflood 10 1000\nchild setsid orphan\nclose stdout\nexit 3")
            .unwrap();
        let child = FakeStep::Child(vec!["setsid".to_owned(), "orphan".to_owned()]);
        let flood = FakeStep::Flood { count: 10, rate: 1000.0 };
        assert_eq!(
            steps,
            [FakeStep::Open, FakeStep::Say("a b ".to_owned()), flood, child, FakeStep::CloseStdout, FakeStep::Exit(3)]
        );
    }

    #[test]
    fn what_is_no_step_is_said() {
        for wrong in ["opne", "sleep x", "close stderr", "exit 1000"] {
            assert!(format!("{:#}", parse_script(wrong).unwrap_err()).contains(wrong), "{wrong}");
        }
    }
}
