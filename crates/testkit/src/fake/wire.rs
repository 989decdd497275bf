//! What a fake must be able to say in any protocol, and to whom it says it.

use std::io::{self, BufRead as _, Write as _};

use serde_json::Value;

use super::burst::Mould;

/// A protocol that a fake speaks.
pub trait Wire {
    /// What came in. A request that any agent answers is answered; a prompt and an answer of the user are given back.
    fn hear(&mut self, message: &Value) -> Heard;
    /// The last prompt.
    fn asked(&self) -> &str;
    /// What is printed once the first prompt has come.
    fn begin(&mut self);
    /// A text.
    fn say(&mut self, text: &str);
    /// Pieces of one text: before the first, each, after the last.
    fn pieces(&mut self, pieces: &mut dyn Iterator<Item = String>);
    /// The same, for a great many pieces: what is printed is the same for all but for the numbers that [`Mould`] fills in.
    fn mould(&mut self) -> Mould;
    /// Asks whether a command may run.
    fn ask(&mut self, command: &str);
    /// The end of what was asked about.
    fn answered(&mut self, allowed: bool);
    /// The turn is over.
    fn done(&mut self);
}

/// What a message was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Heard {
    /// The user wants something.
    Prompt,
    /// The user's answer: whether it is allowed.
    Answer(bool),
    /// Something that is dealt with.
    Nothing,
}

/// Prints a line at once. Nobody may be listening any more; a fake goes on all the same.
pub fn print(line: &str) {
    write(format!("{line}\n").as_bytes());
}

/// Prints bytes at once.
pub fn write(bytes: &[u8]) {
    let mut out = io::stdout().lock();
    drop(out.write_all(bytes).and_then(|()| out.flush()));
}

/// Reads until the wire hears what is wanted; nothing if the input ends before.
pub fn listen(wire: &mut dyn Wire, wanted: impl Fn(Heard) -> bool) -> Option<Heard> {
    let mut line = String::new();
    loop {
        line.clear();
        if io::stdin().lock().read_line(&mut line).unwrap_or(0) == 0 {
            return None;
        }
        let heard = wire.hear(&serde_json::from_str(&line).unwrap_or_default());
        if wanted(heard) {
            return Some(heard);
        }
    }
}
