//! Starting other programs, and what the environment says. The only place that does either.

use std::{
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use anyhow::{Context as _, ensure};

/// The top folder of the repository.
pub fn repository() -> PathBuf {
    [env!("CARGO_MANIFEST_DIR"), "..", ".."].iter().collect()
}

/// Cargo's build folder, wherever it is: this program was built into it.
pub fn build_folder() -> PathBuf {
    let here = std::env::current_exe().ok();
    let folder = here.as_deref().and_then(Path::parent).and_then(Path::parent).map(Path::to_owned);
    folder.unwrap_or_else(|| repository().join("target"))
}

/// A program in the repository's folder, not started yet.
#[expect(clippy::disallowed_methods, reason = "this is the one place that starts programs")]
pub fn program(name: impl AsRef<Path>, args: &[&str]) -> Command {
    let mut command = Command::new(name.as_ref());
    command.args(args).current_dir(repository());
    command
}

/// Cargo, not started yet.
pub fn cargo(args: &[&str]) -> Command {
    program("cargo", args)
}

/// The test kit as it is tested with, built and not started yet.
pub fn testkit(args: &[&str]) -> anyhow::Result<Command> {
    testkit_built("dev", "debug", args)
}

/// The test kit for long runs: slower to build, much faster then.
pub fn fast_testkit(args: &[&str]) -> anyhow::Result<Command> {
    testkit_built("soak", "soak", args)
}

fn testkit_built(profile: &str, folder: &str, args: &[&str]) -> anyhow::Result<Command> {
    match profile {
        "dev" => build()?,
        _ => run(&mut cargo(&["build", "--quiet", "--package", "switchboard-testkit", "--profile", profile]))?,
    }
    Ok(program(build_folder().join(folder).join("switchboard-testkit"), args))
}

/// Builds all programs of ours as the tests have them. A part of the workspace would be built anew for other features of
/// what it depends on, and each other part again: that took a third of all the time.
pub fn build() -> anyhow::Result<()> {
    run(&mut cargo(&["build", "--quiet", "--workspace", "--all-targets"]))
}

/// Runs a program to its end; fails if it does.
pub fn run(command: &mut Command) -> anyhow::Result<()> {
    let status = command.status().with_context(|| format!("cannot start {}", show(command)))?;
    ensure!(status.success(), "{} ended with {status}", show(command));
    Ok(())
}

/// What a program prints; fails if it does.
pub fn output(command: &mut Command) -> anyhow::Result<String> {
    let output =
        command.stderr(Stdio::inherit()).output().with_context(|| format!("cannot start {}", show(command)))?;
    ensure!(output.status.success(), "{} ended with {}", show(command), output.status);
    Ok(String::from_utf8(output.stdout)?)
}

/// The program is there and answers.
pub fn is_there(command: &mut Command) -> bool {
    command.stdout(Stdio::null()).stderr(Stdio::null()).status().is_ok_and(|status| status.success())
}

/// This runs unattended, where a check that was not made must not look like one that passed.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn is_unattended() -> bool {
    std::env::var("CI").is_ok_and(|value| value == "true" || value == "1")
}

/// Everything may be done on this machine.
pub fn is_root() -> bool {
    output(&mut program("id", &["-u"])).is_ok_and(|said| said.trim() == "0")
}

/// A folder with agents to use in place of the pinned ones.
#[expect(clippy::disallowed_methods, reason = "this is the one place that reads the environment")]
pub fn other_clis() -> Option<PathBuf> {
    std::env::var_os("SWITCHBOARD_CLIS").filter(|folder| !folder.is_empty()).map(PathBuf::from)
}

fn show(command: &Command) -> String {
    let words = std::iter::once(command.get_program()).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}
