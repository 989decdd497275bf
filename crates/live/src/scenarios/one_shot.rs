//! Agents started directly with one prompt, and Switchboard's translation of their output.

use anyhow::{Context as _, ensure};
use switchboard_event::{ChangeKind, EndReason, Status, TurnStatus};

use crate::trial::LiveTrial;

/// The text arrives unchanged, with its cost.
pub fn say_text(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = trial.run_one_shot("[[text héllo wörld 漢字]] please")?;
    ensure!(heard.agent_text() == "héllo wörld 漢字", "{:?}\n{}", heard.agent_text(), heard.ended.describe_output());
    ensure!(heard.ended.code == Some(0), "{}", heard.ended.describe_output());
    ensure!(heard.last_turn()?.status == TurnStatus::Completed, "{:?}", heard.last_turn()?);
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.len() == 1, "the model was asked {} times", asked.len());
    heard.check_usage(&asked)
}

/// A command runs; its output is reported to the client and to the model.
pub fn run_command(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard =
        trial.run_one_shot(&format!("{} go", trial.cli.shell_directive("echo made > made.txt; echo printed")))?;
    trial.check_written("made.txt").with_context(|| heard.ended.describe_output())?;
    let commands = heard.command_items();
    let [(Status::Completed, command)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(command.command.contains("echo printed") && command.output.contains("printed"), "{command:?}");
    // The error of the write comes first.
    let done = if trial.can_write() { "Done: printed" } else { "Done: " };
    ensure!(heard.agent_text().contains(done), "{:?}", heard.agent_text());
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1]), "the model was asked {} times", asked.len());
    heard.check_usage(&asked)
}

/// Two commands of one reply are two items and one step for the model.
pub fn run_parallel_commands(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let both = [trial.cli.shell_directive("echo one"), trial.cli.shell_directive("echo two")].join(" ");
    let heard = trial.run_one_shot(&both)?;
    let commands = heard.command_items();
    ensure!(commands.len() == 2, "{commands:?}\n{}", heard.ended.describe_output());
    // Their order is not defined.
    let text = heard.agent_text();
    ensure!(text.contains("Done: one; two") || text.contains("Done: two; one"), "{text:?}");
    Ok(())
}

/// A new file is reported as a change.
pub fn write_file(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("new.txt");
    let heard = trial.run_one_shot(&trial.cli.write_directive(&file, "a line\nanother\n"))?;
    trial.check_written_text("new.txt", "a line\nanother\n").with_context(|| heard.ended.describe_output())?;
    let changes = heard.file_changes();
    let [(status, change)] = changes.as_slice() else { anyhow::bail!("{changes:?}") };
    ensure!(*status == trial.change_status(), "{status:?}\n{}", heard.ended.describe_output());
    // Some agents report whether the file is new only for a change that succeeded.
    let is_new = change.kind == ChangeKind::Add || !trial.can_write();
    ensure!(change.path.ends_with("new.txt") && is_new, "{change:?}");
    Ok(())
}

/// An API error fails the turn and reports the status.
pub fn report_api_error(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = trial.run_one_shot("[[error 400]] x")?;
    let turn = heard.last_turn()?;
    ensure!(turn.status == TurnStatus::Failed, "{turn:?}");
    let message = turn.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("400"), "{turn:?}");
    ensure!(heard.session_end()?.reason == EndReason::Failed, "{:?}", heard.session_end()?);
    Ok(())
}

/// A broken stream is not an answer.
pub fn report_broken_stream(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = trial.run_one_shot("[[text this answer never comes to an end]] [[cut]]")?;
    ensure!(!heard.agent_text().contains("to an end"), "{:?}", heard.agent_text());
    ensure!(
        heard.last_turn()?.status != TurnStatus::Completed,
        "{:?}\n{}",
        heard.last_turn()?,
        heard.ended.describe_output()
    );
    Ok(())
}
