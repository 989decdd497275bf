//! The agent in an editor, which is the client of those who made the protocol.

use std::process::{Child, Stdio};

use agent_client_protocol::v1::schema::{
    ClientCapabilities, LoadSessionRequest, SessionConfigOptionValue, SessionId, SetSessionConfigOptionRequest,
    StopReason,
};
use anyhow::{Context as _, ensure};
use serde_json::Value;
use switchboard_testkit::editor::{Editor, User, prompt, text, updates_of, with_agent};

use crate::trial::Trial;

type Played<R> = Result<R, agent_client_protocol::Error>;

/// Switchboard as an agent for editors.
fn agent(trial: &Trial<'_>) -> anyhow::Result<Child> {
    let mut command = trial.stage.command(trial.switchboard, &["acp", "--agent", trial.cli.name]);
    command.arg("--data").arg(trial.stage.data());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().context("cannot start switchboard")
}

fn play<R>(trial: &Trial<'_>, play: impl AsyncFnOnce(&Editor) -> Played<R>) -> anyhow::Result<R> {
    with_agent(agent(trial)?, ClientCapabilities::new(), play)
}

/// A command runs when its user allows it, and does not when it is declined.
pub fn permissions(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (yes, no) = (trial.cli.shell("touch allowed.txt"), trial.cli.shell("touch declined.txt"));
    let made = |file: &str| trial.stage.project().join(file).exists();
    let (stop, questions, updates) = play(trial, async |editor| {
        let session = editor.new_session(&trial.stage.project()).await?.session_id;
        editor.user(&[User::Wants("allow_once"), User::Wants("reject_once")]);
        let stop = editor.prompt(&session, &format!("{yes} go")).await?.stop_reason;
        editor.prompt(&session, &format!("{no} go")).await?;
        Ok((stop, editor.questions(), editor.updates()))
    })?;
    ensure!(stop == StopReason::EndTurn && questions.len() == 2, "{stop:?} {questions:#?}");
    ensure!(made("allowed.txt") && !made("declined.txt"), "{updates:#?}");
    let title = questions.iter().filter_map(|question| question.pointer("/toolCall/title")?.as_str());
    ensure!(title.zip(["allowed.txt", "declined.txt"]).all(|(title, file)| title.contains(file)), "{questions:#?}");
    let (begun, ended) = (updates_of(&updates, "tool_call").len(), ends(&updates));
    ensure!(begun == 2 && ended == ["completed", "failed"], "{begun} begun, ended as {ended:?}");
    ensure!(!text(&updates, "agent_message_chunk").is_empty(), "it says nothing");
    Ok(())
}

/// How tool calls ended.
fn ends(updates: &[Value]) -> Vec<&str> {
    let statuses =
        updates_of(updates, "tool_call_update").into_iter().filter_map(|update| update.get("status")?.as_str());
    statuses.filter(|status| matches!(*status, "completed" | "failed")).collect()
}

/// A file that is made is shown as it will be, before its user agrees and after.
pub fn diff(trial: &Trial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project().join("made.txt");
    let updates = play(trial, async |editor| {
        let session = editor.new_session(&trial.stage.project()).await?.session_id;
        editor.user(&[User::Wants("allow_once")]);
        editor.prompt(&session, &format!("{} go", trial.cli.write(&file, "new text\n"))).await?;
        Ok(editor.updates())
    })?;
    ensure!(file.exists(), "it was not made: {updates:#?}");
    let contents = updates.iter().filter_map(|update| update.get("content")?.as_array()).flatten();
    let shown = |content: &Value| content.get("newText").is_some_and(|text| text == "new text\n");
    ensure!(contents.into_iter().any(shown), "no diff: {updates:#?}");
    Ok(())
}

/// A turn is stopped while its user is asked, and while the agent speaks. The session goes on.
pub fn cancelled(trial: &Trial<'_>) -> anyhow::Result<()> {
    let asking = format!("{} go", trial.cli.shell("touch made.txt"));
    let (first, second, said) = play(trial, async |editor| {
        let session = editor.new_session(&trial.stage.project()).await?.session_id;
        let asked = editor.agent.send_request(prompt(&session, &asking));
        editor.until_asked().await;
        editor.cancel(&session)?;
        let first = asked.block_task().await?.stop_reason;
        let speaking =
            editor.agent.send_request(prompt(&session, "[[sleep 1]] [[text one two three four five six]] go"));
        editor
            .until_heard(|update| update.get("sessionUpdate").is_some_and(|kind| kind == "agent_message_chunk"))
            .await;
        editor.cancel(&session)?;
        let second = speaking.block_task().await?.stop_reason;
        drop(editor.updates());
        editor.prompt(&session, "[[text still here]] go").await?;
        Ok((first, second, text(&editor.updates(), "agent_message_chunk")))
    })?;
    ensure!((first, second) == (StopReason::Cancelled, StopReason::Cancelled), "{first:?} {second:?}");
    // The scripted model may also say what it was stopped from saying.
    ensure!(said.ends_with("still here"), "{said}");
    ensure!(!trial.stage.project().join("made.txt").exists(), "it ran");
    Ok(())
}

/// What the agent offers can be set; and another process of Switchboard loads the session, and goes on.
pub fn loaded(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (session, set) = play(trial, async |editor| {
        let new = editor.new_session(&trial.stage.project()).await?;
        let options =
            serde_json::to_value(new.config_options).map_err(agent_client_protocol::Error::into_internal_error)?;
        editor.prompt(&new.session_id, "[[text first answer]] go").await?;
        Ok((new.session_id.clone(), change(editor, &new.session_id, &options).await?))
    })?;
    ensure!(set, "it offers nothing to choose");
    let (history, more) = play(trial, async |editor| {
        let load = LoadSessionRequest::new(session.clone(), trial.stage.project());
        editor.agent.send_request(load).block_task().await?;
        let history = editor.updates();
        editor.prompt(&session, "[[text second answer]] go").await?;
        Ok((history, editor.updates()))
    })?;
    ensure!(text(&history, "user_message_chunk") == "[[text first answer]] go", "{history:#?}");
    ensure!(text(&history, "agent_message_chunk") == "first answer", "{history:#?}");
    ensure!(text(&more, "agent_message_chunk") == "second answer", "{more:#?}");
    Ok(())
}

/// Sets the mode to another value, if there is one. Says whether there was.
async fn change(editor: &Editor, session: &SessionId, options: &Value) -> Played<bool> {
    let is_mode = |option: &&Value| option.get("category").is_some_and(|category| category == "mode");
    let Some(mode) = options.as_array().and_then(|options| options.iter().find(is_mode)) else { return Ok(false) };
    let values = mode.get("options").and_then(Value::as_array).into_iter().flatten();
    let mut others =
        values.filter_map(|value| value.get("value")).filter(|value| Some(*value) != mode.get("currentValue"));
    let Some(other) = others.next().and_then(Value::as_str) else { return Ok(false) };
    let value = SessionConfigOptionValue::value_id(other.to_owned());
    let request = SetSessionConfigOptionRequest::new(session.clone(), "mode", value);
    let now = editor.agent.send_request(request).block_task().await?;
    let now = serde_json::to_value(now.config_options).map_err(agent_client_protocol::Error::into_internal_error)?;
    let now = now.as_array().and_then(|options| options.iter().find(is_mode)?.get("currentValue")?.as_str());
    Ok(now == Some(other))
}
