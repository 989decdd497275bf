//! A list of named steps: each is tried, whatever became of those before it, and the end says how all of them fared.

use std::time::Instant;

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
    let (mut passed, mut failed, mut not_run, mut times) = (0, Vec::new(), Vec::new(), Vec::new());
    for step in steps {
        say(&format!("── {}", step.name));
        let begun = Instant::now();
        let outcome = (step.run)();
        times.push((begun.elapsed(), step.name));
        match outcome {
            Ok(Outcome::Passed) => passed += 1,
            Ok(Outcome::NotRun(why)) => not_run.push(format!("{}: {why}", step.name)),
            Err(error) => failed.push(format!("{}: {error:#}", step.name)),
        }
    }
    say("──");
    times.iter().for_each(|(time, step)| say(&format!("{:6.1} s  {step}", time.as_secs_f64())));
    failed.iter().for_each(|step| say(&format!("FAILED   {step}")));
    not_run.iter().for_each(|step| say(&format!("NOT RUN  {step}")));
    let failures = failed.len() + if process::is_unattended() { not_run.len() } else { 0 };
    say(&format!("{passed} passed, {failures} failed"));
    if failures > 0 {
        bail!("not all steps passed");
    }
    Ok(())
}
