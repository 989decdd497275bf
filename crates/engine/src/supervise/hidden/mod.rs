//! The hidden modes of the program: plain, single-threaded and small, since they stay for as long as an agent runs or
//! become it. Not to be called by people.

mod exec;
mod family;
mod supervisor;

use std::{ffi::OsString, process::ExitCode};

/// The mode that stays between us and an agent.
pub const SUPERVISE: &str = "__supervise";

/// The mode that becomes the agent.
pub const EXEC: &str = "__exec";

/// Runs a hidden mode, if the program's arguments (without its name) ask for one. To be called before anything else,
/// above all before there is a second thread.
pub fn hidden_mode(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mode = args.next()?;
    match mode.to_str()? {
        SUPERVISE => Some(supervisor::run(args.next().unwrap_or_default())),
        EXEC => Some(exec::run(args.next()?.to_str()?.parse().ok()?)),
        _ => None,
    }
}
