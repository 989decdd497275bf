//! Starts programs and reads the environment. No other module does either.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

pub fn repository_root() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}

/// Returns cargo's build directory, from the location of this program.
pub fn build_directory() -> PathBuf {
    let here = std::env::current_exe().ok();
    let folder = here.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned);
    folder.unwrap_or_else(|| repository_root().join("target"))
}

/// Returns a command in the repository directory.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs")]
pub fn new_command(name: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = Command::new(name.as_ref());
    command.args(args).current_dir(repository_root());
    command
}

pub fn cargo_command(args: &[&str]) -> Command {
    new_command("cargo", args)
}

/// Builds the test kit as in tests and returns a command.
pub fn testkit_command(args: &[&str]) -> anyhow::Result<Command> {
    build_testkit("dev", "debug", args)
}

/// Same with the `soak` profile: slower to build, much faster to run.
pub fn fast_testkit_command(args: &[&str]) -> anyhow::Result<Command> {
    build_testkit("soak", "soak", args)
}

fn build_testkit(profile: &str, folder: &str, args: &[&str]) -> anyhow::Result<Command> {
    match profile {
        "dev" => build_workspace()?,
        _ => run_program(&mut cargo_command(&[
            "build",
            "--quiet",
            "--package",
            "switchboard-testkit",
            "--profile",
            profile,
        ]))?,
    }
    Ok(new_command(build_directory().join(folder).join("switchboard-testkit"), args))
}

/// Builds the whole workspace. Building parts of it would rebuild dependencies with other features each time, which
/// took a third of all the time.
pub fn build_workspace() -> anyhow::Result<()> {
    run_program(&mut cargo_command(&["build", "--quiet", "--workspace", "--all-targets"]))
}

/// Runs a program to its end and checks its status.
pub fn run_program(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", command_line(command)))?;
    ensure!(status.success(), "{} ended with {status}", command_line(command));
    Ok(())
}

/// Returns the output of a program and checks its status.
pub fn read_output(command: &mut Command) -> anyhow::Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {}", command_line(command)))?;
    ensure!(output.status.success(), "{} ended with {}", command_line(command), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// Returns whether the command succeeds.
pub fn is_available(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// Returns whether this runs in CI, where a skipped check must not look like a passed one.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn is_unattended() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

pub fn is_root() -> bool {
    read_output(&mut new_command("id", &["-u"])).is_ok_and(|said| said.trim() == "0")
}

/// Returns a directory with agents to use instead of the pinned ones.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn clis_override() -> Option<PathBuf> {
    std::env::var_os("SWITCHBOARD_CLIS").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

/// Returns a NATS server to use instead of the pinned one.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn nats_server_override() -> Option<PathBuf> {
    std::env::var_os("SWITCHBOARD_NATS_SERVER").filter(|program| !program.is_empty()).map(PathBuf::from)
}

fn command_line(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
