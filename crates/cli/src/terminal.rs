//! The terminal, if there is one: its width, its colours, and what is typed.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _},
    thread,
};

use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use crate::host;

/// What of our input and output is a terminal.
pub struct Terminal {
    /// Standard output is.
    pub stdout: bool,
    /// Standard error is.
    pub stderr: bool,
    /// The terminal to read from, if there is one.
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

    /// Returns whether the user can be asked.
    pub fn can_ask(&self) -> bool {
        self.input.is_some()
    }

    /// How many columns it has.
    pub fn width(&self) -> u16 {
        terminal_size::terminal_size_of(io::stderr())
            .or_else(|| terminal_size::terminal_size_of(io::stdout()))
            .map_or(80, |(width, _)| width.0)
    }

    /// How many columns a line of standard output has at most, if it is a terminal. The last column stays free: some
    /// terminals break the line when it is written.
    pub fn room(&self) -> Option<usize> {
        self.stdout.then(|| usize::from(self.width()).saturating_sub(1))
    }

    /// How many lines it has.
    pub fn height(&self) -> u16 {
        terminal_size::terminal_size_of(io::stdout()).map_or(24, |(_, height)| height.0)
    }

    /// Asks a question to which everything but yes means no.
    pub fn confirms(&self, question: &str) -> bool {
        let Some(input) = &self.input else { return false };
        let asked = write!(io::stderr(), "{question} [y/N] ").and_then(|()| io::stderr().flush());
        let mut line = String::new();
        let read = asked.and_then(|()| BufReader::new(input).read_line(&mut line));
        read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
    }

    /// What is typed is seen, or not: secrets are not.
    pub fn echo(&self, seen: bool) {
        let Some(input) = &self.input else { return };
        let Ok(mut modes) = tcgetattr(input) else { return };
        modes.local_modes.set(LocalModes::ECHO, seen);
        // A terminal that does not let us is no reason to stop.
        tcsetattr(input, OptionalActions::Now, &modes).ok();
    }
}

/// Lines typed at the terminal, read only on request: what was typed before a question was on the
/// screen is no answer to it.
pub struct Keyboard {
    want: std::sync::mpsc::Sender<()>,
    lines: mpsc::Receiver<Option<String>>,
    is_wanted: bool,
}

impl Keyboard {
    /// Begins to listen.
    pub fn new() -> Self {
        let ((want, wanted), (typed, lines)) = (std::sync::mpsc::channel(), mpsc::channel(1));
        // Reading a terminal cannot be given up, so it has a thread of its own, which ends with the program.
        thread::spawn(move || {
            let Ok(mut terminal) = File::open("/dev/tty").map(BufReader::new) else { return };
            while wanted.recv().is_ok() {
                let mut line = String::new();
                // Nothing is read at Ctrl-D, which ends this answer and not the ones to come.
                let line = terminal.read_line(&mut line).is_ok_and(|length| length > 0).then_some(line);
                if typed.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { want, lines, is_wanted: false }
    }

    /// A question is about to be asked: what was typed so far does not count.
    pub fn forget(&mut self, terminal: &Terminal) {
        if let Some(input) = &terminal.input {
            // A terminal that does not let us is no reason to stop.
            tcflush(input, QueueSelector::IFlush).ok();
        }
        if self.lines.try_recv().is_ok() {
            self.is_wanted = false;
        }
    }

    /// A line is wanted.
    pub fn want(&mut self) {
        if !self.is_wanted {
            self.is_wanted = self.want.send(()).is_ok();
        }
    }

    /// The line that was wanted; nothing when there is none to come.
    pub async fn line(&mut self) -> Option<String> {
        let line = self.lines.recv().await.flatten();
        self.is_wanted = false;
        line
    }
}
