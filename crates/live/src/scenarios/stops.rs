//! Stopping: in the middle of a text or a command, by timeout, by force. Every scenario checks that no process is left.

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use switchboard_event::{
    Delta, Details, EndReason, ErrorCode, Event, EventBody, Field, Item, SessionEnded, Status, TurnStatus,
};
use switchboard_store::{SessionFilter, SessionPhase};
use switchboard_testkit::stage::{StageProcess, child_pids};

use crate::{
    inside::EmbeddedEngine,
    trial::{LiveTrial, poll_until, wait_for_event, wait_for_run},
};

const AUTO_APPROVE_FLAGS: &[&str] = &["--approval", "auto-all"];

/// A text that holds in the middle.
const HELD_TEXT_PROMPT: &str = "[[text these words come]] [[hold]] [[text and these do not]]";

pub fn is_text_delta(event: &Event) -> bool {
    !appended_text(event).is_empty()
}

/// Returns the text that an event appends to a message, empty if none.
pub fn appended_text(event: &Event) -> &str {
    match &event.body {
        EventBody::ItemDelta(Delta::Append { field: Field::Text, text, .. }) => text,
        _ => "",
    }
}

/// Returns whether a message of the agent has arrived, in pieces or whole.
pub fn is_message(event: &Event) -> bool {
    let whole = |item: &Item| matches!(item.details, Details::AgentMessage(_));
    is_text_delta(event) || matches!(&event.body, EventBody::ItemCompleted(item) if whole(item))
}

fn start_mid_text(trial: &LiveTrial<'_>, flags: &[&str]) -> anyhow::Result<StageProcess> {
    let running = trial.start(HELD_TEXT_PROMPT, &[AUTO_APPROVE_FLAGS, flags].concat())?;
    wait_for_event(&running, "a text", is_text_delta)?;
    Ok(running)
}

/// Ctrl-C in the middle of a text.
pub fn interrupt_text(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = start_mid_text(trial, &[])?;
    running.send_signal(Signal::INT)?;
    let heard = wait_for_run(running)?;
    heard.check_end(130, EndReason::Cancelled)?;
    ensure!(heard.last_turn()?.status == TurnStatus::Interrupted, "{:?}", heard.last_turn()?);
    ensure!(
        heard.agent_text().starts_with("these") && !heard.agent_text().contains("do not"),
        "{:?}",
        heard.agent_text()
    );
    Ok(())
}

/// Ctrl-C on a terminal.
pub fn interrupt_on_terminal(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let mut running = trial.start_on_terminal(HELD_TEXT_PROMPT, AUTO_APPROVE_FLAGS)?;
    running.wait_for_output("a text", |shown| shown.contains("these "))?;
    running.write_input("\u{3}")?;
    let ended = running.wait_for_exit()?;
    ensure!(ended.code == Some(130) && !ended.stdout.contains("do not"), "{}", ended.describe_output());
    Ok(())
}

/// Ctrl-C in the middle of a command: the process is gone and the item interrupted.
pub fn interrupt_command(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running =
        trial.start(&format!("{} go", trial.cli.shell_directive("tail -f /dev/null; true")), AUTO_APPROVE_FLAGS)?;
    let runs = |item: &Item| matches!(item.details, Details::Command(_));
    wait_for_event(&running, "a command", |event| matches!(&event.body, EventBody::ItemStarted(item) if runs(item)))?;
    poll_until("the command runs", || {
        trial.stage.leftover_processes().iter().any(|left| left.command == "tail -f /dev/null")
    })?;
    running.send_signal(Signal::INT)?;
    let heard = wait_for_run(running)?;
    heard.check_end(130, EndReason::Cancelled)?;
    let commands = heard.command_items();
    let [(status, _)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(matches!(status, Status::Interrupted | Status::Failed), "{commands:?}");
    let left = trial.stage.leftover_processes();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

pub fn stop_by_timeout(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = trial.run(HELD_TEXT_PROMPT, &[AUTO_APPROVE_FLAGS, &["--timeout", "5s"]].concat())?;
    let session = heard.check_end(124, EndReason::Timeout)?;
    ensure!(session.error.as_ref().is_some_and(|error| error.code == ErrorCode::Timeout), "{session:?}");
    Ok(())
}

/// The agent's process dies in the middle of a turn.
pub fn crash_agent(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = start_mid_text(trial, &[])?;
    let supervisor = child_pids(i32::try_from(running.pid())?);
    let agents: Vec<_> = supervisor.iter().flat_map(|&pid| child_pids(pid)).collect();
    let [agent] = agents.as_slice() else { anyhow::bail!("not one agent: {agents:?} of {supervisor:?}") };
    kill_process(Pid::from_raw(*agent).context("no process")?, Signal::KILL)?;
    let heard = wait_for_run(running)?;
    let session = heard.check_end(1, EndReason::Failed)?;
    ensure!(session.signal == Some(9), "{session:?}");
    ensure!(session.error.as_ref().is_some_and(|error| error.message.contains("signal 9")), "{session:?}");
    ensure!(heard.last_turn()?.status == TurnStatus::Failed, "{:?}", heard.last_turn()?);
    Ok(())
}

/// Switchboard itself is killed: the agent exits too, and the next start ends the session.
pub fn kill_switchboard(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = start_mid_text(trial, &[])?;
    running.send_signal(Signal::KILL)?;
    let ended = running.wait_for_exit()?;
    ensure!(ended.signal == Some(9), "{}", ended.describe_output());
    let left = trial.stage.leftover_processes_after(crate::play::PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "left behind: {left:?}");
    let inside = EmbeddedEngine::new(trial)?;
    ensure!(inside.engine.recover_sessions()? == 1, "not one session was recovered");
    let sessions = inside.engine.log().list_sessions(&SessionFilter::default())?;
    let [session] = sessions.as_slice() else { anyhow::bail!("{sessions:?}") };
    let how: SessionEnded = serde_json::from_str(session.end.as_ref().context("it has no end")?.get())?;
    ensure!(session.state == SessionPhase::Failed && how.reason == EndReason::Failed, "{session:?}");
    ensure!(how.error.as_ref().is_some_and(|error| error.info.as_deref() == Some("interrupted")), "{how:?}");
    let events = inside.session_events(&session.id)?;
    ensure!(events.len() > ended.stdout.lines().count(), "what was seen is not in the log");
    inside.run_from_events(events, ended).check_closed()
}
