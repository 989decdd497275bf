//! A list of named steps: each is tried, whatever became of those before it, and the end says how all of them fared.

use anyhow::bail;

use crate::{process, say};

/// One thing to do.
pub struct Step {
    /// What it is.
    pub name: &'static str,
    /// Does it.
    pub run: fn() -> anyhow::Result<Outcome>,
}

/// How a step fared, if it did not fail.
pub enum Outcome {
    /// It was done.
    Passed,
    /// It could not be done here, and why.
    NotRun(String),
}

/// Does all steps, and fails if one of them did. Unattended, one that could not be done is a failure too.
pub fn run(steps: &[Step]) -> anyhow::Result<()> {
    let (mut passed, mut failed, mut not_run) = (0, Vec::new(), Vec::new());
    for step in steps {
        say(&format!("── {}", step.name));
        match (step.run)() {
            Ok(Outcome::Passed) => passed += 1,
            Ok(Outcome::NotRun(why)) => not_run.push(format!("{}: {why}", step.name)),
            Err(error) => failed.push(format!("{}: {error:#}", step.name)),
        }
    }
    say("──");
    failed.iter().for_each(|step| say(&format!("FAILED   {step}")));
    not_run.iter().for_each(|step| say(&format!("NOT RUN  {step}")));
    let failures = failed.len() + if process::is_unattended() { not_run.len() } else { 0 };
    say(&format!("{passed} passed, {failures} failed"));
    if failures > 0 {
        bail!("not all steps passed");
    }
    Ok(())
}
