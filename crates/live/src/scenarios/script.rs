//! Scripts that span the steps of a turn, and subagents.

use anyhow::{Context as _, ensure};

use crate::trial::LiveTrial;

/// Every `[[then]]` answers the next request of the turn.
pub fn follow_steps(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let first = trial.cli.shell_directive("echo one > one.txt");
    let second = trial.cli.shell_directive("echo two > two.txt");
    let heard =
        trial.run_one_shot(&format!("{first} [[then]] [[text Now again.]] {second} [[then]] [[text Finished.]]"))?;
    for file in ["one.txt", "two.txt"] {
        trial.check_written(file).with_context(|| heard.ended.describe_output())?;
    }
    ensure!(heard.agent_text().ends_with("Finished."), "{:?}", heard.agent_text());
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1, 2]), "the model was asked {} times", asked.len());
    heard.check_usage(&asked)
}

/// A subagent gets its own script from within its caller's.
pub fn run_subagent(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let Some(delegate) = trial.cli.delegate else { anyhow::bail!("it has no subagents") };
    let task = delegate(&format!("{} go", trial.cli.shell_directive("echo below > below.txt")));
    let heard = trial.run_one_shot(&format!("{task} go"))?;
    trial.check_written("below.txt").with_context(|| heard.ended.describe_output())?;
    ensure!(heard.agent_text().contains("Done: "), "{:?}", heard.agent_text());
    Ok(())
}

/// An answer stops at `[[hold]]` and continues on release.
pub fn hold_answer(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = trial.start_one_shot("[[text before]] [[hold]] [[text after]]")?;
    let model = trial.stage.scripted_model();
    model.wait_for_request("the prompt", |request| request.is_conversation() && request.prompt.contains("[[hold]]"))?;
    model.release_hold();
    let heard = trial.end_one_shot(running)?;
    ensure!(heard.agent_text() == "before after", "{:?}\n{}", heard.agent_text(), heard.ended.describe_output());
    ensure!(model.conversation_requests().iter().all(|request| !request.abandoned), "an agent left before the end");
    Ok(())
}
