//! `__detach`: starts a program of the user that stays when we go, and ends at once, so that the program is no
//! descendant of ours.

use std::{
    ffi::OsString,
    os::unix::process::CommandExt as _,
    process::{Command, ExitCode},
};

/// Starts the program that the arguments name, in a process group of its own.
#[expect(clippy::disallowed_methods, reason = "the program is the user's own")]
pub fn run(mut args: impl Iterator<Item = OsString>) -> ExitCode {
    let started = args.next().map(|program| Command::new(program).args(args).process_group(0).spawn());
    if matches!(started, Some(Ok(_))) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
