//! The operations of a fake in any protocol, and its standard streams.

use std::io::{self, BufRead as _, Write as _};

use serde_json::Value;

use super::burst::ReplyTemplate;

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
