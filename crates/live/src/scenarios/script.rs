//! What only shows with real agents: that a script is followed over the steps of a turn, and by subagents.

use anyhow::ensure;

use crate::trial::Trial;

/// Every `[[then]]` answers the next request of the turn.
pub fn steps(trial: &Trial<'_>) -> anyhow::Result<()> {
    let first = trial.cli.shell("echo one > one.txt");
    let second = trial.cli.shell("echo two > two.txt");
    let heard =
        trial.one_shot(&format!("{first} [[then]] [[text Now again.]] {second} [[then]] [[text Finished.]]"))?;
    for file in ["one.txt", "two.txt"] {
        ensure!(trial.stage.project().join(file).exists(), "no {file}\n{}", heard.ended.shown());
    }
    ensure!(heard.text().ends_with("Finished."), "{:?}", heard.text());
    let asked = trial.stage.model().conversation();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1, 2]), "the model was asked {} times", asked.len());
    heard.is_what_the_model_used(&asked)
}

/// A subagent gets its own script, inside of that of its caller.
pub fn subagent(trial: &Trial<'_>) -> anyhow::Result<()> {
    let Some(delegate) = trial.cli.delegate else { anyhow::bail!("it has no subagents") };
    let task = delegate(&format!("{} go", trial.cli.shell("echo below > below.txt")));
    let heard = trial.one_shot(&format!("{task} go"))?;
    ensure!(trial.stage.project().join("below.txt").exists(), "it did not run\n{}", heard.ended.shown());
    ensure!(heard.text().contains("Done: "), "{:?}", heard.text());
    Ok(())
}

/// An answer stops where the script says, and goes on when the test does.
pub fn hold(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = trial.stage.one_shot(trial.cli, "[[text before]] [[hold]] [[text after]]")?;
    let model = trial.stage.model();
    model.wait_for("the prompt", |request| request.is_conversation() && request.prompt.contains("[[hold]]"))?;
    model.release();
    let heard = trial.translated(running.end()?)?;
    ensure!(heard.text() == "before after", "{:?}\n{}", heard.text(), heard.ended.shown());
    ensure!(model.conversation().iter().all(|request| !request.abandoned), "an agent left before the end");
    Ok(())
}
