//! `snapshots`: what recordings mean, written anew.

use clap::Args;

use crate::{
    process::{cargo, run as run_program},
    say,
};

/// Write all snapshots anew; look at the difference before you commit it
#[derive(Args)]
pub struct Snapshots {}

/// Runs the command.
pub fn run(_: &Snapshots) -> anyhow::Result<()> {
    for tests in [["--test", "it", "--", "snapshots::recordings"], ["--bin", "switchboard", "--", "view::"]] {
        let mut tests = cargo(&[&["test", "--quiet", "--package", "switchboard-cli"], tests.as_slice()].concat());
        run_program(tests.env("INSTA_UPDATE", "always"))?;
    }
    say("written; `git diff` shows what changed");
    Ok(())
}
