//! Sessions: several prompts, other processes, forks, sessions started outside Switchboard, and options of an agent.

use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchboard_agents::{AgentCommand, RequestDecision, WhileRunning};
use switchboard_event::{
    ApprovalMode, Details, EndReason, Event, EventBody, Info, Item, Outcome, Selector, Topic, TurnStatus,
};

use super::stops::{appended_text, is_text_delta};
use crate::embedded_engine::{EmbeddedEngine, WatchedSession, minimal_answer, persistent_request};
use crate::observed_run::ObservedRun;
use crate::trial::{LiveTrial, agent_abilities, wait_for_run};

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
    let (outcome, observed) = watched.close_and_wait()?;
    ensure!(outcome.reason == Some(EndReason::Completed), "{outcome:?}");
    observed.check_closed()?;
    // A steering prompt may cut the text short.
    let (text, steers) = (observed.agent_text(), agent_abilities(trial.cli).while_running == WhileRunning::Steer);
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
    let (outcome, observed) = watched.close_and_wait()?;
    ensure!(outcome.reason == Some(EndReason::Completed), "{outcome:?}");
    observed.check_closed()?;
    ensure!(observed.last_turn()?.status == TurnStatus::Completed, "{:?}", observed.last_turn()?);
    ensure!(
        observed.agent_text().ends_with("it goes on") && !observed.agent_text().contains("never"),
        "{:?}",
        observed.agent_text()
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
    let (_, observed) = watched.close_and_wait()?;
    observed.check_closed()?;
    let outcomes: Vec<_> = observed.request_resolutions().iter().map(|resolved| resolved.outcome).collect();
    ensure!(outcomes.starts_with(&[Outcome::Declined, Outcome::Allowed]), "{outcomes:?}");
    let told =
        model.conversation_requests().iter().any(|request| request.body.to_string().contains("the moon is full"));
    let noticed = observed.notice_text().contains("the moon is full");
    ensure!(told || noticed || observed.events.iter().any(has_decline_reason), "the reason is lost");
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
    let one = |observed: &ObservedRun| observed.events.first().map(|event| event.session.clone());
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
    ensure!(!asked.contains("damson"), "the session has the prompt of its copy");
    Ok(())
}

/// After `/clear`, the model gets nothing of the earlier conversation, however often the session is continued.
pub fn clear_conversation(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let flags = ["--approval", "auto-all"];
    trial.run("[[text apricot]] x", &flags)?.check_end(0, EndReason::Completed)?;
    trial.resume_last("/clear", &flags)?.check_end(0, EndReason::Completed)?;
    for word in ["blueberry", "cherry"] {
        let observed = trial.resume_last(&format!("[[text {word}]] x"), &flags)?;
        check_memory(trial, &observed, word, &[])?;
        let model = trial.stage.scripted_model().conversation_requests();
        let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
        ensure!(!asked.contains("apricot"), "what was cleared is still there: {asked}");
    }
    Ok(())
}

/// Continues the session that was forked.
fn resume_original(trial: &LiveTrial<'_>, session: &str) -> anyhow::Result<ObservedRun> {
    let words = ["run", "--resume", session, "[[text elderberry]] x", "--approval", "auto-all", "--dialect", "events"];
    wait_for_run(trial.spawn_switchboard(&words, &[])?)
}

/// Checks the answer, and that the model got the earlier conversation.
fn check_memory(trial: &LiveTrial<'_>, observed: &ObservedRun, says: &str, before: &[&str]) -> anyhow::Result<()> {
    observed.check_end(0, EndReason::Completed)?;
    ensure!(
        observed.agent_text() == says,
        "{:?}, not {says:?}\n{}",
        observed.agent_text(),
        observed.ended.describe_output()
    );
    let model = trial.stage.scripted_model().conversation_requests();
    let asked = model.last().map(|request| request.body.to_string()).unwrap_or_default();
    for word in before {
        ensure!(asked.contains(word), "the model does not hear of {word}: {asked}");
    }
    let reply = observed.total_usage();
    ensure!(reply.output == 20, "{says}: one reply of 20 tokens, not {reply:?}");
    Ok(())
}

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
fn resume_by_id(trial: &LiveTrial<'_>, id: &str, says: &str) -> anyhow::Result<ObservedRun> {
    let prompt = format!("[[text {says}]] x");
    let words = ["run", "--resume", id, &prompt, "--approval", "auto-all", "--dialect", "events"];
    wait_for_run(trial.spawn_switchboard_in(&trial.stage.home_dir(), &words, &[])?)
}

const EFFORT_OPTION_ID: &str = "reasoning_effort";

/// Without a session, an agent reports its models and modes.
pub fn discover_options(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let inside = EmbeddedEngine::new(trial)?;
    let info = inside.discover_agent(trial.cli.name, trial.session_config(&trial.stage.project_dir()))?;
    ensure!(info.models.len() > 1, "models: {:?}", info.models);
    ensure!(info.modes.len() > 1, "modes: {:?}", info.modes);
    Ok(())
}

/// A changed model is reported and used with the next prompt.
pub fn select_model(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let inside = EmbeddedEngine::new(trial)?;
    let mut watched = start_session(trial, &inside)?;
    let info = watched.session.info();
    let before =
        trial.stage.scripted_model().conversation_requests().last().context("nothing was asked")?.model.clone();
    let other = other_model(&info, &before).context("there is no other model")?;
    watched.send_command(AgentCommand::SetModel(other.clone()))?;
    watched
        .wait_for_event("the other model", |event| updated_info(event).filter(|info| info.model.is_some()).map(drop))?;
    let asked = prompt_model(trial, &mut watched)?;
    ensure!(
        asked.model != before && asked.model.contains(bare_model_name(&other)),
        "{other} was chosen: {}",
        asked.model
    );
    watched.close_and_wait().map(drop)
}

/// A changed effort is reported and used with the next prompt.
pub fn select_effort(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let inside = EmbeddedEngine::new(trial)?;
    let mut watched = start_session(trial, &inside)?;
    let info = watched.session.info();
    let selector = find_option(&info, EFFORT_OPTION_ID).with_context(|| format!("it offers {:?}", info.options))?;
    for value in ["high", "low"] {
        ensure!(selector.values.iter().any(|known| known.id == value), "{selector:?}");
        watched.send_command(AgentCommand::SetOption { id: EFFORT_OPTION_ID.to_owned(), value: value.to_owned() })?;
        let told = |event: &Event| {
            find_option(updated_info(event)?, EFFORT_OPTION_ID).filter(|selector| selector.value == value).map(drop)
        };
        watched.wait_for_event("the other effort", told)?;
        let asked = prompt_model(trial, &mut watched)?;
        ensure!(
            requested_effort(&asked.body) == Some(value),
            "{value} was chosen: {:?}",
            requested_effort(&asked.body)
        );
    }
    watched.close_and_wait().map(drop)
}

/// An agent's slash command is a turn; unknown commands are refused.
pub fn run_slash_command(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let inside = EmbeddedEngine::new(trial)?;
    let mut watched = start_session(trial, &inside)?;
    let unknown = watched.send_command(AgentCommand::Slash { name: "dance".to_owned(), arguments: String::new() });
    ensure!(unknown.as_ref().is_err_and(|error| error.to_string().contains("/compact")), "{unknown:?}");
    watched.send_command(AgentCommand::Slash { name: "compact".to_owned(), arguments: String::new() })?;
    watched.wait_for_event("a compaction", |event| match &event.body {
        EventBody::Notice(notice) => (notice.topic == Topic::Compaction).then_some(()),
        _ => None,
    })?;
    watched.wait_for_turn_end()?;
    prompt_model(trial, &mut watched)?;
    watched.close_and_wait().map(drop)
}

/// Starts a session with one turn.
fn start_session<'a>(trial: &LiveTrial<'_>, inside: &'a EmbeddedEngine) -> anyhow::Result<WatchedSession<'a>> {
    let mut request = persistent_request(trial, &trial.stage.project_dir(), "");
    request.prompt = None;
    let mut watched = inside.start_session(request)?;
    prompt_model(trial, &mut watched)?;
    Ok(watched)
}

fn prompt_model(
    trial: &LiveTrial<'_>,
    watched: &mut WatchedSession<'_>,
) -> anyhow::Result<switchboard_testkit::model::RecordedModelRequest> {
    let asked = trial.stage.scripted_model().conversation_requests().len();
    watched.send_prompt("[[text well]] please")?;
    watched.wait_for_turn_end()?;
    let requests = trial.stage.scripted_model().conversation_requests();
    ensure!(requests.len() > asked, "the model was not asked");
    // An agent may first have the old model summarize the conversation.
    requests.into_iter().next_back().context("the model was not asked")
}

fn updated_info(event: &Event) -> Option<&Info> {
    match &event.body {
        EventBody::SessionUpdated(updated) => Some(&updated.info),
        _ => None,
    }
}

fn find_option<'a>(info: &'a Info, id: &str) -> Option<&'a Selector> {
    info.options.iter().find(|option| option.id == id)
}

/// Returns a model that the API sees under another name.
fn other_model(info: &Info, before: &str) -> Option<String> {
    let other = |id: &&String| !before.contains(bare_model_name(id)) && !matches!(id.as_str(), "default" | "auto");
    let mut models = info.models.iter().map(|model| &model.id);
    // Of the same provider, if there are several.
    let near =
        |id: &&String| info.provider.as_ref().is_none_or(|provider| !id.contains('/') || id.starts_with(provider));
    models.rfind(|id| other(id) && near(id)).cloned()
}

/// Removes the provider and remarks from a model name.
fn bare_model_name(model: &str) -> &str {
    let bare = model.rsplit('/').next().unwrap_or(model);
    bare.split('[').next().unwrap_or(bare)
}

/// Returns the reasoning effort of a request, for each API.
pub fn requested_effort(body: &Value) -> Option<&str> {
    let places = ["/output_config/effort", "/reasoning/effort", "/reasoning_effort"];
    places.into_iter().find_map(|place| body.pointer(place)).and_then(Value::as_str)
}
