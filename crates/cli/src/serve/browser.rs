//! Opening the page in a browser. The token is in a file that only this user can read, and not among the arguments,
//! which everybody on the machine can.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write as _},
    os::unix::fs::OpenOptionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use switchboard_engine::supervise::DETACH_MODE;
use switchboard_serve::{guard::Token, listen::Address};

use super::greeting;
use crate::data::Data;

/// What opens a file with the program that people like best.
const OPENER: &str = "xdg-open";

/// Opens the page, or says why not: the link is on the screen anyway.
pub fn open(addresses: &[Address], token: Option<&Token>, data: &Data) {
    let Some(link) = greeting::link(addresses, token) else { return };
    if let Err(error) = page(data.private_directory(), &link).and_then(|page| start(&page)) {
        drop(writeln!(io::stderr(), "  no browser could be opened: {error}"));
    }
}

/// A page that leads to the link, in a directory that sessions do not see.
fn page(folder: &Path, link: &str) -> io::Result<PathBuf> {
    let path = folder.join("open.html");
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
    // A link has nothing in it that would end an attribute: the token is encoded.
    writeln!(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0;url={link}\"><title>Switchboard</title>")?;
    Ok(path)
}

/// Starts the browser so that it is no descendant of ours: those belong to sessions.
#[expect(clippy::disallowed_methods, reason = "the browser is the user's: it stays when we go")]
fn start(page: &Path) -> io::Result<()> {
    let mut opener = Command::new("/proc/self/exe");
    opener.args([DETACH_MODE, OPENER]).arg(page).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let is_started = opener.status()?.success();
    if is_started { Ok(()) } else { Err(io::Error::other(format!("cannot run `{OPENER}`"))) }
}
