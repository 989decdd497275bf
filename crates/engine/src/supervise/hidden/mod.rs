//! The hidden modes of the program: plain, single-threaded and small, since they stay for as long as an agent runs or
//! become it. Not to be called by people.

mod detach;
mod exec;
mod family;
mod init;
mod supervisor;

use std::{ffi::OsString, process::ExitCode};

/// The mode that stays between us and an agent.
pub const SUPERVISE: &str = "__supervise";

/// The mode that is the first process of a confined session.
pub const INIT: &str = "__init";

/// The mode that becomes the agent.
pub const EXEC: &str = "__exec";

/// The mode that starts a program which does not belong to a session.
pub const DETACH: &str = "__detach";

/// The mode that ends at once: it only shows that a process could be started.
pub const NOTHING: &str = "__nothing";

/// Runs a hidden mode, if the program's arguments (without its name) ask for one. To be called before anything else,
/// above all before there is a second thread.
pub fn hidden_mode(mut args: impl Iterator<Item = OsString>) -> Option<ExitCode> {
    let mode = args.next()?;
    match mode.to_str()? {
        SUPERVISE => Some(supervisor::run(&args.next().unwrap_or_default(), args.next().is_some())),
        INIT => Some(init::run()),
        EXEC => Some(exec::run(args.next()?.to_str()?.parse().ok()?, args.next())),
        NOTHING => Some(ExitCode::SUCCESS),
        DETACH => Some(detach::run(args)),
        _ => None,
    }
}
