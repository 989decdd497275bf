//! `snapshots`: rewrites the snapshots of recordings.

use clap::Args;

use crate::{
    print_line,
    process::{cargo_command, run_program},
};

/// Write all snapshots anew; look at the difference before you commit it
#[derive(Args)]
pub struct SnapshotsTask {}

pub fn update_snapshots(_: &SnapshotsTask) -> anyhow::Result<()> {
    for (package, target, tests, update) in [
        ("switchboard-cli", "--test=it", "snapshots::recordings", "always"),
        ("switchboard-cli", "--test=it", "consumers::tables", "always"),
        ("switchboard-cli", "--bin=switchboard", "view::", "always"),
        // A changed dialect gets a new revision and its snapshot a new name, so none is overwritten.
        ("switchboard-dialects", "--lib", "test_saved::what_changes", "unseen"),
    ] {
        let mut tests = cargo_command(&["test", "--quiet", "--package", package, target, "--", tests]);
        run_program(tests.env("INSTA_UPDATE", update))?;
    }
    print_line("written; `git diff` shows what changed");
    Ok(())
}
