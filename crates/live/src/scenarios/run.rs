//! `switchboard run`: text, reasoning, commands and changes, reported live.

use anyhow::{Context as _, ensure};
use switchboard_event::{ChangeKind, EndReason, Status, TurnStatus};

use crate::{
    heard::ObservedRun,
    trial::{LiveTrial, agent_abilities},
};

const AUTO_APPROVE_FLAGS: &[&str] = &["--approval", "auto-all"];

/// Text and reasoning arrive unchanged, with their cost.
pub fn say_text(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = trial.run("[[think hm, well]] [[text héllo wörld 漢字]] please", AUTO_APPROVE_FLAGS)?;
    heard.check_end(0, EndReason::Completed)?;
    ensure!(heard.agent_text() == "héllo wörld 漢字", "{:?}\n{}", heard.agent_text(), heard.ended.describe_output());
    if agent_abilities(trial.cli).reasoning {
        ensure!(
            heard.reasoning_text().contains("hm, well"),
            "{:?}\n{}",
            heard.reasoning_text(),
            heard.ended.describe_output()
        );
    }
    ensure!(heard.last_turn()?.status == TurnStatus::Completed, "{:?}", heard.last_turn()?);
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.len() == 1, "the model was asked {} times", asked.len());
    check_cost(trial, &heard)
}

/// Checks the cost, as far as the agent reports it.
fn check_cost(trial: &LiveTrial<'_>, heard: &ObservedRun) -> anyhow::Result<()> {
    let asked = trial.stage.scripted_model().conversation_requests();
    if !trial.cli.terse {
        return heard.check_usage(&asked);
    }
    let said = asked.iter().filter_map(|request| request.answer.as_ref()).map(|answer| answer.usage);
    let (read, heard) = (said.map(|usage| usage.input + usage.cache_read).sum::<u64>(), heard.total_usage());
    ensure!(heard.input == read && heard.output > 0, "the model read {read}: {heard:?}");
    Ok(())
}

/// Commands run: output and exit codes are reported, and a failed command does not fail the agent.
pub fn run_commands(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (good, bad) = (
        trial.cli.shell_directive("echo made > made.txt; echo printed"),
        trial.cli.shell_directive("echo wrong; exit 3"),
    );
    let heard = trial.run(&format!("{good} [[then]] {bad} go"), AUTO_APPROVE_FLAGS)?;
    heard.check_end(0, EndReason::Completed)?;
    trial.check_written("made.txt").with_context(|| heard.ended.describe_output())?;
    let commands = heard.command_items();
    let [(Status::Completed, first), (_, second)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(first.command.contains("echo printed") && second.command.contains("exit 3"), "{commands:?}");
    if !trial.cli.terse {
        ensure!(first.output.contains("printed") && second.output.contains("wrong"), "{commands:?}");
        ensure!(first.exit_code.is_none_or(|code| code == 0) && second.exit_code == Some(3), "{commands:?}");
    }
    ensure!(heard.agent_text().contains("Done: "), "{:?}", heard.agent_text());
    let asked = trial.stage.scripted_model().conversation_requests();
    ensure!(asked.iter().map(|request| request.step).eq([0, 1, 2]), "the model was asked {} times", asked.len());
    check_cost(trial, &heard)
}

/// A new file is a change with its diff; in `auto-edit` mode, changes in the workspace need no approval.
pub fn write_file(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("new.txt");
    let heard = trial.run(&trial.cli.write_directive(&file, "a line\nanother\n"), &["--approval", "auto-edit"])?;
    heard.check_end(0, EndReason::Completed)?;
    trial.check_written_text("new.txt", "a line\nanother\n").with_context(|| heard.ended.describe_output())?;
    let changes = heard.file_changes();
    let [(status, change)] = changes.as_slice() else { anyhow::bail!("{changes:?}") };
    ensure!(*status == trial.change_status(), "{status:?}\n{}", heard.ended.describe_output());
    ensure!(std::path::Path::new(&change.path) == file && change.kind == ChangeKind::Add, "{change:?}");
    ensure!(change.diff.contains("+a line\n+another"), "{change:?}");
    Ok(())
}
