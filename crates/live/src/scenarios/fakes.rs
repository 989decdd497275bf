//! What no real agent can be made to do: fakes crash in the middle of a line, ignore signals, leave children behind,
//! hang, print garbage. Whatever they do, the session ends as it should, says why, and nothing is left.

use std::time::Duration;

use anyhow::ensure;
use rustix::process::Signal;
use switchboard_agents::Decision;
use switchboard_engine::{Limits, StartRequest, find::override_variable};
use switchboard_event::{Body, Decider, EndReason, NativeBody, Outcome, TurnStatus};

use crate::{
    inside::{Inside, answer, staying},
    scenarios::stops::is_message,
    trial::{Trial, heard, wait_for},
};

/// Children that leave the group and ignore signals.
const CHILDREN: &str = "child setsid orphan stubborn\nchild setsid holds\n";

/// It dies in the middle of a line, with last words.
pub fn crash(trial: &Trial<'_>) -> anyhow::Result<()> {
    let script = "open\nsay Hello\ncomplain the last words\npart {\"type\":\"assis\ncrash";
    let heard = heard(trial.fake(script, "x", &[])?)?;
    let session = heard.ends(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(session.signal == Some(9), "{session:?}");
    ensure!(message.contains("signal 9") && message.contains("the last words"), "{session:?}");
    ensure!(heard.text() == "Hello", "{:?}", heard.text());
    ensure!(heard.turn()?.status == TurnStatus::Failed, "{:?}", heard.turn()?);
    let half = |body: &NativeBody| matches!(body, NativeBody::Text(text) if text.contains("assis"));
    let kept = heard.events.iter().filter_map(|event| event.native.as_ref()).any(|native| half(&native.body));
    ensure!(kept, "half a line is lost\n{}", heard.ended.shown());
    Ok(())
}

/// It pays no attention to being stopped, and has children that do not either.
pub fn stubborn(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = trial.fake(&format!("open\nignore\n{CHILDREN}say Hello\nhang"), "x", &[])?;
    wait_for(&running, "a text", is_message)?;
    running.signal(Signal::TERM)?;
    let heard = heard(running)?;
    heard.ends(130, EndReason::Cancelled)?;
    ensure!(heard.turn()?.status == TurnStatus::Interrupted, "{:?}", heard.turn()?);
    let left = trial.stage.left_behind();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// Its children outlive it, but not the session.
pub fn children(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = heard(trial.fake(&format!("open\n{CHILDREN}say Hello\ndone\nwait"), "x", &[])?)?;
    heard.ends(0, EndReason::Completed)?;
    let left = trial.stage.left_behind();
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// Switchboard is killed while the agent is stubborn and has children of that kind.
pub fn killed(trial: &Trial<'_>) -> anyhow::Result<()> {
    let running = trial.fake(&format!("open\nignore\n{CHILDREN}say Hello\nhang"), "x", &[])?;
    wait_for(&running, "a text", is_message)?;
    running.signal(Signal::KILL)?;
    running.end()?;
    let left = trial.stage.left_behind_after(crate::play::GOING);
    ensure!(left.is_empty(), "left behind: {left:?}");
    Ok(())
}

/// What is no record is kept, and the session goes on.
pub fn garbage(trial: &Trial<'_>) -> anyhow::Result<()> {
    let script = "open\ngarbage 3000\nprint not a record\nprint {\"type\":\"unheard of\"}\nsay Hello\ndone\nwait";
    let heard = heard(trial.fake(script, "x", &[])?)?;
    heard.ends(0, EndReason::Completed)?;
    ensure!(heard.text() == "Hello", "{:?}", heard.text());
    let natives = || heard.events.iter().filter_map(|event| event.native.as_ref()).map(|native| &native.body);
    ensure!(natives().any(|body| matches!(body, NativeBody::Bytes(bytes) if bytes.len() == 3000)), "bytes are lost");
    ensure!(natives().any(|body| matches!(body, NativeBody::Text(text) if text == "not a record")), "text is lost");
    Ok(())
}

/// It ends as if all were well, but the turn is not over.
pub fn silent_end(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = heard(trial.fake("open\nsay Hello\ncomplain going now\nexit 0", "x", &[])?)?;
    let session = heard.ends(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("exit code 0") && message.contains("going now"), "{session:?}");
    ensure!(session.exit_code == Some(0), "{session:?}");
    Ok(())
}

/// It ends before it has begun: that is not to have started.
pub fn no_start(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = heard(trial.fake("complain cannot find myself\nexit 7", "x", &[])?)?;
    let session = heard.ends(4, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("exit code 7") && message.contains("cannot find myself"), "{session:?}");
    Ok(())
}

/// It says no more, and lives on.
pub fn mute(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = heard(trial.fake("open\nsay Hello\nclose stdout\nhang", "x", &[])?)?;
    let session = heard.ends(1, EndReason::Failed)?;
    ensure!(session.error.is_some(), "{session:?}");
    Ok(())
}

/// It does nothing more.
pub fn idle(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = heard(trial.fake("open\nsay Hello\nhang", "x", &["--idle-timeout", "500ms"])?)?;
    heard.ends(124, EndReason::Timeout)?;
    Ok(())
}

/// A line that is larger than anybody wants in memory: it is kept, and the session goes on.
pub fn huge(trial: &Trial<'_>) -> anyhow::Result<()> {
    let fake = trial.fake_program("open\nline 100000000\nsay after\ndone\nwait")?;
    let words = ["run", trial.cli.name, "x", "--last-message"];
    let ended = trial.begin(&words, &[(&override_variable(trial.cli.name), Some(&fake))])?.end()?;
    ensure!(ended.code == Some(0), "{}", ended.shown());
    ensure!(ended.stdout.trim_end().ends_with("after") && ended.stdout.len() < 100, "{}", ended.shown());
    Ok(())
}

/// It never gets ready.
pub fn handshake(trial: &Trial<'_>) -> anyhow::Result<()> {
    let limits = Limits { handshake: Duration::from_millis(500), ..Limits::default() };
    let (inside, request) = inside(trial, "complain thinking about it\nhang", limits)?;
    let (outcome, heard) = inside.start(request)?.end()?;
    ensure!(outcome.reason == Some(EndReason::Failed) && !outcome.started, "{outcome:?}");
    let message = outcome.error.map(|error| error.message).unwrap_or_default();
    ensure!(message.contains("was not ready") && message.contains("thinking about it"), "{message}");
    heard.is_closed()
}

/// Nobody answers in time, somebody answers nonsense: the answer is no, and the agent hears it.
pub fn unanswered(trial: &Trial<'_>) -> anyhow::Result<()> {
    let limits = Limits { approval: Duration::from_millis(500), ..Limits::default() };
    let (inside, request) = inside(trial, "open\nask ls\ndone\nprompt\nask ls\ndone\nwait", limits)?;
    let mut watched = inside.start(request)?;
    watched.asked()?;
    watched.turn()?;
    watched.prompt("again")?;
    let asked = watched.asked()?;
    let nonsense =
        switchboard_agents::Answer { option: Some("no such option".to_owned()), ..answer(&asked, Decision::Allow) };
    ensure!(watched.answer(nonsense).is_err(), "an option that was never offered was taken");
    watched.turn()?;
    let (_, heard) = watched.end()?;
    heard.is_closed()?;
    ensure!(heard.text() == "declineddeclined", "{:?}", heard.text());
    let no = |resolved: &&switchboard_event::RequestResolved| {
        matches!(resolved.outcome, Outcome::Declined | Outcome::Expired) && resolved.by != Decider::Client
    };
    ensure!(heard.resolutions().iter().all(no), "{:?}", heard.resolutions());
    ensure!(heard.events.iter().filter(|event| matches!(event.body, Body::RequestOpened(_))).count() == 2, "not two");
    Ok(())
}

fn inside(trial: &Trial<'_>, script: &str, limits: Limits) -> anyhow::Result<(Inside, StartRequest)> {
    let fake = trial.fake_program(script)?;
    let mut request = staying(trial, &trial.stage.project(), "x");
    request.env.insert(override_variable(trial.cli.name), fake);
    Ok((Inside::new(trial)?, StartRequest { limits, ..request }))
}
