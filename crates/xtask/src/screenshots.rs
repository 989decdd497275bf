//! `screenshots`: what each page and state looks like.

use std::path::PathBuf;

use clap::Args;

use crate::{
    browser::released,
    process::{repository, run as run_program},
};

/// Take pictures of each page and state: light, dark, on a phone
///
/// Without a folder, only those that the README shows, into docs/screenshots. Look at them before you commit them.
#[derive(Args)]
pub struct Screenshots {
    /// Where to
    folder: Option<PathBuf>,
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
}

/// Runs the command.
pub fn run(args: &Screenshots) -> anyhow::Result<()> {
    let mut command = released(&["pictures", "--only", &args.only])?;
    match &args.folder {
        Some(folder) => command.arg("--folder").arg(std::path::absolute(folder)?),
        None => command.arg("--shown").arg("--folder").arg(repository().join("docs/screenshots")),
    };
    run_program(&mut command)
}
