//! The agents alone, started with one prompt, and what Switchboard makes of what they print: the scripted model is
//! understood by all of them, and all of them are understood by us.

use anyhow::ensure;
use switchboard_event::{ChangeKind, EndReason, Status, TurnStatus};

use crate::trial::Trial;

/// A text arrives as it was said, and its cost.
pub fn text(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.one_shot("[[text héllo wörld 漢字]] please")?;
    ensure!(heard.text() == "héllo wörld 漢字", "{:?}\n{}", heard.text(), heard.ended.shown());
    ensure!(heard.ended.code == Some(0), "{}", heard.ended.shown());
    ensure!(heard.turn()?.status == TurnStatus::Completed, "{:?}", heard.turn()?);
    let asked = trial.stage.model().conversation();
    ensure!(asked.len() == 1, "the model was asked {} times", asked.len());
    heard.is_what_the_model_used(&asked)
}

/// A command runs, its output is told, and the model hears of it.
pub fn command(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.one_shot(&format!("{} go", trial.cli.shell("echo made > made.txt; echo printed")))?;
    ensure!(trial.stage.project().join("made.txt").exists(), "it did not run\n{}", heard.ended.shown());
    let commands = heard.commands();
    let [(Status::Completed, command)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(command.command.contains("echo printed") && command.output.contains("printed"), "{command:?}");
    ensure!(heard.text().contains("Done: printed"), "{:?}", heard.text());
    let asked = trial.stage.model().conversation();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1]), "the model was asked {} times", asked.len());
    heard.is_what_the_model_used(&asked)
}

/// Two commands of one reply are two items, and one step for the model.
pub fn parallel(trial: &Trial<'_>) -> anyhow::Result<()> {
    let both = [trial.cli.shell("echo one"), trial.cli.shell("echo two")].join(" ");
    let heard = trial.one_shot(&both)?;
    let commands = heard.commands();
    ensure!(commands.len() == 2, "{commands:?}\n{}", heard.ended.shown());
    // Which of them ends first is not the agent's to say.
    let text = heard.text();
    ensure!(text.contains("Done: one; two") || text.contains("Done: two; one"), "{text:?}");
    Ok(())
}

/// A file that is made is a change.
pub fn file(trial: &Trial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project().join("new.txt");
    let heard = trial.one_shot(&trial.cli.write(&file, "a line\nanother\n"))?;
    ensure!(std::fs::read_to_string(&file)? == "a line\nanother\n", "{}", heard.ended.shown());
    let changes = heard.changes();
    let [change] = changes.as_slice() else { anyhow::bail!("{changes:?}") };
    ensure!(change.path.ends_with("new.txt") && change.kind == ChangeKind::Add, "{change:?}");
    Ok(())
}

/// An error of the API is an error of the turn, and says its status.
pub fn error(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.one_shot("[[error 400]] x")?;
    let turn = heard.turn()?;
    ensure!(turn.status == TurnStatus::Failed, "{turn:?}");
    let message = turn.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("400"), "{turn:?}");
    ensure!(heard.session()?.reason == EndReason::Failed, "{:?}", heard.session()?);
    Ok(())
}

/// A stream that breaks off is not an answer.
pub fn cut(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.one_shot("[[text this answer never comes to an end]] [[cut]]")?;
    ensure!(!heard.text().contains("to an end"), "{:?}", heard.text());
    ensure!(heard.turn()?.status != TurnStatus::Completed, "{:?}\n{}", heard.turn()?, heard.ended.shown());
    Ok(())
}
