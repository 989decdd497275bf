//! `switchboard run`: what an agent says, thinks, runs and changes, told while it happens.

use anyhow::ensure;
use switchboard_event::{ChangeKind, EndReason, Status, TurnStatus};

use crate::{
    heard::Heard,
    trial::{Trial, abilities},
};

/// Nothing is asked.
const FREELY: &[&str] = &["--approval", "auto-all"];

/// A text and a thought arrive as they were said, and their cost.
pub fn text(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.run("[[think hm, well]] [[text héllo wörld 漢字]] please", FREELY)?;
    heard.ends(0, EndReason::Completed)?;
    ensure!(heard.text() == "héllo wörld 漢字", "{:?}\n{}", heard.text(), heard.ended.shown());
    if abilities(trial.cli).reasoning {
        ensure!(heard.thoughts().contains("hm, well"), "{:?}\n{}", heard.thoughts(), heard.ended.shown());
    }
    ensure!(heard.turn()?.status == TurnStatus::Completed, "{:?}", heard.turn()?);
    let asked = trial.stage.model().conversation();
    ensure!(asked.len() == 1, "the model was asked {} times", asked.len());
    cost(trial, &heard)
}

/// What it cost, as far as the agent says it.
fn cost(trial: &Trial<'_>, heard: &Heard) -> anyhow::Result<()> {
    let asked = trial.stage.model().conversation();
    if !trial.cli.terse {
        return heard.is_what_the_model_used(&asked);
    }
    let said = asked.iter().filter_map(|request| request.answer.as_ref()).map(|answer| answer.usage);
    let (read, heard) = (said.map(|usage| usage.input + usage.cache_read).sum::<u64>(), heard.usage());
    ensure!(heard.input == read && heard.output > 0, "the model read {read}: {heard:?}");
    Ok(())
}

/// Commands run: what they print, how they end, and a failure is not one of the agent.
pub fn command(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (good, bad) = (trial.cli.shell("echo made > made.txt; echo printed"), trial.cli.shell("echo wrong; exit 3"));
    let heard = trial.run(&format!("{good} [[then]] {bad} go"), FREELY)?;
    heard.ends(0, EndReason::Completed)?;
    ensure!(trial.stage.project().join("made.txt").exists(), "it did not run\n{}", heard.ended.shown());
    let commands = heard.commands();
    let [(Status::Completed, first), (_, second)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(first.command.contains("echo printed") && second.command.contains("exit 3"), "{commands:?}");
    if !trial.cli.terse {
        ensure!(first.output.contains("printed") && second.output.contains("wrong"), "{commands:?}");
        ensure!(first.exit_code.is_none_or(|code| code == 0) && second.exit_code == Some(3), "{commands:?}");
    }
    ensure!(heard.text().contains("Done: "), "{:?}", heard.text());
    let asked = trial.stage.model().conversation();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1, 2]), "the model was asked {} times", asked.len());
    cost(trial, &heard)
}

/// A file that is made is a change, with its diff; a change in the workspace needs nobody's leave where edits do not.
pub fn file(trial: &Trial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project().join("new.txt");
    let heard = trial.run(&trial.cli.write(&file, "a line\nanother\n"), &["--approval", "auto-edit"])?;
    heard.ends(0, EndReason::Completed)?;
    ensure!(std::fs::read_to_string(&file)? == "a line\nanother\n", "{}", heard.ended.shown());
    let changes = heard.changes();
    let [change] = changes.as_slice() else { anyhow::bail!("{changes:?}") };
    ensure!(std::path::Path::new(&change.path) == file && change.kind == ChangeKind::Add, "{change:?}");
    ensure!(change.diff.contains("+a line\n+another"), "{change:?}");
    Ok(())
}
