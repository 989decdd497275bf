//! A pseudo terminal, to test interactive use.

use std::fs::File;

use rustix::{
    pty::{OpenptFlags, grantpt, ioctl_tiocgptpeer, openpt, unlockpt},
    termios::{Winsize, tcsetwinsize},
};

pub struct PseudoTerminal {
    /// The user's end.
    pub ours: File,
    /// The program's end.
    pub theirs: File,
}

/// Columns and rows: wide enough that no expected text wraps.
pub const WIDE_TERMINAL_SIZE: (u16, u16) = (200, 50);

impl PseudoTerminal {
    /// Creates a terminal that is not yet a controlling one.
    pub fn new(size: (u16, u16)) -> rustix::io::Result<Self> {
        let flags = OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC;
        let ours = openpt(flags)?;
        grantpt(&ours)?;
        unlockpt(&ours)?;
        let theirs = ioctl_tiocgptpeer(&ours, flags)?;
        let (ours, theirs) = (File::from(ours), File::from(theirs));
        set_terminal_size(&ours, size)?;
        Ok(Self { ours, theirs })
    }
}

pub fn set_terminal_size(terminal: &File, (columns, rows): (u16, u16)) -> rustix::io::Result<()> {
    tcsetwinsize(terminal, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })
}
