//! Stopping: in the middle of a text or a command, by timeout, by force. Every scenario checks that no process is left.

use std::time::Duration;

use anyhow::{Context as _, ensure};
use rustix::process::{Pid, Signal, kill_process};
use switchboard_agents::RequestDecision;
use switchboard_engine::{SessionTimeouts, StartRequest, program_override_variable};
use switchboard_event::{
    Decider, Delta, Details, EndReason, ErrorCode, Event, EventBody, Field, Item, NativeBody, Outcome, SessionEnded,
    Status, TurnStatus,
};
use switchboard_store::{SessionFilter, SessionPhase};
use switchboard_testkit::stage::{StageProcess, child_pids};

use crate::embedded_engine::{EmbeddedEngine, minimal_answer, persistent_request};
use crate::trial::{LiveTrial, poll_until, wait_for_event, wait_for_run};

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
fn is_message(event: &Event) -> bool {
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
    let observed = wait_for_run(running)?;
    observed.check_end(130, EndReason::Cancelled)?;
    ensure!(observed.last_turn()?.status == TurnStatus::Interrupted, "{:?}", observed.last_turn()?);
    ensure!(
        observed.agent_text().starts_with("these") && !observed.agent_text().contains("do not"),
        "{:?}",
        observed.agent_text()
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
    let observed = wait_for_run(running)?;
    observed.check_end(130, EndReason::Cancelled)?;
    let commands = observed.command_items();
    let [(status, _)] = commands.as_slice() else { anyhow::bail!("{commands:?}") };
    ensure!(matches!(status, Status::Interrupted | Status::Failed), "{commands:?}");
    let left = trial.stage.leftover_processes();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

pub fn stop_by_timeout(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run(HELD_TEXT_PROMPT, &[AUTO_APPROVE_FLAGS, &["--timeout", "5s"]].concat())?;
    let session = observed.check_end(124, EndReason::Timeout)?;
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
    let observed = wait_for_run(running)?;
    let session = observed.check_end(1, EndReason::Failed)?;
    ensure!(session.signal == Some(9), "{session:?}");
    ensure!(session.error.as_ref().is_some_and(|error| error.message.contains("signal 9")), "{session:?}");
    ensure!(observed.last_turn()?.status == TurnStatus::Failed, "{:?}", observed.last_turn()?);
    Ok(())
}

/// Switchboard itself is killed: the agent exits too, and the next start ends the session.
pub fn kill_switchboard(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = start_mid_text(trial, &[])?;
    running.send_signal(Signal::KILL)?;
    let ended = running.wait_for_exit()?;
    ensure!(ended.signal == Some(9), "{}", ended.describe_output());
    let left = trial.stage.leftover_processes_after(crate::scenario::PROCESS_EXIT_TIMEOUT);
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

/// Children that leave the process group and ignore signals.
const CHILD_STEPS: &str = "child setsid orphan stubborn\nchild setsid holds\n";

/// Crashes in the middle of a line, with output on stderr.
pub fn crash_mid_line(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let script = "open\nsay Hello\ncomplain the last words\npart {\"type\":\"assis\ncrash";
    let observed = wait_for_run(trial.start_fake(script, "x", &[])?)?;
    let session = observed.check_end(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(session.signal == Some(9), "{session:?}");
    ensure!(message.contains("signal 9") && message.contains("the last words"), "{session:?}");
    ensure!(observed.agent_text() == "Hello", "{:?}", observed.agent_text());
    ensure!(observed.last_turn()?.status == TurnStatus::Failed, "{:?}", observed.last_turn()?);
    let half = |body: &NativeBody| matches!(body, NativeBody::Text(text) if text.contains("assis"));
    let kept = observed.events.iter().filter_map(|event| event.native.as_ref()).any(|native| half(&native.body));
    ensure!(kept, "half a line is lost\n{}", observed.ended.describe_output());
    Ok(())
}

/// Ignores signals, and so do its children.
pub fn ignore_signals(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = trial.start_fake(&format!("open\nignore\n{CHILD_STEPS}say Hello\nhang"), "x", &[])?;
    wait_for_event(&running, "a text", is_message)?;
    running.send_signal(Signal::TERM)?;
    let observed = wait_for_run(running)?;
    observed.check_end(130, EndReason::Cancelled)?;
    ensure!(observed.last_turn()?.status == TurnStatus::Interrupted, "{:?}", observed.last_turn()?);
    let left = trial.stage.leftover_processes();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// The children outlive the agent, but not the session.
pub fn leave_children(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = wait_for_run(trial.start_fake(&format!("open\n{CHILD_STEPS}say Hello\ndone\nwait"), "x", &[])?)?;
    observed.check_end(0, EndReason::Completed)?;
    let left = trial.stage.leftover_processes();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// Switchboard is killed while the agent and its children ignore signals.
pub fn outlive_switchboard(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = trial.start_fake(&format!("open\nignore\n{CHILD_STEPS}say Hello\nhang"), "x", &[])?;
    wait_for_event(&running, "a text", is_message)?;
    running.send_signal(Signal::KILL)?;
    running.wait_for_exit()?;
    let left = trial.stage.leftover_processes_after(crate::scenario::PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// Lines that are not records are kept, and the session continues.
pub fn print_garbage(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let script = "open\ngarbage 3000\nprint not a record\nprint {\"type\":\"unheard of\"}\nsay Hello\ndone\nwait";
    let observed = wait_for_run(trial.start_fake(script, "x", &[])?)?;
    observed.check_end(0, EndReason::Completed)?;
    ensure!(observed.agent_text() == "Hello", "{:?}", observed.agent_text());
    let natives = || observed.events.iter().filter_map(|event| event.native.as_ref()).map(|native| &native.body);
    ensure!(natives().any(|body| matches!(body, NativeBody::Bytes(bytes) if bytes.len() == 3000)), "bytes are lost");
    ensure!(natives().any(|body| matches!(body, NativeBody::Text(text) if text == "not a record")), "text is lost");
    Ok(())
}

/// Exits with code 0 in the middle of a turn.
pub fn end_mid_turn(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = wait_for_run(trial.start_fake("open\nsay Hello\ncomplain going now\nexit 0", "x", &[])?)?;
    let session = observed.check_end(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("exit code 0") && message.contains("going now"), "{session:?}");
    ensure!(session.exit_code == Some(0), "{session:?}");
    Ok(())
}

/// Exits before the handshake: the agent never started.
pub fn end_before_start(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = wait_for_run(trial.start_fake("complain cannot find myself\nexit 7", "x", &[])?)?;
    let session = observed.check_end(4, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("exit code 7") && message.contains("cannot find myself"), "{session:?}");
    Ok(())
}

/// Closes its output and keeps running.
pub fn close_output(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = wait_for_run(trial.start_fake("open\nsay Hello\nclose stdout\nhang", "x", &[])?)?;
    let session = observed.check_end(1, EndReason::Failed)?;
    ensure!(session.error.is_some(), "{session:?}");
    Ok(())
}

/// Stops doing anything.
pub fn stop_responding(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = wait_for_run(trial.start_fake("open\nsay Hello\nhang", "x", &["--idle-timeout", "500ms"])?)?;
    observed.check_end(124, EndReason::Timeout)?;
    Ok(())
}

/// A line too large for memory is kept, and the session continues.
pub fn print_huge_line(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let fake = trial.write_fake_program("open\nline 100000000\nsay after\ndone\nwait")?;
    let words = ["run", trial.cli.name, "x", "--last-message"];
    let ended = trial
        .spawn_switchboard(&words, &[(&program_override_variable(trial.cli.name), Some(&fake))])?
        .wait_for_exit()?;
    ensure!(ended.code == Some(0), "{}", ended.describe_output());
    ensure!(ended.stdout.trim_end().ends_with("after") && ended.stdout.len() < 100, "{}", ended.describe_output());
    Ok(())
}

/// Never completes the handshake.
pub fn hang_in_handshake(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let limits = SessionTimeouts { handshake: Duration::from_millis(500), ..SessionTimeouts::default() };
    let (inside, request) = engine_with_fake(trial, "complain thinking about it\nhang", limits)?;
    let (outcome, observed) = inside.start_session(request)?.close_and_wait()?;
    ensure!(outcome.reason == Some(EndReason::Failed) && !outcome.agent_started, "{outcome:?}");
    let message = outcome.error.map(|error| error.message).unwrap_or_default();
    ensure!(message.contains("was not ready") && message.contains("thinking about it"), "{message}");
    observed.check_closed()
}

/// A request that expires or gets an invalid answer is declined, and the agent is informed.
pub fn leave_unanswered(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let limits = SessionTimeouts { approval: Duration::from_millis(500), ..SessionTimeouts::default() };
    let (inside, request) = engine_with_fake(trial, "open\nask ls\ndone\nprompt\nask ls\ndone\nwait", limits)?;
    let mut watched = inside.start_session(request)?;
    watched.wait_for_request()?;
    watched.wait_for_turn_end()?;
    watched.send_prompt("again")?;
    let asked = watched.wait_for_request()?;
    let nonsense = switchboard_agents::RequestAnswer {
        option: Some("no such option".to_owned()),
        ..minimal_answer(&asked, RequestDecision::Allow)
    };
    ensure!(watched.send_answer(nonsense).is_err(), "an option that was never offered was taken");
    watched.wait_for_turn_end()?;
    let (_, observed) = watched.close_and_wait()?;
    observed.check_closed()?;
    ensure!(observed.agent_text() == "declineddeclined", "{:?}", observed.agent_text());
    let no = |resolved: &&switchboard_event::RequestResolved| {
        matches!(resolved.outcome, Outcome::Declined | Outcome::Expired) && resolved.by != Decider::Client
    };
    ensure!(observed.request_resolutions().iter().all(no), "{:?}", observed.request_resolutions());
    ensure!(
        observed.events.iter().filter(|event| matches!(event.body, EventBody::RequestOpened(_))).count() == 2,
        "not two"
    );
    Ok(())
}

fn engine_with_fake(
    trial: &LiveTrial<'_>,
    script: &str,
    limits: SessionTimeouts,
) -> anyhow::Result<(EmbeddedEngine, StartRequest)> {
    let fake = trial.write_fake_program(script)?;
    let mut request = persistent_request(trial, &trial.stage.project_dir(), "x");
    request.env.insert(program_override_variable(trial.cli.name), fake);
    Ok((EmbeddedEngine::new(trial)?, StartRequest { timeouts: limits, ..request }))
}
