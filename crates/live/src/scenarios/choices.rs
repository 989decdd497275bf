//! Options of an agent: discovered without a session, changed while it runs, and effective at the model.

use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchboard_agents::AgentCommand;
use switchboard_event::{Event, EventBody, Info, Selector, Topic};

use crate::{
    inside::{EmbeddedEngine, WatchedSession, persistent_request},
    trial::LiveTrial,
};

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
