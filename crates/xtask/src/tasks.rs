//! Tasks that only start one program: `fmt`, `lint`, `snapshots`, `screenshots` and `stage`.

use std::path::PathBuf;

use anyhow::bail;
use clap::Args;

use crate::browser::release_command;
use crate::print_line;
use crate::process::{cargo_command, repository_root, run_program};
use crate::tools::AgentEnvironment;

/// Format all code
#[derive(Args)]
pub struct FmtTask {}

pub fn run_fmt(_: &FmtTask) -> anyhow::Result<()> {
    run_program(&mut cargo_command(&["fmt", "--all"]))
}

/// Check the format, and clippy without any warning
#[derive(Args)]
pub struct LintTask {}

pub fn run_lint(_: &LintTask) -> anyhow::Result<()> {
    run_program(&mut cargo_command(&["fmt", "--all", "--check"]))?;
    run_program(&mut cargo_command(&["clippy", "--workspace", "--all-targets", "--quiet", "--", "--deny", "warnings"]))
}

/// Write all snapshots anew; look at the difference before you commit it
#[derive(Args)]
pub struct SnapshotsTask {}

pub fn update_snapshots(_: &SnapshotsTask) -> anyhow::Result<()> {
    for (package, target, tests, update) in [
        ("switchboard-cli", "--test=it", "recordings::recordings_mean", "always"),
        ("switchboard-cli", "--test=it", "consumers::tables", "always"),
        ("switchboard-cli", "--bin=switchboard", "view::", "always"),
        // A changed dialect gets a new revision and its snapshot a new name, so none is overwritten.
        ("switchboard-dialects", "--lib", "test_sessions::what_changes", "unseen"),
    ] {
        let mut tests = cargo_command(&["test", "--quiet", "--package", package, target, "--", tests]);
        run_program(tests.env("INSTA_UPDATE", update))?;
    }
    print_line("written; `git diff` shows what changed");
    Ok(())
}

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

/// Run a program among the real agents, with a scripted model and without a network
///
/// Its working directory is an empty project, its home has the configuration that each agent needs. The end says what
/// the model was asked. What it answers is written in the prompt: crates/testkit/src/model/script.rs.
#[derive(Args)]
pub struct StageTask {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    command: Vec<String>,
}

pub fn run_on_stage(args: &StageTask) -> anyhow::Result<()> {
    match AgentEnvironment::find() {
        Ok(place) => run_program(place.command_for("switchboard-testkit", &["stage"])?.arg("--").args(&args.command)),
        Err(why) => bail!("NOT RUN: {why}"),
    }
}
