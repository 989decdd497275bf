//! Named steps: each runs regardless of the others, and a summary follows.

use std::time::Instant;

use anyhow::bail;

use crate::{print_line, process};

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
    let failures = failed.len() + if process::is_unattended() { not_run.len() } else { 0 };
    print_line(&format!("{passed} passed, {failures} failed"));
    if failures > 0 {
        bail!("not all steps passed");
    }
    Ok(())
}
