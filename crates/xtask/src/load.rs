//! The server under load, as steps: the test kit does the work, on a network of its own where there can be one.

use std::process::Command;

use anyhow::Context as _;

use crate::{
    isolation::Isolation,
    process::{build, build_folder, cargo, program, run},
    schemathesis,
    steps::Outcome,
};

/// A build of the programs.
#[derive(Clone, Copy)]
pub enum Build {
    /// For tests.
    Debug,
    /// For figures.
    Release,
}

impl Build {
    /// Builds them.
    fn make(self) -> anyhow::Result<()> {
        let packages = ["build", "--quiet", "--package", "switchboard-cli", "--package", "switchboard-testkit"];
        match self {
            Self::Debug => build(),
            Self::Release => run(&mut cargo(&[&packages[..], &["--release"]].concat())),
        }
    }

    fn program(self, name: &str) -> std::path::PathBuf {
        build_folder().join(if matches!(self, Self::Release) { "release" } else { "debug" }).join(name)
    }

    /// `load` of the test kit with our program, not started yet. Nobody but the server is talked to, so a network of
    /// one's own is good to have and no more.
    fn load(self, case: &[&str]) -> Command {
        let (testkit, words) = (self.program("switchboard-testkit"), [&["load"], case].concat());
        let mut command = match Isolation::find() {
            Ok(isolation) => isolation.program(&testkit, &words),
            Err(_) => program(&testkit, &words),
        };
        command.arg("--switchboard").arg(self.program("switchboard"));
        command
    }
}

/// Some cases, one after the other; each says what it found.
pub fn cases(build: Build, cases: &[&[&str]]) -> anyhow::Result<()> {
    build.make()?;
    cases.iter().try_for_each(|case| run(&mut build.load(case)).with_context(|| format!("load {}", case.join(" "))))
}

/// Requests made from the server's own description.
pub fn schema(build: Build, options: &[&str]) -> anyhow::Result<Outcome> {
    let st = match schemathesis::find() {
        Ok(st) => st,
        Err(why) => return Ok(Outcome::NotRun(why)),
    };
    build.make()?;
    let mut command = build.load(&[&["schema"], options].concat());
    run(command.arg("--schemathesis").arg(st))?;
    Ok(Outcome::Passed)
}
