//! Performing a script.

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
    acp::Acp,
    burst::burst,
    child::{self, CHILD_LIVES},
    script::{Step, parse},
    stream_json::StreamJson,
    wire::{Heard, Wire, listen, print, write},
};

/// Performs a script to its end, given the arguments that the program was started with.
pub fn perform(script: &[Step], args: &[String]) -> anyhow::Result<ExitCode> {
    if args.iter().any(|arg| arg == "--version") {
        print(version(script));
        return Ok(ExitCode::SUCCESS);
    }
    let mut wire: Box<dyn Wire> = Box::new(StreamJson::default());
    for step in script {
        if let Step::Speak(name) = step {
            wire = speak(name)?;
        } else if let Some(end) = one(step, &mut *wire)? {
            return Ok(end);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn version(script: &[Step]) -> &str {
    let said = script.iter().find_map(|step| match step {
        Step::Version(version) => Some(version.as_str()),
        _ => None,
    });
    said.unwrap_or("1.0.0")
}

fn speak(name: &str) -> anyhow::Result<Box<dyn Wire>> {
    match name {
        "stream-json" => Ok(Box::new(StreamJson::default())),
        "acp" => Ok(Box::new(Acp::default())),
        _ => bail!("no fake speaks {name}"),
    }
}

/// One step; gives the exit code if it is the last.
fn one(step: &Step, wire: &mut dyn Wire) -> anyhow::Result<Option<ExitCode>> {
    match step {
        Step::Open => {
            prompt(wire);
            wire.begin();
        }
        Step::Prompt => prompt(wire),
        Step::Obey => return obey(wire),
        Step::Follow => return follow(wire),
        Step::Say(text) => wire.say(text),
        Step::Ask(command) => ask(wire, command),
        Step::Done => wire.done(),
        Step::Flood { count, rate } => flood(wire, *count, *rate),
        Step::Burst(count) => burst(wire, *count),
        Step::Line(size) => wire.say(&"x".repeat(*size)),
        Step::Print(text) => print(text),
        Step::Part(text) => write(text.as_bytes()),
        Step::Garbage(size) => write(&[&vec![0xfe; *size], &b"\n"[..]].concat()),
        Step::Complain(text) => drop(writeln!(io::stderr(), "{text}")),
        Step::Ignore => child::ignore_signals()?,
        Step::Child(words) => child::start(words)?,
        Step::CloseStdin => rustix::stdio::dup2_stdin(File::open("/dev/null")?)?,
        Step::CloseStdout => rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?,
        Step::Sleep(time) => thread::sleep(*time),
        Step::Wait => drop(listen(wire, |_| false)),
        Step::Hang => thread::sleep(CHILD_LIVES),
        Step::Exit(code) => return Ok(Some(ExitCode::from(*code))),
        Step::Crash => kill_process(getpid(), Signal::KILL)?,
        Step::Version(_) | Step::Speak(_) => {}
    }
    Ok(None)
}

/// The steps of the last prompt.
fn obey(wire: &mut dyn Wire) -> anyhow::Result<Option<ExitCode>> {
    for step in parse(wire.asked())? {
        if let Some(end) = one(&step, wire)? {
            return Ok(Some(end));
        }
    }
    Ok(None)
}

/// Prompt after prompt.
fn follow(wire: &mut dyn Wire) -> anyhow::Result<Option<ExitCode>> {
    while listen(wire, |heard| heard == Heard::Prompt).is_some() {
        if let Some(end) = obey(wire)? {
            return Ok(Some(end));
        }
        wire.done();
    }
    Ok(None)
}

fn prompt(wire: &mut dyn Wire) {
    listen(wire, |heard| heard == Heard::Prompt);
}

/// An input that ends is no answer, and so nothing is allowed.
fn ask(wire: &mut dyn Wire, command: &str) {
    wire.ask(command);
    let answer = listen(wire, |heard| matches!(heard, Heard::Answer(_)));
    wire.answered(answer == Some(Heard::Answer(true)));
}

/// Pieces at a steady pace: each has its moment, and one that is late does not delay the next.
fn flood(wire: &mut dyn Wire, count: u64, rate: f64) {
    let (begin, mut sent) = (Instant::now(), 0_u32);
    let step = Duration::try_from_secs_f64(rate.recip()).unwrap_or_default();
    let mut pieces = (0..count).map(|_| {
        let moment = begin + step * sent;
        sent += 1;
        thread::sleep(moment.saturating_duration_since(Instant::now()));
        format!("{} ", now())
    });
    wire.pieces(&mut pieces);
}

/// Nanoseconds since 1970, by the clock that other programs on this machine have too.
#[expect(clippy::disallowed_methods, reason = "whoever measures a fake needs to know when it spoke")]
pub fn now() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}
