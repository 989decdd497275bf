//! `switchboard token`: what lets programs in.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use switchboard_serve::guard::{BadToken, Token as Secret};

use crate::{failure::Failure, host};

/// The variable that overrides the token in the data folder.
const VARIABLE: &str = "SWITCHBOARD_TOKEN";

/// Maximum size of a file with a token.
const MAX_FILE_BYTES: u64 = 4096;

/// Print the token that `switchboard serve` asks for
///
/// Made if there is none yet. Programs send it as `Authorization: Bearer TOKEN`. Whoever has it can run agents, and with
/// them any command, as you.
#[derive(Args)]
pub struct Token {
    /// Where sessions are kept [default: the platform's data folder]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Make a new one: the old one lets nobody in any more, once running servers were started again
    #[arg(long)]
    pub new: bool,
}

/// Runs the command.
pub fn run(args: &Token) -> Result<(), Failure> {
    let folder = host::data_folder(args.data.clone())?;
    let token = if args.new { renew(&folder)? } else { of_server(&folder, None)? };
    writeln!(std::io::stdout(), "{}", token.expose()).map_err(Failure::Output)
}

fn renew(folder: &Path) -> Result<Secret, Failure> {
    if host::variable(VARIABLE).is_some() {
        let cause = format!("{VARIABLE} is set, and overrides the token of the data folder");
        return Err(Failure::BadValue { option: "--new", cause });
    }
    Ok(Secret::renew(folder)?)
}

/// The token of servers on a data folder: that of the environment, that of a file, or its own.
pub fn of_server(folder: &Path, file: Option<&Path>) -> Result<Secret, Failure> {
    match (host::variable(VARIABLE), file) {
        (Some(text), _) => Ok(Secret::new(&text, VARIABLE)?),
        (None, Some(file)) => read(file),
        (None, None) => Ok(Secret::of_folder(folder)?),
    }
}

/// The token in a file that was named, which may be anything: a pipe would be waited for.
fn read(file: &Path) -> Result<Secret, Failure> {
    let bytes = host::read_bounded(file, MAX_FILE_BYTES);
    let bytes = bytes.map_err(|cause| BadToken::File { path: file.to_owned(), cause })?;
    Ok(Secret::new(&String::from_utf8_lossy(&bytes), &file.display().to_string())?)
}
