//! Sessions that the agent's own program began, without Switchboard: they are listed, and continued.

use anyhow::{Context as _, ensure};
use serde_json::Value;

use super::continued::remembers;
use crate::trial::{Trial, heard};

/// A session begun by the program itself is listed, goes on by its id alone, in its own folder, and is one of ours then.
pub fn adopted(trial: &Trial<'_>) -> anyhow::Result<()> {
    let began = trial.stage.one_shot(trial.cli, "[[text apricot]] x")?.end()?;
    ensure!(began.code == Some(0), "{}", began.shown());
    let listed = only(trial)?;
    let id = listed.get("id").and_then(Value::as_str).context("no id")?.to_owned();
    ensure!(listed.get("switchboard").is_none_or(Value::is_null), "it is not ours yet: {listed}");
    let beginning = id.get(..id.len() * 3 / 4).unwrap_or(&id);
    let second = go_on(trial, beginning, "blueberry")?;
    remembers(trial, &second, "blueberry", &["apricot"])?;
    let ours = only(trial)?;
    ensure!(ours.get("id") == listed.get("id"), "it became another: {ours}");
    let own = ours.pointer("/switchboard/id").and_then(Value::as_str).context("it is not ours")?;
    ensure!(second.events.first().is_some_and(|event| *event.session == *own), "{own} is not what was run");
    let third = go_on(trial, &id, "cherry")?;
    remembers(trial, &third, "cherry", &["apricot", "blueberry"])?;
    ensure!(third.events.first().is_some_and(|event| event.run == 2 && *event.session == *own), "not its second run");
    Ok(())
}

/// The only session that is listed in which somebody asked something: one agent (0.61) leaves empty ones too.
fn only(trial: &Trial<'_>) -> anyhow::Result<Value> {
    let data = trial.stage.data();
    let listed = trial.switchboard(&["logs", "list", "--json", "--data", &data.to_string_lossy()], "")?;
    ensure!(listed.code == Some(0), "{}", listed.shown());
    let of_agent = |line: &str| {
        let session: Value = serde_json::from_str(line).ok()?;
        let is_it = session.get("agent")?.as_str()? == trial.cli.name && session.get("turns")?.as_u64()? > 0;
        is_it.then_some(session)
    };
    let sessions: Vec<Value> = listed.stdout.lines().filter_map(of_agent).collect();
    let [session] = sessions.as_slice() else { anyhow::bail!("not one session: {}", listed.shown()) };
    Ok(session.clone())
}

/// Continues a session by its id, from a folder that is not its own.
fn go_on(trial: &Trial<'_>, id: &str, says: &str) -> anyhow::Result<crate::heard::Heard> {
    let prompt = format!("[[text {says}]] x");
    let words = ["run", "--resume", id, &prompt, "--approval", "auto-all", "--dialect", "events"];
    heard(trial.begin_in(&trial.stage.home(), &words, &[])?)
}
