//! What cannot work: each is a clear error with its exit code, and where somebody can do something, it says what.

use std::{fs, os::unix::fs::PermissionsExt as _};

use anyhow::ensure;
use rustix::process::Signal;
use switchboard_engine::find::override_variable;
use switchboard_event::{Body, EndReason, Event, Topic, TurnStatus};
use switchboard_testkit::{clis::Places, model::NO_MODEL, stage::Ended};

use crate::trial::{Trial, heard, known, wait_for};

/// Where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:9";

/// No program, one that is too old or may not be started, no folder: refused before anything starts.
pub fn before_the_start(trial: &Trial<'_>) -> anyhow::Result<()> {
    let run = ["run", trial.cli.name, "x", "--json"];
    let refused = |args: &[&str], variables: &[(&str, Option<&str>)], code: i32, says: &[&str]| {
        let ended = trial.begin(args, variables)?.end()?;
        ensure!(ended.code == Some(code), "not exit code {code}: {}", ended.shown());
        says_all(&ended, says)
    };
    let agent = known(trial.cli)?;
    let install = agent.install.unwrap_or_default();
    refused(&run, &[("PATH", Some("/usr/bin:/bin"))], 3, &["not installed", "hint: install it with", install])?;
    let variable = override_variable(trial.cli.name);
    refused(&run, &[(&variable, Some("/nowhere/at-all"))], 3, &["/nowhere/at-all", "hint: ", &variable])?;
    let folder = trial.stage.root().join("programs");
    fs::create_dir(&folder)?;
    let program = folder.join(trial.cli.program);
    fs::write(&program, "#!/bin/sh\nexit 0\n")?;
    let named = program.to_string_lossy();
    refused(&run, &[(&variable, Some(&named))], 4, &[&named, "hint: "])?;
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755))?;
    if agent.versions.is_some() {
        fs::write(folder.join("package.json"), r#"{"name":"old","version":"0.0.1"}"#)?;
        refused(&run, &[(&variable, Some(&named))], 3, &["0.0.1 is too old", "hint: update it with", install])?;
    }
    refused(&[&run[..], &["--cwd", "/nowhere/at-all"]].concat(), &[], 2, &["/nowhere/at-all"])?;
    refused(&[&run[..], &["--cwd", &named]].concat(), &[], 2, &["Not a directory"])
}

fn says_all(ended: &Ended, says: &[&str]) -> anyhow::Result<()> {
    let missing = says.iter().find(|&&words| !ended.stderr.contains(words));
    ensure!(missing.is_none() && ended.stdout.is_empty(), "does not say {missing:?}: {}", ended.shown());
    Ok(())
}

/// A model that the API does not know, or that the agent does not take at all.
pub fn model(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.run("x", &["--model", NO_MODEL])?;
    if heard.events.is_empty() {
        ensure!(heard.ended.code == Some(4), "{}", heard.ended.shown());
        return says_all(&heard.ended, &[NO_MODEL, "hint: "]);
    }
    let session = heard.ends(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(message.contains("404") || message.contains(NO_MODEL), "{session:?}\n{}", heard.ended.shown());
    Ok(())
}

/// No key: said as what it is, and what to do about it.
pub fn key(trial: &Trial<'_>) -> anyhow::Result<()> {
    let Some(key) = trial.cli.key else { anyhow::bail!("it needs no key") };
    let words = ["run", trial.cli.name, "x", "--dialect", "events"];
    let ended = trial.begin(&words, &[(key, None)])?.end()?;
    ensure!(matches!(ended.code, Some(1 | 4)), "{}", ended.shown());
    let said = format!("{}{}", ended.stdout, ended.stderr).to_lowercase();
    ensure!(["login", "log in", "api key"].iter().any(|words| said.contains(words)), "{}", ended.shown());
    Ok(())
}

/// Nobody answers where the model should be: it fails and says why, or says that it tries again until it is stopped.
pub fn network(trial: &Trial<'_>) -> anyhow::Result<()> {
    let home = trial.stage.home();
    let setup = (trial.cli.setup)(&Places { home: &home, model: NOWHERE });
    for (file, text) in &setup.files {
        fs::write(file, text)?;
    }
    let variables: Vec<_> = setup.environment.iter().map(|(name, value)| (*name, Some(value.as_str()))).collect();
    let words = ["run", trial.cli.name, "x", "--approval", "auto-all", "--dialect", "events"];
    let running = trial.begin(&words, &variables)?;
    let retries = |event: &Event| matches!(&event.body, Body::Notice(notice) if notice.topic == Topic::Retry);
    let ends = |event: &Event| matches!(event.body, Body::SessionEnded(_));
    wait_for(&running, "an error", |event| retries(event) || ends(event))?;
    // It may have ended by itself.
    drop(running.signal(Signal::INT));
    let heard = heard(running)?;
    let session = heard.session()?;
    let said = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default() + &heard.notices();
    ensure!(matches!(heard.ended.code, Some(1 | 130)), "{}", heard.ended.shown());
    ensure!(["onnect", "trying again"].iter().any(|words| said.contains(words)), "{said}");
    ensure!(trial.stage.model().requests().is_empty(), "the model was asked");
    Ok(())
}

/// An error of the API is an error of the turn and of the session, and says its status.
pub fn api(trial: &Trial<'_>) -> anyhow::Result<()> {
    let heard = trial.run("[[error 400]] x", &["--approval", "auto-all"])?;
    let session = heard.ends(1, EndReason::Failed)?;
    let error = session.error.clone().unwrap_or_default();
    ensure!(error.message.contains("400") || error.http_status == Some(400), "{session:?}");
    ensure!(heard.turn()?.status == TurnStatus::Failed, "{:?}", heard.turn()?);
    Ok(())
}
