//! A screen of its own for pictures that are drawn again and again.
//!
//! It is the terminal's alternate screen. On the usual one a picture cannot be found again once the terminal has another
//! width: some terminals break its lines anew and some do not, so its beginning is unknown. The alternate
//! screen is never broken anew, and a picture begins in its corner.

use std::{
    io::{self, Read as _, Write as _},
    os::unix::net::UnixStream,
    thread,
};

use signal_hook::{
    consts::{SIGSTOP, SIGTSTP},
    low_level::{pipe, raise},
};

use crate::failure::Failure;

/// Without a cursor, and without breaking lines: terminals do not agree how wide every character is.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";
const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// The screen. When it goes, what was there before comes back.
pub struct Screen {
    /// The last picture.
    picture: String,
    /// The terminal was given back. To do that twice would put the cursor where it was in the beginning.
    is_left: bool,
}

impl Screen {
    /// Takes the terminal's place.
    pub fn enter() -> Result<Self, Failure> {
        write(ENTER)?;
        step_aside_when_stopped();
        Ok(Self { picture: String::new(), is_left: false })
    }

    /// Shows these lines and nothing else.
    pub fn draw(&mut self, lines: &[String]) -> Result<(), Failure> {
        self.picture = lines.join("\n");
        // What is longer than the new picture is erased behind it, so that nothing flickers.
        let text = lines.join("\x1b[K\r\n");
        write(&format!("\x1b[H{text}\x1b[K\x1b[J"))
    }

    /// Gives the terminal back, with the last picture to keep.
    pub fn leave(&mut self) -> Result<(), Failure> {
        self.is_left = true;
        write(&format!("{LEAVE}{}\n", self.picture))
    }
}

impl Drop for Screen {
    fn drop(&mut self) {
        if !self.is_left {
            // It ended badly; a terminal that is gone needs nothing.
            drop(write(LEAVE));
        }
    }
}

/// Ctrl-Z gives the terminal back until the program goes on; then the next picture is drawn. Where that cannot be heard,
/// the shell is left with this screen.
fn step_aside_when_stopped() {
    let Ok((mut heard, told)) = UnixStream::pair() else { return };
    if pipe::register(SIGTSTP, told).is_err() {
        return;
    }
    thread::spawn(move || {
        while heard.read_exact(&mut [0]).is_ok() {
            // Nothing is drawn in between.
            let mut out = io::stdout().lock();
            let stopped = out.write_all(LEAVE.as_bytes()).and_then(|()| out.flush()).and_then(|()| raise(SIGSTOP));
            drop(stopped.and_then(|()| out.write_all(ENTER.as_bytes())));
        }
    });
}

fn write(text: &str) -> Result<(), Failure> {
    let mut out = io::stdout().lock();
    out.write_all(text.as_bytes()).and_then(|()| out.flush()).map_err(Failure::Output)
}
