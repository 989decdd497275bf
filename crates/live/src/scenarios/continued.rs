//! More than one prompt: in the same session, while a turn runs, in a new process, in a copy.

use anyhow::{Context as _, ensure};
use switchboard_agents::{Decision, WhileRunning};
use switchboard_event::{ApprovalMode, Body, Details, EndReason, Event, Item, Outcome, TurnStatus};

use crate::{
    heard::Heard,
    inside::{Inside, answer, staying},
    scenarios::stops::{appended_text, is_text},
    trial::{Trial, abilities},
};

/// A session that stays: a follow-up, a prompt while a turn runs, an interrupt after which it goes on.
pub fn session(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (inside, model) = (Inside::new(trial)?, trial.stage.model());
    let mut request = staying(trial, &trial.stage.project(), "[[text the first]] x");
    request.config.approval_mode = Some(ApprovalMode::AutoAll);
    let mut watched = inside.start(request)?;
    watched.turn()?;
    watched.prompt("[[text the second]] [[hold]] [[text half]] x")?;
    // The model holds here. Earlier, a prompt that steers could cut the text after its first word.
    let mut text = String::new();
    watched.wait("the second text", |event| {
        text.push_str(appended_text(event));
        text.contains("the second").then_some(())
    })?;
    watched.prompt("[[text the third]] x")?;
    model.release();
    watched.wait("the third text", |event| says(event, "the third").then_some(()))?;
    let (outcome, heard) = watched.end()?;
    ensure!(outcome.reason == Some(EndReason::Completed), "{outcome:?}");
    heard.is_closed()?;
    // Words that join a turn may cut short what is being said.
    let (text, steers) = (heard.text(), abilities(trial.cli).while_running == WhileRunning::Steer);
    let whole = text == "the firstthe second halfthe third";
    let joined = steers && ["the first", "the second", "the third"].iter().all(|words| text.contains(words));
    ensure!(whole || joined, "{text:?}");
    Ok(())
}

/// A message with these words is complete.
fn says(event: &Event, words: &str) -> bool {
    let has = |item: &Item| matches!(&item.details, Details::AgentMessage(message) if message.text.contains(words));
    matches!(&event.body, Body::ItemCompleted(item) if has(item))
}

/// A turn that is stopped in a session that stays: the next prompt works.
pub fn interrupted(trial: &Trial<'_>) -> anyhow::Result<()> {
    let inside = Inside::new(trial)?;
    let mut request = staying(trial, &trial.stage.project(), "[[text to be stopped]] [[hold]] [[text never]]");
    request.config.approval_mode = Some(ApprovalMode::AutoAll);
    let mut watched = inside.start(request)?;
    watched.wait("a text", |event| is_text(event).then_some(()))?;
    watched.interrupt()?;
    watched.turn()?;
    watched.prompt("[[text it goes on]] x")?;
    watched.turn()?;
    let (outcome, heard) = watched.end()?;
    ensure!(outcome.reason == Some(EndReason::Completed), "{outcome:?}");
    heard.is_closed()?;
    ensure!(heard.turn()?.status == TurnStatus::Completed, "{:?}", heard.turn()?);
    ensure!(heard.text().ends_with("it goes on") && !heard.text().contains("never"), "{:?}", heard.text());
    Ok(())
}

/// Somebody answers: no with a reason, yes, and yes to something else where the agent takes that.
pub fn answered(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (inside, model) = (Inside::new(trial)?, trial.stage.model());
    let made = |file: &str| trial.stage.project().join(file).exists();
    let shell = |command: &str| format!("{} go", trial.cli.shell(command));
    let mut watched = inside.start(staying(trial, &trial.stage.project(), &shell("touch declined.txt")))?;
    let asked = watched.asked()?;
    let reason = Some("because the moon is full".to_owned());
    watched.answer(switchboard_agents::Answer { message: reason, ..answer(&asked, Decision::Decline) })?;
    watched.turn()?;
    watched.prompt(&shell("touch allowed.txt"))?;
    let asked = watched.asked()?;
    ensure!(!made("allowed.txt"), "it ran before it was allowed");
    watched.answer(answer(&asked, Decision::Allow))?;
    watched.turn()?;
    ensure!(made("allowed.txt") && !made("declined.txt"), "allowed and declined were not told apart");
    if abilities(trial.cli).changed_input {
        watched.prompt(&shell("touch asked.txt"))?;
        let asked = watched.asked()?;
        let input = serde_json::value::to_raw_value(&(trial.cli.shell)("touch instead.txt").input)?;
        watched.answer(switchboard_agents::Answer { input: Some(input), ..answer(&asked, Decision::Allow) })?;
        watched.turn()?;
        ensure!(made("instead.txt") && !made("asked.txt"), "the changed command did not run instead");
    }
    let (_, heard) = watched.end()?;
    heard.is_closed()?;
    let outcomes: Vec<_> = heard.resolutions().iter().map(|resolved| resolved.outcome).collect();
    ensure!(outcomes.starts_with(&[Outcome::Declined, Outcome::Allowed]), "{outcomes:?}");
    let told = model.conversation().iter().any(|request| request.body.to_string().contains("the moon is full"));
    let noticed = heard.notices().contains("the moon is full");
    ensure!(told || noticed || heard.events.iter().any(says_why), "the reason is lost");
    Ok(())
}

/// What the agent was told, or would have been if it could be.
fn says_why(event: &Event) -> bool {
    matches!(&event.body, Body::RequestResolved(resolved)
        if resolved.message.as_deref().is_some_and(|message| message.contains("the moon")))
}

/// A session goes on in new processes, twice, and in a copy: the model sees all that was said before.
pub fn resumed(trial: &Trial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all"];
    let first = trial.run("[[text apricot]] x", &flags)?;
    first.ends(0, EndReason::Completed)?;
    let second = trial.resume("[[text blueberry]] x", &flags)?;
    remembers(trial, &second, "blueberry", &["apricot"])?;
    let third = trial.resume("[[text cherry]] x", &flags)?;
    remembers(trial, &third, "cherry", &["apricot", "blueberry"])?;
    let one = |heard: &Heard| heard.events.first().map(|event| event.session.clone());
    ensure!(one(&first) == one(&second) && one(&second) == one(&third), "not one session");
    ensure!(third.events.first().is_some_and(|event| event.run == 3 && event.seq > 1), "not the third run");
    if !abilities(trial.cli).fork {
        return Ok(());
    }
    let copy = trial.resume("[[text damson]] x", &["--approval", "auto-all", "--fork"])?;
    remembers(trial, &copy, "damson", &["apricot", "cherry"])?;
    ensure!(one(&copy) != one(&first), "the copy is not a session of its own");
    let first = one(&first).context("no session")?;
    let again = heard_again(trial, &first)?;
    remembers(trial, &again, "elderberry", &["apricot", "cherry"])?;
    let model = trial.stage.model().conversation();
    let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
    ensure!(!asked.contains("damson"), "what was said in the copy is in the session");
    Ok(())
}

/// After `/clear`, the model gets nothing of the earlier conversation, however often the session is continued.
pub fn cleared(trial: &Trial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all"];
    trial.run("[[text apricot]] x", &flags)?.ends(0, EndReason::Completed)?;
    trial.resume("/clear", &flags)?.ends(0, EndReason::Completed)?;
    for word in ["blueberry", "cherry"] {
        let heard = trial.resume(&format!("[[text {word}]] x"), &flags)?;
        remembers(trial, &heard, word, &[])?;
        let model = trial.stage.model().conversation();
        let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
        ensure!(!asked.contains("apricot"), "what was cleared is still there: {asked}");
    }
    Ok(())
}

/// The session of which a copy was made goes on too.
fn heard_again(trial: &Trial<'_>, session: &str) -> anyhow::Result<Heard> {
    let words = ["run", "--resume", session, "[[text elderberry]] x", "--approval", "auto-all", "--dialect", "events"];
    crate::trial::heard(trial.begin(&words, &[])?)
}

/// It says something new, and the model was given what was said before.
pub fn remembers(trial: &Trial<'_>, heard: &Heard, says: &str, before: &[&str]) -> anyhow::Result<()> {
    heard.ends(0, EndReason::Completed)?;
    ensure!(heard.text() == says, "{:?}, not {says:?}\n{}", heard.text(), heard.ended.shown());
    let model = trial.stage.model().conversation();
    let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
    for word in before {
        ensure!(asked.contains(word), "the model does not hear of {word}: {asked}");
    }
    let reply = heard.usage();
    ensure!(reply.output == 20, "{says}: one reply of 20 tokens, not {reply:?}");
    Ok(())
}
