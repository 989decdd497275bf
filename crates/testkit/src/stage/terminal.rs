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

/// Columns and rows: wide enough that nothing that a test looks for is folded.
pub const WIDE: (u16, u16) = (200, 50);

impl Terminal {
    /// A new terminal of so many columns and rows. It belongs to nobody yet.
    pub fn new(size: (u16, u16)) -> rustix::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let (ours, theirs) = (File::from(ours), File::from(theirs));
        resize(&ours, size)?;
        Ok(Self { ours, theirs })
    }
}

/// Gives a terminal another size.
pub fn resize(terminal: &File, (columns, rows): (u16, u16)) -> rustix::io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
}
