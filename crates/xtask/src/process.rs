//! Starts programs and reads the environment; no other module does either. Also named steps with a summary, and the
//! selection of scenarios.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use clap::Args;

use crate::print_line;

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
fn is_unattended() -> bool {
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

pub struct TestStep {
    pub name: &'static str,
    pub run: fn() -> anyhow::Result<TestStepOutcome>,
}

/// The result of a step that did not fail.
pub enum TestStepOutcome {
    Passed,
    /// It cannot run here, with the reason.
    NotRun(String),
}

/// Runs all steps and fails if one failed. In CI, a skipped step is a failure too.
pub fn run_steps(steps: &[TestStep]) -> anyhow::Result<()> {
    let (mut passed, mut failed, mut not_run, mut times) = (0, Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        print_line(&format!("── {}", step.name));
        let begun = Instant::now();
        let outcome = (step.run)();
        times.push((begun.elapsed(), step.name));
        match outcome {
            Ok(TestStepOutcome::Passed) => passed += 1,
            Ok(TestStepOutcome::NotRun(why)) => not_run.push(format!("{}: {why}", step.name)),
            Err(error) => failed.push(format!("{}: {error:#}", step.name)),
        }
    }
    print_line("──");
    times.iter().for_each(|(time, step)| print_line(&format!("{:6.1} s  {step}", time.as_secs_f64())));
    failed.iter().for_each(|step| print_line(&format!("FAILED   {step}")));
    not_run.iter().for_each(|step| print_line(&format!("NOT RUN  {step}")));
    let failures = failed.len() + if is_unattended() { not_run.len() } else { 0 };
    print_line(&format!("{passed} passed, {failures} failed"));
    if failures > 0 {
        bail!("not all steps passed");
    }
    Ok(())
}

/// Which, and how many at a time.
#[derive(Args)]
pub struct ScenarioSelection {
    /// Only those with this in their name
    #[arg(long, default_value = "")]
    only: String,
    /// How many at a time
    #[arg(long, default_value_t = 2)]
    jobs: usize,
}

impl ScenarioSelection {
    pub fn all_with_jobs(jobs: usize) -> Self {
        Self { only: String::new(), jobs }
    }

    /// Scenarios whose name contains a text, `jobs` at a time.
    pub fn matching(name: &str, jobs: usize) -> Self {
        Self { only: name.to_owned(), jobs }
    }

    /// Returns the arguments for a scenario program.
    pub fn to_args(&self) -> [String; 4] {
        ["--only".to_owned(), self.only.clone(), "--jobs".to_owned(), self.jobs.to_string()]
    }

    /// Runs the scenarios; a skipped run is an error.
    pub fn run_or_fail(&self, run: impl FnOnce(&Self) -> anyhow::Result<TestStepOutcome>) -> anyhow::Result<()> {
        match run(self)? {
            TestStepOutcome::Passed => Ok(()),
            TestStepOutcome::NotRun(why) => bail!("NOT RUN: {why}"),
        }
    }
}
