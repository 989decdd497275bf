//! Stopping: in the middle of a text, in the middle of a command, by time, by force. Nothing of it may be left; that is
//! checked after every scenario.

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use switchboard_event::{
    Body, Delta, Details, EndReason, ErrorCode, Event, Field, Item, SessionEnded, Status, TurnStatus,
};
use switchboard_store::{Filter, State};
use switchboard_testkit::stage::{Running, children};

use crate::{
    inside::Inside,
    trial::{Trial, heard, until, wait_for},
};

const FREELY: &[&str] = &["--approval", "auto-all"];

/// A text that stops in the middle, until the test lets it go on.
const HALF: &str = "[[text these words come]] [[hold]] [[text and these do not]]";

/// Some of the answer has come.
pub fn is_text(event: &Event) -> bool {
    !appended_text(event).is_empty()
}

/// The text that an event appends to a message, empty if none.
pub fn appended_text(event: &Event) -> &str {
    match &event.body {
        Body::ItemDelta(Delta::Append { field: Field::Text, text, .. }) => text,
        _ => "",
    }
}

/// A message of the agent has come, in pieces or whole.
pub fn is_message(event: &Event) -> bool {
    let whole = |item: &Item| matches!(item.details, Details::AgentMessage(_));
    is_text(event) || matches!(&event.body, Body::ItemCompleted(item) if whole(item))
}

fn in_the_middle(trial: &Trial<'_>, flags: &[&str]) -> anyhow::Result<Running> {
    let running = trial.start(HALF, &[FREELY, flags].concat())?;
    wait_for(&running, "a text", is_text)?;
    Ok(running)
}

/// Ctrl-C in the middle of a text.
pub fn text(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = in_the_middle(trial, &[])?;
    running.signal(Signal::INT)?;
    let heard = heard(running)?;
    heard.ends(130, EndReason::Cancelled)?;
    ensure!(heard.turn()?.status == TurnStatus::Interrupted, "{:?}", heard.turn()?);
    ensure!(heard.text().starts_with("these") && !heard.text().contains("do not"), "{:?}", heard.text());
    Ok(())
}

/// Ctrl-C on a terminal, with a person watching.
pub fn person(trial: &Trial<'_>) -> anyhow::Result<()> {
    let data = trial.stage.data();
    let args = ["run", trial.cli.name, HALF, "--approval", "auto-all", "--data", &data.to_string_lossy()];
    let mut running = trial.stage.on_terminal(trial.switchboard, &args)?;
    running.wait_for("a text", |shown| shown.contains("these "))?;
    running.say("\u{3}")?;
    let ended = running.end()?;
    ensure!(ended.code == Some(130) && !ended.stdout.contains("do not"), "{}", ended.shown());
    Ok(())
}

/// Ctrl-C in the middle of a command: it is gone, and its item is interrupted.
pub fn command(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = trial.start(&format!("{} go", trial.cli.shell("touch began.txt; tail -f /dev/null")), FREELY)?;
    let runs = |item: &Item| matches!(item.details, Details::Command(_));
    wait_for(&running, "a command", |event| matches!(&event.body, Body::ItemStarted(item) if runs(item)))?;
    until("the command runs", || trial.stage.project().join("began.txt").exists())?;
    running.signal(Signal::INT)?;
    let heard = heard(running)?;
    heard.ends(130, EndReason::Cancelled)?;
    let commands = heard.commands();
    let [(status, _)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(matches!(status, Status::Interrupted | Status::Failed), "{commands:?}");
    let left = trial.stage.left_behind();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// The time is over.
pub fn time_out(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.run(HALF, &[FREELY, &["--timeout", "5s"]].concat())?;
    let session = heard.ends(124, EndReason::Timeout)?;
    ensure!(session.error.as_ref().is_some_and(|error| error.code == ErrorCode::Timeout), "{session:?}");
    Ok(())
}

/// The agent's process dies in the middle.
pub fn crash(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = in_the_middle(trial, &[])?;
    let supervisor = children(i32::try_from(running.pid())?);
    let agents: Vec<_> = supervisor.iter().flat_map(|&pid| children(pid)).collect();
    let [agent] = agents.as_slice() else { anyhow::bail!("not one agent: {agents:?} of {supervisor:?}") };
    kill_process(Pid::from_raw(*agent).context("no process")?, Signal::KILL)?;
    let heard = heard(running)?;
    let session = heard.ends(1, EndReason::Failed)?;
    ensure!(session.signal == Some(9), "{session:?}");
    ensure!(session.error.as_ref().is_some_and(|error| error.message.contains("signal 9")), "{session:?}");
    ensure!(heard.turn()?.status == TurnStatus::Failed, "{:?}", heard.turn()?);
    Ok(())
}

/// Switchboard itself is killed: the agent goes with it, and the next start ends the session.
pub fn killed(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = in_the_middle(trial, &[])?;
    running.signal(Signal::KILL)?;
    let ended = running.end()?;
    ensure!(ended.signal == Some(9), "{}", ended.shown());
    let left = trial.stage.left_behind_after(crate::play::GOING);
    ensure!(left.is_empty(), "left behind: {left:?}");
    let inside = Inside::new(trial)?;
    ensure!(inside.engine.recover()? == 1, "not one session was recovered");
    let sessions = inside.engine.log().sessions(&Filter::default())?;
    let [session] = sessions.as_slice() else { anyhow::bail!("{sessions:?}") };
    let how: SessionEnded = serde_json::from_str(session.end.as_ref().context("it has no end")?.get())?;
    ensure!(session.state == State::Failed && how.reason == EndReason::Failed, "{session:?}");
    ensure!(how.error.as_ref().is_some_and(|error| error.info.as_deref() == Some("interrupted")), "{how:?}");
    let events = inside.events(&session.id)?;
    ensure!(events.len() > ended.stdout.lines().count(), "what was seen is not in the log");
    inside.heard(events, ended).is_closed()
}
