//! Fake agents, for behavior that real ones cannot be made to show: crashing in the middle of a line, ignoring signals,
//! leaving children behind, printing garbage, hanging in the handshake. A fake is a program that performs a script, one
//! step per line; `SWITCHBOARD_<AGENT>` makes Switchboard start it instead of the agent.
//!
//! ```text
//! let program = fake::program(folder, "crasher", "open\nsay Hello\npart {\"type\":\"assis\ncrash")?;
//! SWITCHBOARD_NAME=program switchboard run name "do something"
//! ```
//!
//! | step | what the fake does |
//! | --- | --- |
//! | `version TEXT` | the answer to `--version` |
//! | `speak WIRE` | selects the protocol: `stream-json` (the default) or `acp` |
//! | `open` | completes the handshake, up to the first prompt |
//! | `say TEXT` | sends a text |
//! | `ask COMMAND` | requests approval for a command (which it never runs), waits for the decision and sends `allowed` or `declined` |
//! | `prompt` | waits for the next prompt |
//! | `obey` | performs the last prompt as a script |
//! | `done` | ends the turn |
//! | `follow` | performs every prompt as a turn, until its input ends |
//! | `flood N RATE` | sends N pieces of text at RATE per second; each is the time in nanoseconds since 1970 |
//! | `burst N` | sends N pieces of text as fast as possible, in lines of about 300 bytes; each begins with the start time of its reply |
//! | `fetch N HOST:PORT` | makes N HTTP requests, each on a new connection, through the proxy of `HTTP_PROXY` if set; sends the duration of each as `took NANOSECONDS` |
//! | `line BYTES` | sends one text of that length in one line |
//! | `print TEXT` · `part TEXT` | prints a text, with or without a newline |
//! | `garbage BYTES` | prints a line of bytes that are neither JSON nor UTF-8 |
//! | `complain TEXT` | prints a text to standard error |
//! | `ignore` | ignores SIGTERM, SIGINT and SIGHUP from now on |
//! | `child WORDS` | starts a child that does nothing: `setsid` in its own session, `orphan` not as a direct child, `stubborn` ignoring signals, `holds` keeping the output open |
//! | `close stdin` · `close stdout` | closes it and keeps running |
//! | `sleep SECONDS` | waits |
//! | `wait` | answers requests until its input ends |
//! | `hang` | does nothing until it is killed (or for ten minutes) |
//! | `exit CODE` | exits; the end of the script exits with 0 |
//! | `crash` | kills itself |
//!
//! While it waits, a fake answers the requests that every agent gets: interrupts, settings, a handshake.

mod acp;
mod perform;
mod stream_json;

use std::io::{BufRead as _, Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};
use std::{env, fs, io, thread};

use anyhow::{Context as _, ensure};
use perform::unix_nanos;
use rustix::process::setsid;
use serde_json::Value;
use signal_hook::consts::TERM_SIGNALS;
use signal_hook::flag;

pub use perform::{FakeStep, parse_script, perform_script};
pub use stream_json::prompt_line;

trait FakeProtocol {
    /// Handles an incoming message. Requests that any agent answers are answered; prompts and the user's decisions are
    /// returned.
    fn handle_message(&mut self, message: &Value) -> FakeInput;
    fn last_prompt(&self) -> &str;
    /// Prints what follows the first prompt.
    fn print_opening(&mut self);
    fn print_text(&mut self, text: &str);
    /// Prints one text in pieces, with the messages before the first and after the last.
    fn print_pieces(&mut self, pieces: &mut dyn Iterator<Item = String>);
    /// Returns the same as a template for many pieces, in which only the placeholders differ.
    fn reply_template(&mut self) -> ReplyTemplate;
    /// Asks whether a command may run.
    fn request_permission(&mut self, command: &str);
    /// Reports the decision about the last request.
    fn report_decision(&mut self, allowed: bool);
    fn end_turn(&mut self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FakeInput {
    Prompt,
    /// The user's decision: whether it is allowed.
    Answer(bool),
    /// A message that was already handled.
    Nothing,
}

/// Prints a line and flushes. A closed output is ignored.
pub fn print_line(line: &str) {
    write_bytes(format!("{line}\n").as_bytes());
}

pub fn write_bytes(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    drop(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Reads messages until a wanted one arrives; `None` if the input ends before.
fn read_until(wire: &mut dyn FakeProtocol, wanted: impl Fn(FakeInput) -> bool) -> Option<FakeInput> {
    let mut line = String::new();
    loop {
        line.clear();
        if io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let heard = wire.handle_message(&serde_json::from_str(&line).unwrap_or_default());
        if wanted(heard) {
            return Some(heard);
        }
    }
}

/// Writes a program that performs a script, whatever its arguments are.
pub fn write_fake_program(folder: &Path, name: &str, script: &str) -> anyhow::Result<PathBuf> {
    parse_script(script)?;
    let (program, text) = (folder.join(name), folder.join(format!("{name}.script")));
    fs::create_dir_all(folder)?;
    fs::write(&text, script)?;
    let start = format!("#!/bin/sh\nexec '{}' fake '{}' -- \"$@\"\n", find_testkit()?.display(), text.display());
    fs::write(&program, start)?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    Ok(program)
}

/// Returns the test kit's program: in the directory of the running program, or in the one above for a test. A test that
/// was built alone builds it first. An existing one is used as it is; `cargo xtask test` rebuilds it.
fn find_testkit() -> anyhow::Result<PathBuf> {
    let here = env::current_exe()?;
    let folder = here.parent().context("no folder")?;
    let folder = if folder.ends_with("deps") { folder.parent().context("no folder")? } else { folder };
    let testkit = folder.join("switchboard-testkit");
    if !testkit.exists() {
        build_testkit(folder)?;
    }
    ensure!(testkit.exists(), "there is no {}; `cargo build -p switchboard-testkit` makes it", testkit.display());
    Ok(testkit)
}

#[expect(clippy::disallowed_methods, reason = "cargo is started and waited for")]
fn build_testkit(folder: &Path) -> anyhow::Result<()> {
    let profile = folder.file_name().and_then(|name| name.to_str()).filter(|name| *name != "debug").unwrap_or("dev");
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--quiet", "--package", "switchboard-testkit", "--profile", profile, "--target-dir"]);
    let status = cargo.arg(folder.parent().context("no folder")?).current_dir(crate::repository_root()).status()?;
    ensure!(status.success(), "cargo build: {status}");
    Ok(())
}

/// Longer than any test, but limited.
const CHILD_LIFETIME: Duration = Duration::from_secs(600);

/// Printed by a child once it is set up.
const READY_MESSAGE: &[u8] = b"ready";

/// Starts a child and waits until it is set up.
fn start_child(words: &[String]) -> anyhow::Result<()> {
    let holds = words.iter().any(|word| word == "holds");
    let output = if holds { Stdio::inherit() } else { Stdio::null() };
    let mut child = child_command(words)?.stdin(Stdio::null()).stdout(output).stderr(Stdio::piped()).spawn()?;
    let mut said = [0; READY_MESSAGE.len()];
    child.stderr.take().context("no pipe")?.read_exact(&mut said).context("the child did not get ready")?;
    if words.iter().any(|word| word == "orphan") {
        ensure!(child.wait()?.success(), "the child's parent failed");
    }
    Ok(())
}

/// Runs as the child. An orphan is started by a parent that exits.
pub fn run_child(words: &[String]) -> anyhow::Result<()> {
    let is = |what: &str| words.iter().any(|word| word == what);
    if is("orphan") {
        let rest: Vec<_> = words.iter().filter(|word| *word != "orphan").cloned().collect();
        child_command(&rest)?.spawn()?;
        return Ok(());
    }
    if is("setsid") {
        setsid()?;
    }
    if is("stubborn") {
        ignore_signals()?;
    }
    io::stderr().write_all(READY_MESSAGE)?;
    thread::sleep(CHILD_LIFETIME);
    Ok(())
}

/// Ignores SIGTERM, SIGINT, SIGQUIT and SIGHUP.
pub fn ignore_signals() -> anyhow::Result<()> {
    for signal in TERM_SIGNALS.iter().chain([&signal_hook::consts::SIGHUP]) {
        flag::register(*signal, Arc::new(AtomicBool::new(false)))?;
    }
    Ok(())
}

#[expect(clippy::disallowed_methods, reason = "a fake's children are meant to be left behind")]
fn child_command(words: &[String]) -> anyhow::Result<Command> {
    let mut command = Command::new(env::current_exe()?);
    command.arg("fake-child").args(words);
    Ok(command)
}

/// Makes requests in sequence and prints the duration of each.
fn run_fetches(wire: &mut dyn FakeProtocol, count: u32, server: &str) -> anyhow::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "agents find their proxy in the environment")]
    let proxy = env::var("HTTP_PROXY").ok().map(|url| url.trim_start_matches("http://").to_owned());
    let (address, target) = match &proxy {
        Some(proxy) => (proxy.as_str(), format!("http://{server}/")),
        None => (server, "/".to_owned()),
    };
    let request = format!("GET {target} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n");
    let mut times = Vec::new();
    for _ in 0..count {
        let begin = Instant::now();
        let mut stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        stream.write_all(request.as_bytes())?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        times.push(begin.elapsed().as_nanos());
        ensure!(answer.starts_with("HTTP/1.1 200"), "{answer}");
    }
    wire.print_pieces(&mut times.iter().map(|time| format!("took {time}\n")));
    Ok(())
}

/// Placeholder for the text of a piece, and in the ending of a reply for its whole text.
const PIECE_PLACEHOLDER: &str = "<piece>";

/// Placeholder for the number of a reply.
const REPLY_PLACEHOLDER: &str = "<reply>";

/// Placeholder for the twelve-digit number of a piece.
const NUMBER_PLACEHOLDER: &str = "<number>";

/// The lines of a reply in a protocol.
struct ReplyTemplate {
    pub before: Vec<String>,
    /// One of its pieces; the text comes before the number, if it has one.
    pub piece: String,
    /// It may repeat the whole text.
    pub after: Vec<String>,
}

/// As many as a long reply of a real model has.
const PIECES_PER_REPLY: usize = 2_000;

/// The capacity of a pipe.
const WRITE_CHUNK_BYTES: usize = 64 << 10;

/// Makes a line about 300 bytes long.
const PIECE_FILLER: &str = " words that a model could say";

fn print_burst(wire: &mut dyn FakeProtocol, count: u64) {
    let mould = wire.reply_template();
    let piece = PieceTemplate::parse(&mould.piece);
    let (mut out, mut said, mut left, mut reply) =
        (Vec::with_capacity(2 * WRITE_CHUNK_BYTES), String::new(), count, 0_u64);
    while left > 0 {
        reply += 1;
        let text = format!("{}{PIECE_FILLER}", unix_nanos());
        mould.push_opening(reply, &mut out);
        said.clear();
        for number in (0..left).rev().take(PIECES_PER_REPLY) {
            piece.push_piece(&text, number, &mut out);
            said.push_str(&text);
            if out.len() > WRITE_CHUNK_BYTES {
                write_bytes(&out);
                out.clear();
            }
        }
        left = left.saturating_sub(PIECES_PER_REPLY as u64);
        mould.push_ending(reply, &said, &mut out);
    }
    write_bytes(&out);
}

impl ReplyTemplate {
    fn push_opening(&self, reply: u64, out: &mut Vec<u8>) {
        for line in &self.before {
            out.extend(line.replace(REPLY_PLACEHOLDER, &reply.to_string()).bytes().chain(*b"\n"));
        }
    }

    fn push_ending(&self, reply: u64, said: &str, out: &mut Vec<u8>) {
        for line in &self.after {
            let line = line.replace(REPLY_PLACEHOLDER, &reply.to_string()).replace(PIECE_PLACEHOLDER, said);
            out.extend(line.bytes().chain(*b"\n"));
        }
    }
}

/// A line with placeholders for a text and a number.
struct PieceTemplate {
    before: String,
    between: String,
    after: Option<String>,
}

impl PieceTemplate {
    fn parse(line: &str) -> Self {
        let (before, rest) = line.split_once(PIECE_PLACEHOLDER).unwrap_or((line, ""));
        let (between, after) =
            rest.split_once(NUMBER_PLACEHOLDER).map_or((rest, None), |(between, after)| (between, Some(after)));
        Self { before: before.to_owned(), between: between.to_owned(), after: after.map(str::to_owned) }
    }

    fn push_piece(&self, text: &str, number: u64, out: &mut Vec<u8>) {
        for part in [&self.before, text, &self.between] {
            out.extend_from_slice(part.as_bytes());
        }
        if let Some(after) = &self.after {
            out.extend(twelve_digits(number));
            out.extend_from_slice(after.as_bytes());
        }
        out.push(b'\n');
    }
}

fn twelve_digits(mut number: u64) -> [u8; 12] {
    let mut digits = [b'0'; 12];
    for digit in digits.iter_mut().rev() {
        *digit += u8::try_from(number % 10).unwrap_or_default();
        number /= 10;
    }
    digits
}
