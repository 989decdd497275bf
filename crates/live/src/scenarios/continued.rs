//! More than one prompt: in one session, during a turn, in a new process, in a fork.

use anyhow::{Context as _, ensure};
use switchboard_agents::{RequestDecision, WhileRunning};
use switchboard_event::{ApprovalMode, Details, EndReason, Event, EventBody, Item, Outcome, TurnStatus};

use crate::{
    heard::ObservedRun,
    inside::{EmbeddedEngine, minimal_answer, persistent_request},
    scenarios::stops::{appended_text, is_text_delta},
    trial::{LiveTrial, agent_abilities},
};

/// A session that stays open: a follow-up, and a prompt during a turn.
pub fn stay_for_prompts(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (inside, model) = (EmbeddedEngine::new(trial)?, trial.stage.scripted_model());
    let mut request = persistent_request(trial, &trial.stage.project_dir(), "[[text the first]] x");
    request.config.approval_mode = Some(ApprovalMode::AutoAll);
    let mut watched = inside.start_session(request)?;
    watched.wait_for_turn_end()?;
    watched.send_prompt("[[text the second]] [[hold]] [[text half]] x")?;
    // The model holds here. A prompt that steers earlier could cut the text after its first word.
    let mut text = String::new();
    watched.wait_for_event("the second text", |event| {
        text.push_str(appended_text(event));
        text.contains("the second").then_some(())
    })?;
    watched.send_prompt("[[text the third]] x")?;
    model.release_hold();
    watched.wait_for_event("the third text", |event| contains_message(event, "the third").then_some(()))?;
    let (outcome, heard) = watched.close_and_wait()?;
    ensure!(outcome.reason == Some(EndReason::Completed), "{outcome:?}");
    heard.check_closed()?;
    // A steering prompt may cut the text short.
    let (text, steers) = (heard.agent_text(), agent_abilities(trial.cli).while_running == WhileRunning::Steer);
    let whole = text == "the firstthe second halfthe third";
    let joined = steers && ["the first", "the second", "the third"].iter().all(|words| text.contains(words));
    ensure!(whole || joined, "{text:?}");
    Ok(())
}

/// Returns whether a message with these words is complete.
fn contains_message(event: &Event, words: &str) -> bool {
    let has = |item: &Item| matches!(&item.details, Details::AgentMessage(message) if message.text.contains(words));
    matches!(&event.body, EventBody::ItemCompleted(item) if has(item))
}

/// A session that stays open continues after an interrupt.
pub fn interrupt_and_continue(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let inside = EmbeddedEngine::new(trial)?;
    let mut request =
        persistent_request(trial, &trial.stage.project_dir(), "[[text to be stopped]] [[hold]] [[text never]]");
    request.config.approval_mode = Some(ApprovalMode::AutoAll);
    let mut watched = inside.start_session(request)?;
    watched.wait_for_event("a text", |event| is_text_delta(event).then_some(()))?;
    watched.interrupt_turn()?;
    watched.wait_for_turn_end()?;
    watched.send_prompt("[[text it goes on]] x")?;
    watched.wait_for_turn_end()?;
    let (outcome, heard) = watched.close_and_wait()?;
    ensure!(outcome.reason == Some(EndReason::Completed), "{outcome:?}");
    heard.check_closed()?;
    ensure!(heard.last_turn()?.status == TurnStatus::Completed, "{:?}", heard.last_turn()?);
    ensure!(
        heard.agent_text().ends_with("it goes on") && !heard.agent_text().contains("never"),
        "{:?}",
        heard.agent_text()
    );
    Ok(())
}

/// Declines with a reason, allows, and allows with changed input where the agent supports it.
pub fn answer_requests(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (inside, model) = (EmbeddedEngine::new(trial)?, trial.stage.scripted_model());
    let made = |file: &str| trial.stage.project_dir().join(file).exists();
    let shell = |command: &str| format!("{} go", trial.cli.shell_directive(command));
    let mut watched =
        inside.start_session(persistent_request(trial, &trial.stage.project_dir(), &shell("touch declined.txt")))?;
    let asked = watched.wait_for_request()?;
    let reason = Some("because the moon is full".to_owned());
    watched.send_answer(switchboard_agents::RequestAnswer {
        message: reason,
        ..minimal_answer(&asked, RequestDecision::Decline)
    })?;
    watched.wait_for_turn_end()?;
    watched.send_prompt(&shell("touch allowed.txt"))?;
    let asked = watched.wait_for_request()?;
    ensure!(!made("allowed.txt"), "it ran before it was allowed");
    watched.send_answer(minimal_answer(&asked, RequestDecision::Allow))?;
    watched.wait_for_turn_end()?;
    trial.check_written("allowed.txt")?;
    ensure!(!made("declined.txt"), "allowed and declined were not told apart");
    if agent_abilities(trial.cli).changed_input {
        watched.send_prompt(&shell("touch asked.txt"))?;
        let asked = watched.wait_for_request()?;
        let input = serde_json::value::to_raw_value(&(trial.cli.shell)("touch instead.txt").input)?;
        watched.send_answer(switchboard_agents::RequestAnswer {
            input: Some(input),
            ..minimal_answer(&asked, RequestDecision::Allow)
        })?;
        watched.wait_for_turn_end()?;
        trial.check_written("instead.txt")?;
        ensure!(!made("asked.txt"), "the changed command did not run instead");
    }
    let (_, heard) = watched.close_and_wait()?;
    heard.check_closed()?;
    let outcomes: Vec<_> = heard.request_resolutions().iter().map(|resolved| resolved.outcome).collect();
    ensure!(outcomes.starts_with(&[Outcome::Declined, Outcome::Allowed]), "{outcomes:?}");
    let told =
        model.conversation_requests().iter().any(|request| request.body.to_string().contains("the moon is full"));
    let noticed = heard.notice_text().contains("the moon is full");
    ensure!(told || noticed || heard.events.iter().any(has_decline_reason), "the reason is lost");
    Ok(())
}

/// Returns whether the resolution carries the reason.
fn has_decline_reason(event: &Event) -> bool {
    matches!(&event.body, EventBody::RequestResolved(resolved)
        if resolved.message.as_deref().is_some_and(|message| message.contains("the moon")))
}

/// A session continues in new processes, twice, and in a fork: the model gets the whole conversation.
pub fn resume_and_fork(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all"];
    let first = trial.run("[[text apricot]] x", &flags)?;
    first.check_end(0, EndReason::Completed)?;
    let second = trial.resume_last("[[text blueberry]] x", &flags)?;
    check_memory(trial, &second, "blueberry", &["apricot"])?;
    let third = trial.resume_last("[[text cherry]] x", &flags)?;
    check_memory(trial, &third, "cherry", &["apricot", "blueberry"])?;
    let one = |heard: &ObservedRun| heard.events.first().map(|event| event.session.clone());
    ensure!(one(&first) == one(&second) && one(&second) == one(&third), "not one session");
    ensure!(third.events.first().is_some_and(|event| event.run == 3 && event.seq > 1), "not the third run");
    if !agent_abilities(trial.cli).fork {
        return Ok(());
    }
    let copy = trial.resume_last("[[text damson]] x", &["--approval", "auto-all", "--fork"])?;
    check_memory(trial, &copy, "damson", &["apricot", "cherry"])?;
    ensure!(one(&copy) != one(&first), "the copy is not a session of its own");
    let first = one(&first).context("no session")?;
    let again = resume_original(trial, &first)?;
    check_memory(trial, &again, "elderberry", &["apricot", "cherry"])?;
    let model = trial.stage.scripted_model().conversation_requests();
    let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
    ensure!(!asked.contains("damson"), "what was said in the copy is in the session");
    Ok(())
}

/// After `/clear`, the model gets nothing of the earlier conversation, however often the session is continued.
pub fn clear_conversation(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all"];
    trial.run("[[text apricot]] x", &flags)?.check_end(0, EndReason::Completed)?;
    trial.resume_last("/clear", &flags)?.check_end(0, EndReason::Completed)?;
    for word in ["blueberry", "cherry"] {
        let heard = trial.resume_last(&format!("[[text {word}]] x"), &flags)?;
        check_memory(trial, &heard, word, &[])?;
        let model = trial.stage.scripted_model().conversation_requests();
        let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
        ensure!(!asked.contains("apricot"), "what was cleared is still there: {asked}");
    }
    Ok(())
}

/// Continues the session that was forked.
fn resume_original(trial: &LiveTrial<'_>, session: &str) -> anyhow::Result<ObservedRun> {
    let words = ["run", "--resume", session, "[[text elderberry]] x", "--approval", "auto-all", "--dialect", "events"];
    crate::trial::wait_for_run(trial.spawn_switchboard(&words, &[])?)
}

/// Checks the answer, and that the model got the earlier conversation.
pub fn check_memory(trial: &LiveTrial<'_>, heard: &ObservedRun, says: &str, before: &[&str]) -> anyhow::Result<()> {
    heard.check_end(0, EndReason::Completed)?;
    ensure!(heard.agent_text() == says, "{:?}, not {says:?}\n{}", heard.agent_text(), heard.ended.describe_output());
    let model = trial.stage.scripted_model().conversation_requests();
    let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
    for word in before {
        ensure!(asked.contains(word), "the model does not hear of {word}: {asked}");
    }
    let reply = heard.total_usage();
    ensure!(reply.output == 20, "{says}: one reply of 20 tokens, not {reply:?}");
    Ok(())
}
