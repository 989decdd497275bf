//! Failures: each is a clear error with its exit code, and a hint where the user can act.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;

use anyhow::ensure;
use rustix::process::Signal;
use switchboard_engine::program_override_variable;
use switchboard_event::{EndReason, Event, EventBody, Topic, TurnStatus};
use switchboard_testkit::clis::AgentCliPaths;
use switchboard_testkit::model::UNKNOWN_MODEL;
use switchboard_testkit::stage::StageProcessOutput;

use crate::trial::{LiveTrial, known_agent, wait_for_event, wait_for_run};

const UNREACHABLE_URL: &str = "http://127.0.0.1:9";

/// A missing, outdated or non-executable program and a missing directory are refused before anything starts.
pub fn refuse_before_start(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let run = ["run", trial.cli.name, "x", "--json"];
    let refused = |args: &[&str], variables: &[(&str, Option<&str>)], code: i32, says: &[&str]| {
        let ended = trial.spawn_switchboard(args, variables)?.wait_for_exit()?;
        ensure!(ended.code == Some(code), "not exit code {code}: {}", ended.describe_output());
        check_stderr(&ended, says)
    };
    let agent = known_agent(trial.cli)?;
    let install = agent.install.unwrap_or_default();
    refused(&run, &[("PATH", Some("/usr/bin:/bin"))], 3, &["not installed", "hint: install it with", install])?;
    let variable = program_override_variable(trial.cli.name);
    refused(&run, &[(&variable, Some("/nowhere/at-all"))], 3, &["/nowhere/at-all", "hint: ", &variable])?;
    let folder = trial.stage.root_dir().join("programs");
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

fn check_stderr(ended: &StageProcessOutput, says: &[&str]) -> anyhow::Result<()> {
    let missing = says.iter().find(|&&words| !ended.stderr.contains(words));
    ensure!(missing.is_none() && ended.stdout.is_empty(), "does not say {missing:?}: {}", ended.describe_output());
    Ok(())
}

/// A model unknown to the API, or not accepted by the agent.
pub fn reject_unknown_model(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run("x", &["--model", UNKNOWN_MODEL])?;
    if observed.events.is_empty() {
        ensure!(observed.ended.code == Some(4), "{}", observed.ended.describe_output());
        return check_stderr(&observed.ended, &[UNKNOWN_MODEL, "hint: "]);
    }
    let session = observed.check_end(1, EndReason::Failed)?;
    let message = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default();
    ensure!(
        message.contains("404") || message.contains(UNKNOWN_MODEL),
        "{session:?}\n{}",
        observed.ended.describe_output()
    );
    Ok(())
}

/// A missing API key is reported, with a hint.
pub fn require_key(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let Some(key) = trial.cli.key else { anyhow::bail!("it needs no key") };
    let words = ["run", trial.cli.name, "x", "--dialect", "events"];
    let ended = trial.spawn_switchboard(&words, &[(key, None)])?.wait_for_exit()?;
    ensure!(matches!(ended.code, Some(1 | 4)), "{}", ended.describe_output());
    let said = format!("{}{}", ended.stdout, ended.stderr).to_lowercase();
    ensure!(["login", "log in", "api key"].iter().any(|words| said.contains(words)), "{}", ended.describe_output());
    Ok(())
}

/// With an unreachable model, the session fails with the reason, or reports retries until it is stopped.
pub fn report_unreachable_model(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let home = trial.stage.home_dir();
    let setup = (trial.cli.setup)(&AgentCliPaths { home: &home, model: UNREACHABLE_URL });
    for (file, text) in &setup.files {
        fs::write(file, text)?;
    }
    let variables: Vec<_> = setup.environment.iter().map(|(name, value)| (*name, Some(value.as_str()))).collect();
    let words = ["run", trial.cli.name, "x", "--approval", "auto-all", "--dialect", "events"];
    let running = trial.spawn_switchboard(&words, &variables)?;
    let retries = |event: &Event| matches!(&event.body, EventBody::Notice(notice) if notice.topic == Topic::Retry);
    let ends = |event: &Event| matches!(event.body, EventBody::SessionEnded(_));
    wait_for_event(&running, "an error", |event| retries(event) || ends(event))?;
    // The session may have ended already.
    drop(running.send_signal(Signal::INT));
    let observed = wait_for_run(running)?;
    let session = observed.session_end()?;
    let said = session.error.as_ref().map(|error| error.message.clone()).unwrap_or_default() + &observed.notice_text();
    ensure!(matches!(observed.ended.code, Some(1 | 130)), "{}", observed.ended.describe_output());
    ensure!(["onnect", "trying again"].iter().any(|words| said.contains(words)), "{said}");
    ensure!(trial.stage.scripted_model().all_requests().is_empty(), "the model was asked");
    Ok(())
}

/// An API error fails the turn and the session, and reports the status.
pub fn report_api_error(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let observed = trial.run("[[error 400]] x", &["--approval", "auto-all"])?;
    let session = observed.check_end(1, EndReason::Failed)?;
    let error = session.error.clone().unwrap_or_default();
    ensure!(error.message.contains("400") || error.http_status == Some(400), "{session:?}");
    ensure!(observed.last_turn()?.status == TurnStatus::Failed, "{:?}", observed.last_turn()?);
    Ok(())
}
