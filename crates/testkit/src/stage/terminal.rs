//! A pseudo terminal, so that a program can be tried as a person uses it.

use std::fs::File;

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

/// Both ends of a terminal.
pub struct Terminal {
    /// Where a person would sit.
    pub ours: File,
    /// Where the program is.
    pub theirs: File,
}

/// Wide enough that nothing that a test looks for is folded.
const SIZE: Winsize = Winsize { ws_row: 50, ws_col: 200, ws_xpixel: 0, ws_ypixel: 0 };

impl Terminal {
    /// A new terminal. It belongs to nobody yet.
    pub fn new() -> rustix::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        tcsetwinsize(&theirs, SIZE)?;
        Ok(Self { ours: File::from(ours), theirs: File::from(theirs) })
    }
}
