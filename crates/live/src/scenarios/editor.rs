//! The agent in an editor, using the official ACP client library.

use std::process::{Child, Stdio};

use agent_client_protocol::v1::schema::{
    ClientCapabilities, LoadSessionRequest, SessionConfigOptionValue, SessionId, SetSessionConfigOptionRequest,
    StopReason,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_testkit::editor::{
    AcpTestEditor, EditorUserAction, prompt_request, run_with_agent, update_text, updates_of_kind,
};

use crate::trial::LiveTrial;

type EditorResult<R> = Result<R, agent_client_protocol::Error>;

/// Starts `switchboard acp`.
fn spawn_acp_agent(trial: &LiveTrial<'_>) -> anyhow::Result<Child> {
    let mut command = trial.stage.new_command(trial.switchboard, &["acp", "--agent", trial.cli.name]);
    command.arg("--data").arg(trial.stage.data_dir()).args(trial.sandbox_options());
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().context("cannot start switchboard")
}

fn with_editor<R>(
    trial: &LiveTrial<'_>,
    play: impl AsyncFnOnce(&AcpTestEditor) -> EditorResult<R>,
) -> anyhow::Result<R> {
    run_with_agent(spawn_acp_agent(trial)?, ClientCapabilities::new(), play)
}

/// A command runs if the user allows it, and does not if it is declined.
pub fn ask_permissions(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (yes, no) = (trial.cli.shell_directive("touch allowed.txt"), trial.cli.shell_directive("touch declined.txt"));
    let made = |file: &str| trial.stage.project_dir().join(file).exists();
    let (stop, questions, updates) = with_editor(trial, async |editor| {
        let session = editor.new_session(&trial.stage.project_dir()).await?.session_id;
        editor.queue_user_actions(&[EditorUserAction::Wants("allow_once"), EditorUserAction::Wants("reject_once")]);
        let stop = editor.run_prompt(&session, &format!("{yes} go")).await?.stop_reason;
        editor.run_prompt(&session, &format!("{no} go")).await?;
        Ok((stop, editor.take_questions(), editor.take_updates()))
    })?;
    ensure!(stop == StopReason::EndTurn && questions.len() == 2, "{stop:?} {questions:#?}");
    trial.check_written("allowed.txt").with_context(|| format!("{updates:#?}"))?;
    ensure!(!made("declined.txt"), "{updates:#?}");
    let title = questions.iter().filter_map(|question| question.pointer("/toolCall/title")?.as_str());
    ensure!(title.zip(["allowed.txt", "declined.txt"]).all(|(title, file)| title.contains(file)), "{questions:#?}");
    let (begun, ended) = (updates_of_kind(&updates, "tool_call").len(), tool_call_ends(&updates));
    let expected = [json!(trial.command_status()), json!("failed")];
    ensure!(begun == 2 && ended == expected, "{begun} begun, ended as {ended:?}");
    ensure!(!update_text(&updates, "agent_message_chunk").is_empty(), "it says nothing");
    Ok(())
}

fn tool_call_ends(updates: &[Value]) -> Vec<&str> {
    let statuses =
        updates_of_kind(updates, "tool_call_update").into_iter().filter_map(|update| update.get("status")?.as_str());
    statuses.filter(|status| matches!(*status, "completed" | "failed")).collect()
}

/// A new file is shown as a diff, before and after the user agrees.
pub fn show_diff(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("made.txt");
    let updates = with_editor(trial, async |editor| {
        let session = editor.new_session(&trial.stage.project_dir()).await?.session_id;
        editor.queue_user_actions(&[EditorUserAction::Wants("allow_once")]);
        editor.run_prompt(&session, &format!("{} go", trial.cli.write_directive(&file, "new text\n"))).await?;
        Ok(editor.take_updates())
    })?;
    trial.check_written("made.txt").with_context(|| format!("{updates:#?}"))?;
    let contents = updates.iter().filter_map(|update| update.get("content")?.as_array()).flatten();
    let shown = |content: &Value| content.get("newText").is_some_and(|text| text == "new text\n");
    ensure!(contents.into_iter().any(shown), "no diff: {updates:#?}");
    Ok(())
}

/// A turn is cancelled during a permission request and during output. The session continues.
pub fn cancel_turns(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let asking = format!("{} go", trial.cli.shell_directive("touch made.txt"));
    let (first, second, said) = with_editor(trial, async |editor| {
        let session = editor.new_session(&trial.stage.project_dir()).await?.session_id;
        let asked = editor.agent.send_request(prompt_request(&session, &asking));
        editor.wait_until_asked().await;
        editor.cancel_turn(&session)?;
        let first = asked.block_task().await?.stop_reason;
        let speaking =
            editor.agent.send_request(prompt_request(&session, "[[sleep 1]] [[text one two three four five six]] go"));
        editor
            .wait_for_update(|update| update.get("sessionUpdate").is_some_and(|kind| kind == "agent_message_chunk"))
            .await;
        editor.cancel_turn(&session)?;
        let second = speaking.block_task().await?.stop_reason;
        drop(editor.take_updates());
        editor.run_prompt(&session, "[[text still here]] go").await?;
        Ok((first, second, update_text(&editor.take_updates(), "agent_message_chunk")))
    })?;
    ensure!((first, second) == (StopReason::Cancelled, StopReason::Cancelled), "{first:?} {second:?}");
    // The scripted model may also say the text of the cancelled turn.
    ensure!(said.ends_with("still here"), "{said}");
    ensure!(!trial.stage.project_dir().join("made.txt").exists(), "it ran");
    Ok(())
}

/// Options can be set, and another process of Switchboard loads the session and continues it.
pub fn load_session(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (session, set) = with_editor(trial, async |editor| {
        let new = editor.new_session(&trial.stage.project_dir()).await?;
        let options =
            serde_json::to_value(new.config_options).map_err(agent_client_protocol::Error::into_internal_error)?;
        editor.run_prompt(&new.session_id, "[[text first answer]] go").await?;
        Ok((new.session_id.clone(), change_mode(editor, &new.session_id, &options).await?))
    })?;
    ensure!(set, "it offers nothing to choose");
    let (history, more) = with_editor(trial, async |editor| {
        let load = LoadSessionRequest::new(session.clone(), trial.stage.project_dir());
        editor.agent.send_request(load).block_task().await?;
        let history = editor.take_updates();
        editor.run_prompt(&session, "[[text second answer]] go").await?;
        Ok((history, editor.take_updates()))
    })?;
    ensure!(update_text(&history, "user_message_chunk") == "[[text first answer]] go", "{history:#?}");
    ensure!(update_text(&history, "agent_message_chunk") == "first answer", "{history:#?}");
    ensure!(update_text(&more, "agent_message_chunk") == "second answer", "{more:#?}");
    Ok(())
}

/// Sets the mode to another value. Returns whether there was one.
async fn change_mode(editor: &AcpTestEditor, session: &SessionId, options: &Value) -> EditorResult<bool> {
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
