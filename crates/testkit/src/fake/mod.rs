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
mod burst;
mod perform;
mod program;
mod stream_json;

use std::io::{self, BufRead as _, Write as _};

use burst::ReplyTemplate;
use serde_json::Value;

pub use perform::{FakeStep, parse_script, perform_script};
pub use program::{run_child, write_fake_program};
pub use stream_json::prompt_line;

pub trait FakeProtocol {
    /// Handles an incoming message. Requests that any agent answers are answered; prompts and the user's decisions are
    /// returned.
    fn handle_message(&mut self, message: &Value) -> FakeInput;
    fn last_prompt(&self) -> &str;
    /// Prints what follows the first prompt.
    fn print_opening(&mut self);
    fn print_text(&mut self, text: &str);
    /// Prints one text in pieces, with the messages before the first and after the last.
    fn print_pieces(&mut self, pieces: &mut dyn Iterator<Item = String>);
    /// Returns the same as a template for many pieces, in which only the placeholders of [`Mould`] differ.
    fn reply_template(&mut self) -> ReplyTemplate;
    /// Asks whether a command may run.
    fn request_permission(&mut self, command: &str);
    /// Reports the decision about the last request.
    fn report_decision(&mut self, allowed: bool);
    fn end_turn(&mut self);
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FakeInput {
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
pub fn read_until(wire: &mut dyn FakeProtocol, wanted: impl Fn(FakeInput) -> bool) -> Option<FakeInput> {
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
