//! Cases that no real agent can be made to reproduce: fakes crash in the middle of a line, ignore signals, leave
//! children behind, hang, print garbage. In each case the session ends correctly with a reason, and no process is left.

use std::time::Duration;

use anyhow::ensure;
use rustix::process::Signal;
use switchboard_agents::RequestDecision;
use switchboard_engine::{SessionTimeouts, StartRequest, program_override_variable};
use switchboard_event::{Decider, EndReason, EventBody, NativeBody, Outcome, TurnStatus};

use crate::{
    inside::{EmbeddedEngine, minimal_answer, persistent_request},
    scenarios::stops::is_message,
    trial::{LiveTrial, wait_for_event, wait_for_run},
};

/// Children that leave the process group and ignore signals.
const CHILD_STEPS: &str = "child setsid orphan stubborn\nchild setsid holds\n";

/// Crashes in the middle of a line, with output on stderr.
pub fn crash_mid_line(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let script = "open\nsay Hello\ncomplain the last words\npart {\"type\":\"assis\ncrash";
    let heard = wait_for_run(trial.start_fake(script, "x", &[])?)?;
    let session = heard.check_end(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(session.signal == Some(9), "{session:?}");
    ensure!(message.contains("signal 9") && message.contains("the last words"), "{session:?}");
    ensure!(heard.agent_text() == "Hello", "{:?}", heard.agent_text());
    ensure!(heard.last_turn()?.status == TurnStatus::Failed, "{:?}", heard.last_turn()?);
    let half = |body: &NativeBody| matches!(body, NativeBody::Text(text) if text.contains("assis"));
    let kept = heard.events.iter().filter_map(|event| event.native.as_ref()).any(|native| half(&native.body));
    ensure!(kept, "half a line is lost\n{}", heard.ended.describe_output());
    Ok(())
}

/// Ignores signals, and so do its children.
pub fn ignore_signals(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let running = trial.start_fake(&format!("open\nignore\n{CHILD_STEPS}say Hello\nhang"), "x", &[])?;
    wait_for_event(&running, "a text", is_message)?;
    running.send_signal(Signal::TERM)?;
    let heard = wait_for_run(running)?;
    heard.check_end(130, EndReason::Cancelled)?;
    ensure!(heard.last_turn()?.status == TurnStatus::Interrupted, "{:?}", heard.last_turn()?);
    let left = trial.stage.leftover_processes();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// The children outlive the agent, but not the session.
pub fn leave_children(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = wait_for_run(trial.start_fake(&format!("open\n{CHILD_STEPS}say Hello\ndone\nwait"), "x", &[])?)?;
    heard.check_end(0, EndReason::Completed)?;
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
    let left = trial.stage.leftover_processes_after(crate::play::PROCESS_EXIT_TIMEOUT);
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// Lines that are not records are kept, and the session continues.
pub fn print_garbage(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let script = "open\ngarbage 3000\nprint not a record\nprint {\"type\":\"unheard of\"}\nsay Hello\ndone\nwait";
    let heard = wait_for_run(trial.start_fake(script, "x", &[])?)?;
    heard.check_end(0, EndReason::Completed)?;
    ensure!(heard.agent_text() == "Hello", "{:?}", heard.agent_text());
    let natives = || heard.events.iter().filter_map(|event| event.native.as_ref()).map(|native| &native.body);
    ensure!(natives().any(|body| matches!(body, NativeBody::Bytes(bytes) if bytes.len() == 3000)), "bytes are lost");
    ensure!(natives().any(|body| matches!(body, NativeBody::Text(text) if text == "not a record")), "text is lost");
    Ok(())
}

/// Exits with code 0 in the middle of a turn.
pub fn end_mid_turn(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = wait_for_run(trial.start_fake("open\nsay Hello\ncomplain going now\nexit 0", "x", &[])?)?;
    let session = heard.check_end(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("exit code 0") && message.contains("going now"), "{session:?}");
    ensure!(session.exit_code == Some(0), "{session:?}");
    Ok(())
}

/// Exits before the handshake: the agent never started.
pub fn end_before_start(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = wait_for_run(trial.start_fake("complain cannot find myself\nexit 7", "x", &[])?)?;
    let session = heard.check_end(4, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("exit code 7") && message.contains("cannot find myself"), "{session:?}");
    Ok(())
}

/// Closes its output and keeps running.
pub fn close_output(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = wait_for_run(trial.start_fake("open\nsay Hello\nclose stdout\nhang", "x", &[])?)?;
    let session = heard.check_end(1, EndReason::Failed)?;
    ensure!(session.error.is_some(), "{session:?}");
    Ok(())
}

/// Stops doing anything.
pub fn stop_responding(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let heard = wait_for_run(trial.start_fake("open\nsay Hello\nhang", "x", &["--idle-timeout", "500ms"])?)?;
    heard.check_end(124, EndReason::Timeout)?;
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
    let (outcome, heard) = inside.start_session(request)?.close_and_wait()?;
    ensure!(outcome.reason == Some(EndReason::Failed) && !outcome.agent_started, "{outcome:?}");
    let message = outcome.error.map(|error| error.message).unwrap_or_default();
    ensure!(message.contains("was not ready") && message.contains("thinking about it"), "{message}");
    heard.check_closed()
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
    let (_, heard) = watched.close_and_wait()?;
    heard.check_closed()?;
    ensure!(heard.agent_text() == "declineddeclined", "{:?}", heard.agent_text());
    let no = |resolved: &&switchboard_event::RequestResolved| {
        matches!(resolved.outcome, Outcome::Declined | Outcome::Expired) && resolved.by != Decider::Client
    };
    ensure!(heard.request_resolutions().iter().all(no), "{:?}", heard.request_resolutions());
    ensure!(
        heard.events.iter().filter(|event| matches!(event.body, EventBody::RequestOpened(_))).count() == 2,
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
