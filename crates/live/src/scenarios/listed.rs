//! Sessions started by the agent's own program, without Switchboard, are listed and continued.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::continued::check_memory;
use crate::trial::{LiveTrial, wait_for_run};

/// A session started by the agent's program is listed, continues by its id alone in its own directory, and then belongs
/// to Switchboard.
pub fn adopt_session(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let began = trial.stage.start_one_shot(trial.cli, "[[text apricot]] x")?.wait_for_exit()?;
    ensure!(began.code == Some(0), "{}", began.describe_output());
    let listed = single_logged_session(trial)?;
    let id = listed.get("id").and_then(Value::as_str).context("no id")?.to_owned();
    ensure!(listed.get("switchboard").is_none_or(Value::is_null), "it is not ours yet: {listed}");
    let beginning = id.get(..id.len() * 3 / 4).unwrap_or(&id);
    let second = resume_by_id(trial, beginning, "blueberry")?;
    check_memory(trial, &second, "blueberry", &["apricot"])?;
    let ours = single_logged_session(trial)?;
    ensure!(ours.get("id") == listed.get("id"), "it became another: {ours}");
    let own = ours.pointer("/switchboard/id").and_then(Value::as_str).context("it is not ours")?;
    ensure!(second.events.first().is_some_and(|event| *event.session == *own), "{own} is not what was run");
    let third = resume_by_id(trial, &id, "cherry")?;
    check_memory(trial, &third, "cherry", &["apricot", "blueberry"])?;
    ensure!(third.events.first().is_some_and(|event| event.run == 2 && *event.session == *own), "not its second run");
    Ok(())
}

/// Returns the only listed session with turns. One agent (0.61) leaves empty ones too.
fn single_logged_session(trial: &LiveTrial<'_>) -> anyhow::Result<Value> {
    let data = trial.stage.data_dir();
    let listed = trial.run_switchboard(&["logs", "list", "--json", "--data", &data.to_string_lossy()], "")?;
    ensure!(listed.code == Some(0), "{}", listed.describe_output());
    let of_agent = |line: &str| {
        let session: Value = serde_json::from_str(line).ok()?;
        let is_it = session.get("agent")?.as_str()? == trial.cli.name && session.get("turns")?.as_u64()? > 0;
        is_it.then_some(session)
    };
    let sessions: Vec<Value> = listed.stdout.lines().filter_map(of_agent).collect();
    let [session] = sessions.as_slice() else { anyhow::bail!("not one session: {}", listed.describe_output()) };
    Ok(session.clone())
}

/// Continues a session by its id, from another directory.
fn resume_by_id(trial: &LiveTrial<'_>, id: &str, says: &str) -> anyhow::Result<crate::heard::ObservedRun> {
    let prompt = format!("[[text {says}]] x");
    let words = ["run", "--resume", id, &prompt, "--approval", "auto-all", "--dialect", "events"];
    wait_for_run(trial.spawn_switchboard_in(&trial.stage.home_dir(), &words, &[])?)
}
