//! What an agent lets one choose: told before there is a session, taken while it runs, and heard by the model.

use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchboard_agents::Command;
use switchboard_event::{Body, Event, Info, Selector, SessionConfig, Topic};

use crate::{
    inside::{Inside, Watched, staying},
    trial::Trial,
};

/// How hard a model thinks.
const EFFORT: &str = "reasoning_effort";

/// Without a session, an agent tells its models and what else can be chosen.
pub fn discovered(trial: &Trial<'_>) -> anyhow::Result<()> {
    let inside = Inside::new(trial)?;
    let info = inside.discover(trial.cli.name, config(trial))?;
    ensure!(info.models.len() > 1, "models: {:?}", info.models);
    ensure!(info.modes.len() > 1, "modes: {:?}", info.modes);
    Ok(())
}

/// Another model is told, and asked with the next prompt.
pub fn model(trial: &Trial<'_>) -> anyhow::Result<()> {
    let inside = Inside::new(trial)?;
    let mut watched = begun(trial, &inside)?;
    let info = watched.session.info();
    let before = trial.stage.model().conversation().last().context("nothing was asked")?.model.clone();
    let other = other_model(&info, &before).context("there is no other model")?;
    watched.command(Command::SetModel(other.clone()))?;
    watched.wait("the other model", |event| update(event).filter(|info| info.model.is_some()).map(drop))?;
    let asked = next(trial, &mut watched)?;
    ensure!(asked.model != before && asked.model.contains(plain(&other)), "{other} was chosen: {}", asked.model);
    watched.end().map(drop)
}

/// Another effort is told, and asked for with the next prompt.
pub fn effort(trial: &Trial<'_>) -> anyhow::Result<()> {
    let inside = Inside::new(trial)?;
    let mut watched = begun(trial, &inside)?;
    let info = watched.session.info();
    let selector = of(&info, EFFORT).with_context(|| format!("it offers {:?}", info.options))?;
    for value in ["high", "low"] {
        ensure!(selector.values.iter().any(|known| known.id == value), "{selector:?}");
        watched.command(Command::SetOption { id: EFFORT.to_owned(), value: value.to_owned() })?;
        let told = |event: &Event| of(update(event)?, EFFORT).filter(|selector| selector.value == value).map(drop);
        watched.wait("the other effort", told)?;
        let asked = next(trial, &mut watched)?;
        ensure!(thought(&asked.body) == Some(value), "{value} was chosen: {:?}", thought(&asked.body));
    }
    watched.end().map(drop)
}

/// A command of the agent's own is a turn, and one that it does not have is refused.
pub fn command(trial: &Trial<'_>) -> anyhow::Result<()> {
    let inside = Inside::new(trial)?;
    let mut watched = begun(trial, &inside)?;
    let unknown = watched.command(Command::Slash { name: "dance".to_owned(), arguments: String::new() });
    ensure!(unknown.as_ref().is_err_and(|error| error.to_string().contains("/compact")), "{unknown:?}");
    watched.command(Command::Slash { name: "compact".to_owned(), arguments: String::new() })?;
    watched.wait("a compaction", |event| match &event.body {
        Body::Notice(notice) => (notice.topic == Topic::Compaction).then_some(()),
        _ => None,
    })?;
    watched.turn()?;
    next(trial, &mut watched)?;
    watched.end().map(drop)
}

fn config(trial: &Trial<'_>) -> SessionConfig {
    let folder = trial.stage.project().to_string_lossy().into_owned();
    SessionConfig { working_directory: Some(folder), ..SessionConfig::default() }
}

/// A session that has said something.
fn begun<'a>(trial: &Trial<'_>, inside: &'a Inside) -> anyhow::Result<Watched<'a>> {
    let mut request = staying(trial, &trial.stage.project(), "");
    request.prompt = None;
    let mut watched = inside.start(request)?;
    next(trial, &mut watched)?;
    Ok(watched)
}

/// What the model is asked with the next prompt.
fn next(trial: &Trial<'_>, watched: &mut Watched<'_>) -> anyhow::Result<switchboard_testkit::model::Request> {
    let asked = trial.stage.model().conversation().len();
    watched.prompt("[[text well]] please")?;
    watched.turn()?;
    let requests = trial.stage.model().conversation();
    ensure!(requests.len() > asked, "the model was not asked");
    // An agent may first have the old model sum up what was said.
    requests.into_iter().next_back().context("the model was not asked")
}

fn update(event: &Event) -> Option<&Info> {
    match &event.body {
        Body::SessionUpdated(updated) => Some(&updated.info),
        _ => None,
    }
}

fn of<'a>(info: &'a Info, id: &str) -> Option<&'a Selector> {
    info.options.iter().find(|option| option.id == id)
}

/// A model that is called by another name, as the API sees it.
fn other_model(info: &Info, before: &str) -> Option<String> {
    let other = |id: &&String| !before.contains(plain(id)) && !matches!(id.as_str(), "default" | "auto");
    let mut models = info.models.iter().map(|model| &model.id);
    // Of the same provider, where there are several.
    let near =
        |id: &&String| info.provider.as_ref().is_none_or(|provider| !id.contains('/') || id.starts_with(provider));
    models.rfind(|id| other(id) && near(id)).cloned()
}

/// A name without its provider and without remarks.
fn plain(model: &str) -> &str {
    let bare = model.rsplit('/').next().unwrap_or(model);
    bare.split('[').next().unwrap_or(bare)
}

/// How hard the model is asked to think, in the words of each API.
pub fn thought(body: &Value) -> Option<&str> {
    let places = ["/output_config/effort", "/reasoning/effort", "/reasoning_effort"];
    places.into_iter().find_map(|place| body.pointer(place)).and_then(Value::as_str)
}
