//! The role of an agent that tries to write, in all the ways there are.

use std::{
    fs::{self, File},
    io::{self, Write as _},
    os::unix::{
        fs::{OpenOptionsExt as _, symlink},
        net::UnixListener,
    },
};

use super::say;

/// Tries each of `WAY:PATH` or `WAY:PATH:PATH`, and says what came of it.
pub fn attempt(attempts: &[&str]) {
    for attempt in attempts {
        let mut parts = attempt.split(':');
        let mut part = || parts.next().unwrap_or_default();
        match perform(part(), part(), part()) {
            Ok(()) => say(&format!("{attempt} done")),
            Err(error) => say(&format!("{attempt} {:?}", error.kind())),
        }
    }
}

fn perform(way: &str, path: &str, other: &str) -> io::Result<()> {
    match way {
        "read" => fs::read(path).map(drop),
        "list" => fs::read_dir(path).map(drop),
        "create" => File::create_new(path).map(drop),
        "append" => File::options().append(true).open(path)?.write_all(b"more"),
        "truncate" => truncate(path),
        "rename" => fs::rename(path, other),
        "link" => fs::hard_link(path, other),
        "symlink" => symlink(path, other),
        "unlink" => fs::remove_file(path),
        "mkdir" => fs::create_dir(path),
        "rmdir" => fs::remove_dir(path),
        "socket" => UnixListener::bind(path).map(drop),
        "write" => File::options().write(true).open(path)?.write_all(b"x"),
        _ => Err(io::ErrorKind::InvalidInput.into()),
    }
}

/// Empties a file without a right to write to it: who opens it for reading may ask for that.
fn truncate(path: &str) -> io::Result<()> {
    const O_TRUNC: i32 = 0o1000;
    File::options().read(true).custom_flags(O_TRUNC).open(path).map(drop)
}
