//! What an agent asks: declined when nobody is there, allowed by a rule, answered by a person.

use anyhow::ensure;
use switchboard_event::{Decider, EndReason, Outcome};

use crate::trial::Trial;

/// With nobody there the answer is no, which the agent hears and everybody can read.
pub fn nobody(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.run(&format!("{} go", trial.cli.shell("touch made.txt")), &["--approval", "ask"])?;
    heard.session()?;
    heard.is_closed()?;
    ensure!(!trial.stage.project().join("made.txt").exists(), "it ran\n{}", heard.ended.shown());
    let resolutions = heard.resolutions();
    let [resolved] = resolutions.as_slice() else { anyhow::bail!("{resolutions:?}\n{}", heard.ended.shown()) };
    ensure!(resolved.outcome == Outcome::Declined && resolved.by == Decider::Policy, "{resolved:?}");
    ensure!(heard.notices().contains("nobody is there to ask"), "{:?}", heard.notices());
    heard.ends(0, EndReason::Completed)?;
    Ok(())
}

/// A tool that is allowed by its kind runs, and nobody is asked; another is not.
pub fn allowed(trial: &Trial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project().join("written.txt");
    let calls = [trial.cli.shell("touch made.txt"), trial.cli.write(&file, "text\n")].join(" [[then]] ");
    let heard = trial.run(&format!("{calls} go"), &["--approval", "ask", "--allow-tool", "command"])?;
    heard.ends(0, EndReason::Completed)?;
    ensure!(trial.stage.project().join("made.txt").exists(), "it did not run\n{}", heard.ended.shown());
    ensure!(!file.exists(), "it was written\n{}", heard.ended.shown());
    let declined = heard.resolutions().iter().filter(|resolved| resolved.outcome == Outcome::Declined).count();
    ensure!(declined == 1, "{:?}", heard.resolutions());
    Ok(())
}

/// A tool that is blocked by its kind does not run, whatever else is allowed.
pub fn blocked(trial: &Trial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all", "--block-tool", "command"];
    let heard = trial.run(&format!("{} go", trial.cli.shell("touch made.txt")), &flags)?;
    ensure!(!trial.stage.project().join("made.txt").exists(), "it ran\n{}", heard.ended.shown());
    heard.is_closed()
}

/// A person on a terminal says yes and no.
pub fn person(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (yes, no) = (trial.cli.shell("touch allowed.txt"), trial.cli.shell("touch declined.txt"));
    let prompt = format!("{yes} [[then]] {no} [[then]] [[text finished]]");
    let (data, made) = (trial.stage.data(), |file: &str| trial.stage.project().join(file).exists());
    let args = ["run", trial.cli.name, &prompt, "--approval", "ask", "--data", &data.to_string_lossy()];
    let mut running = trial.stage.on_terminal(trial.switchboard, &args)?;
    running.wait_for("a question", is_asked)?;
    ensure!(!made("allowed.txt"), "it ran before it was allowed");
    let seen = running.stdout().len();
    running.say("y\n")?;
    running.wait_for("another question", |shown| shown.get(seen..).is_some_and(is_asked))?;
    ensure!(made("allowed.txt") && !made("declined.txt"), "{}", running.stdout());
    running.say("n\n")?;
    let ended = running.end()?;
    ensure!(ended.code == Some(0) && !made("declined.txt"), "{}", ended.shown());
    Ok(())
}

/// The keys are offered.
fn is_asked(shown: &str) -> bool {
    shown.contains("[n] decline")
}

/// A terminal that goes away is no yes.
pub fn hangs_up(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (data, prompt) = (trial.stage.data(), format!("{} go", trial.cli.shell("touch made.txt")));
    let args = ["run", trial.cli.name, &prompt, "--approval", "ask", "--data", &data.to_string_lossy()];
    let mut running = trial.stage.on_terminal(trial.switchboard, &args)?;
    running.wait_for("a question", is_asked)?;
    // Ctrl-D at the beginning of a line.
    running.say("\u{4}")?;
    let ended = running.end()?;
    ensure!(!trial.stage.project().join("made.txt").exists(), "it ran\n{}", ended.shown());
    Ok(())
}
