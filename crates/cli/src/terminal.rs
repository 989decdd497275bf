//! The terminal, if there is one: size, colors and keyboard input.

use std::{
    fs::File,
    io::{self, BufRead as _, BufReader, IsTerminal as _, Write as _},
    thread,
};

use rustix::termios::{LocalModes, OptionalActions, QueueSelector, tcflush, tcgetattr, tcsetattr};
use tokio::sync::mpsc;

use crate::{failure::Failure, host};

/// Which standard streams are terminals.
pub struct Terminal {
    pub stdout: bool,
    pub stderr: bool,
    input: Option<File>,
    pub color: bool,
}

impl Terminal {
    pub fn new() -> Self {
        let (stdout, stderr) = (io::stdout().is_terminal(), io::stderr().is_terminal());
        // The prompt may come from standard input while the user is at the terminal.
        let input = if stdout || stderr { File::open("/dev/tty").ok() } else { None };
        Self { stdout, stderr, input, color: host::is_color_enabled() }
    }

    pub fn can_ask(&self) -> bool {
        self.input.is_some()
    }

    pub fn width(&self) -> u16 {
        terminal_size::terminal_size_of(io::stderr())
            .or_else(|| terminal_size::terminal_size_of(io::stdout()))
            .map_or(80, |(width, _)| width.0)
    }

    /// Returns the maximum width of a line of standard output, if that is a terminal. The last column stays free: some
    /// terminals break the line when it is written.
    pub fn max_line_width(&self) -> Option<usize> {
        self.stdout.then(|| usize::from(self.width()).saturating_sub(1))
    }

    pub fn height(&self) -> u16 {
        terminal_size::terminal_size_of(io::stdout()).map_or(24, |(_, height)| height.0)
    }

    /// Asks a yes-or-no question; anything but yes is a no.
    pub fn confirm(&self, question: &str) -> bool {
        let Some(input) = &self.input else { return false };
        let asked = write!(io::stderr(), "{question} [y/N] ").and_then(|()| io::stderr().flush());
        let mut line = String::new();
        let read = asked.and_then(|()| BufReader::new(input).read_line(&mut line));
        read.is_ok() && matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
    }

    /// Shows or hides what is typed, such as secrets.
    pub fn set_echo(&self, is_on: bool) {
        let Some(input) = &self.input else { return };
        let Ok(mut modes) = tcgetattr(input) else { return };
        modes.local_modes.set(LocalModes::ECHO, is_on);
        // The command continues if the terminal refuses.
        tcsetattr(input, OptionalActions::Now, &modes).ok();
    }
}

/// Lines typed at the terminal, read only on request: input from before a question is not an answer to it.
pub struct Keyboard {
    want: std::sync::mpsc::Sender<()>,
    lines: mpsc::Receiver<Option<String>>,
    is_wanted: bool,
}

impl Keyboard {
    pub fn new() -> Self {
        let ((want, wanted), (typed, lines)) = (std::sync::mpsc::channel(), mpsc::channel(1));
        // A read of a terminal cannot be cancelled, so it has its own thread, which ends with the program.
        thread::spawn(move || {
            let Ok(mut terminal) = File::open("/dev/tty").map(BufReader::new) else { return };
            while wanted.recv().is_ok() {
                let mut line = String::new();
                // Ctrl-D ends this answer, not later ones.
                let line = terminal.read_line(&mut line).is_ok_and(|length| length > 0).then_some(line);
                if typed.blocking_send(line).is_err() {
                    return;
                }
            }
        });
        Self { want, lines, is_wanted: false }
    }

    /// Discards what was typed so far, before a question is asked.
    pub fn discard_typed(&mut self, terminal: &Terminal) {
        if let Some(input) = &terminal.input {
            // The command continues if the terminal refuses.
            tcflush(input, QueueSelector::IFlush).ok();
        }
        if self.lines.try_recv().is_ok() {
            self.is_wanted = false;
        }
    }

    pub fn request_line(&mut self) {
        if !self.is_wanted {
            self.is_wanted = self.want.send(()).is_ok();
        }
    }

    /// Returns the requested line; `None` at the end of the input.
    pub async fn next_line(&mut self) -> Option<String> {
        let line = self.lines.recv().await.flatten();
        self.is_wanted = false;
        line
    }
}

/// Prints a message to standard error; a closed standard error is not an error.
pub fn print_note(text: &str) {
    drop(writeln!(io::stderr(), "{text}"));
}

pub fn print_output(text: &str) -> Result<(), Failure> {
    io::stdout().lock().write_all(text.as_bytes()).map_err(Failure::Output)
}
