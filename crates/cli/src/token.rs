//! `switchboard token`: the token of servers.

use std::{
    io::Write as _,
    path::{Path, PathBuf},
};

use clap::Args;
use switchboard_serve::guard::{AccessToken, TokenError};

use crate::{failure::Failure, host};

/// The environment variable that overrides the token in the data directory.
pub const TOKEN_VARIABLE: &str = "SWITCHBOARD_TOKEN";

const MAX_FILE_BYTES: u64 = 4096;

/// Print the token of `switchboard serve`
///
/// Generates one if there is none. Programs send it as `Authorization: Bearer TOKEN`. Anyone who has it can run agents,
/// and through them any command, as you.
#[derive(Args)]
pub struct TokenArgs {
    /// Directory where sessions are stored [default: the platform's data directory]
    #[arg(long, value_name = "DIR")]
    pub data: Option<PathBuf>,
    /// Generate a new token. Running servers pick it up after a restart
    #[arg(long)]
    pub new: bool,
}

pub fn run(args: &TokenArgs) -> Result<(), Failure> {
    let folder = host::data_directory(args.data.clone())?;
    let token = if args.new { renew_token(&folder)? } else { resolve_server_token(&folder, None)? };
    writeln!(std::io::stdout(), "{}", token.expose()).map_err(Failure::Output)
}

fn renew_token(folder: &Path) -> Result<AccessToken, Failure> {
    if host::env_variable(TOKEN_VARIABLE).is_some() {
        let cause = format!("{TOKEN_VARIABLE} is set, and overrides the token of the data folder");
        return Err(Failure::BadValue { option: "--new", cause });
    }
    Ok(AccessToken::renew(folder)?)
}

/// Returns the token of a server: from the environment, from a file, or from the data directory.
pub fn resolve_server_token(folder: &Path, file: Option<&Path>) -> Result<AccessToken, Failure> {
    match (host::env_variable(TOKEN_VARIABLE), file) {
        (Some(text), _) => Ok(AccessToken::new(&text, TOKEN_VARIABLE)?),
        (None, Some(file)) => read_token_file(file),
        (None, None) => Ok(AccessToken::load_or_create(folder)?),
    }
}

/// Reads a token file. The read is bounded, as the file may be a pipe.
pub fn read_token_file(file: &Path) -> Result<AccessToken, Failure> {
    let bytes = host::read_bounded(file, MAX_FILE_BYTES);
    let bytes = bytes.map_err(|cause| TokenError::File { path: file.to_owned(), cause })?;
    Ok(AccessToken::new(&String::from_utf8_lossy(&bytes), &file.display().to_string())?)
}
