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
    for (package, target, tests, update) in [
        ("switchboard-cli", "--test=it", "snapshots::recordings", "always"),
        ("switchboard-cli", "--test=it", "consumers::tables", "always"),
        ("switchboard-cli", "--bin=switchboard", "view::", "always"),
        // A dialect that changed gets another revision, and its snapshot another name: none is overwritten.
        ("switchboard-dialects", "--lib", "test_saved::what_changes", "unseen"),
    ] {
        let mut tests = cargo(&["test", "--quiet", "--package", package, target, "--", tests]);
        run_program(tests.env("INSTA_UPDATE", update))?;
    }
    say("written; `git diff` shows what changed");
    Ok(())
}
