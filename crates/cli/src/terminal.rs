//! The terminal, if there is one: its width, its colours, and what is typed.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, IsTerminal as _},
    thread,
};

use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use crate::host;

/// What of our input and output is a terminal.
pub struct Terminal {
    /// Standard output is.
    pub stdout: bool,
    /// Standard error is.
    pub stderr: bool,
    /// Somebody can type.
    input: Option<File>,
    /// Colours are wanted.
    pub colour: bool,
}

impl Terminal {
    /// Looks at what we have.
    pub fn new() -> Self {
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        // A prompt may have come through standard input, with a person still at the terminal.
        let input = if stdout || stderr { File::open("/dev/tty").ok() } else { None };
        Self { stdout, stderr, input, colour: host::wants_colour() }
    }

    /// Somebody is there to be asked.
    pub fn can_ask(&self) -> bool {
        self.input.is_some()
    }

    /// How many columns it has.
    pub fn width(&self) -> u16 {
        terminal_size::terminal_size_of(io::stderr())
            .or_else(|| terminal_size::terminal_size_of(io::stdout()))
            .map_or(80, |(width, _)| width.0)
    }

    /// What is typed is seen, or not: secrets are not.
    pub fn echo(&self, seen: bool) {
        let Some(input) = &self.input else { return };
        let Ok(mut modes) = tcgetattr(input) else { return };
        modes.local_modes.set(LocalModes::ECHO, seen);
        // A terminal that does not let us is no reason to stop.
        drop(tcsetattr(input, OptionalActions::Now, &modes));
    }
}

/// The lines that are typed from now on; nothing when the input is closed.
pub fn lines() -> mpsc::Receiver<Option<String>> {
    let (typed, lines) = mpsc::channel(1);
    // Reading a terminal cannot be given up, so it has a thread of its own, which ends with the program.
    thread::spawn(move || {
        let Ok(terminal) = File::open("/dev/tty") else { return };
        for line in BufReader::new(terminal).lines() {
            if line.is_err() || typed.blocking_send(line.ok()).is_err() {
                break;
            }
        }
        drop(typed.blocking_send(None));
    });
    lines
}
