//! The server under load, as steps of `test`. The test kit measures, in its own network namespace where possible.

use std::process::Command;

use anyhow::Context as _;

use crate::{
    isolation::NetworkIsolation,
    process::{build_directory, build_workspace, cargo_command, new_command, run_program},
    pypi::SCHEMATHESIS,
    steps::TestStepOutcome,
};

#[derive(Clone, Copy)]
pub enum BuildProfile {
    Debug,
    Release,
}

impl BuildProfile {
    fn build_programs(self) -> anyhow::Result<()> {
        let packages = ["build", "--quiet", "--package", "switchboard-cli", "--package", "switchboard-testkit"];
        match self {
            Self::Debug => build_workspace(),
            Self::Release => run_program(&mut cargo_command(&[&packages[..], &["--release"]].concat())),
        }
    }

    fn program_path(self, name: &str) -> std::path::PathBuf {
        build_directory().join(if matches!(self, Self::Release) { "release" } else { "debug" }).join(name)
    }

    /// Returns a `load` command of the test kit. It talks only to the server, so isolation is optional.
    fn load_command(self, case: &[&str]) -> Command {
        let (testkit, words) = (self.program_path("switchboard-testkit"), [&["load"], case].concat());
        let mut command = match NetworkIsolation::find() {
            Ok(isolation) => isolation.isolated_command(&testkit, &words),
            Err(_) => new_command(&testkit, &words),
        };
        command.arg("--switchboard").arg(self.program_path("switchboard"));
        command
    }
}

/// Runs cases in sequence.
pub fn run_cases(build: BuildProfile, cases: &[&[&str]]) -> anyhow::Result<()> {
    build.build_programs()?;
    cases.iter().try_for_each(|case| {
        run_program(&mut build.load_command(case)).with_context(|| format!("load {}", case.join(" ")))
    })
}

/// Runs requests generated from the server's OpenAPI description.
pub fn run_schema_checks(build: BuildProfile, options: &[&str]) -> anyhow::Result<TestStepOutcome> {
    let st = match SCHEMATHESIS.find() {
        Ok(st) => st,
        Err(why) => return Ok(TestStepOutcome::NotRun(why)),
    };
    build.build_programs()?;
    let mut command = build.load_command(&[&["schema"], options].concat());
    run_program(command.arg("--schemathesis").arg(st))?;
    Ok(TestStepOutcome::Passed)
}
