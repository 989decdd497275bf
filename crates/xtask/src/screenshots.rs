//! `screenshots`: pictures of each page and state.

use std::path::PathBuf;

use clap::Args;

use crate::{
    browser::release_command,
    process::{repository_root, run_program},
};

/// Take pictures of each page and state: light, dark, on a phone
///
/// Without a folder, only those that the README shows, into docs/screenshots. Look at them before you commit them.
#[derive(Args)]
pub struct ScreenshotsTask {
    /// Where to
    folder: Option<PathBuf>,
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
}

pub fn take_screenshots(args: &ScreenshotsTask) -> anyhow::Result<()> {
    let mut command = release_command(&["pictures", "--only", &args.only])?;
    match &args.folder {
        Some(folder) => command.arg("--folder").arg(std::path::absolute(folder)?),
        None => command.arg("--shown").arg("--folder").arg(repository_root().join("docs/screenshots")),
    };
    run_program(&mut command)
}
