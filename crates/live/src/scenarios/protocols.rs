//! The agent in an editor (ACP), in the harness protocol, and with several consumers of one session. The clients are the
//! same for all agents and distinguish them only by their capabilities.

use std::cell::Cell;
use std::process::{Child, Stdio};

use agent_client_protocol::v1::schema::{
    ClientCapabilities, LoadSessionRequest, SessionConfigOptionValue, SessionId, SetSessionConfigOptionRequest,
    StopReason,
};
use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SessionConfig};
use switchboard_testkit::editor::{
    AcpTestEditor, EditorUserAction, prompt_request, run_with_agent, update_text, updates_of_kind,
};
use switchboard_testkit::load::TestApiClient;

use super::sessions::requested_effort;
use crate::harness::{ApprovalReply, HarnessTestClient};
use crate::trial::{ConsumerClient, LiveTrial, start_server};

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

const COMMAND_APPROVAL_METHOD: &str = "item/commandExecution/requestApproval";
const FILE_APPROVAL_METHOD: &str = "item/fileChange/requestApproval";

/// A turn with reasoning and text, an allowed command, a declined command, and a new file.
pub fn run_turns(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let (mut harness, project) = (HarnessTestClient::open(trial)?, trial.stage.project_dir());
    let thread = harness.start_thread(&project)?;
    let said = harness.run_turn(&thread, "[[think hm, well]] [[text héllo wörld]] please", &json!({}))?;
    ensure!(said.agent_text() == "héllo wörld", "{}", said.turn);
    if harness.has_capability("reasoning") {
        let thought = said.single_item("reasoning")?;
        let words = [&thought["content"], &thought["summary"]];
        ensure!(words.iter().any(|words| words.as_str().is_some_and(|words| words.contains("hm, well"))), "{thought}");
    }
    let prompt = format!("{} go", trial.cli.shell_directive("touch allowed.txt"));
    let (request, turn) =
        harness.run_approval_turn(&thread, &prompt, COMMAND_APPROVAL_METHOD, ApprovalReply::Accept)?;
    ensure!(
        request["params"]["command"].as_str().is_some_and(|command| command.contains("touch allowed.txt")),
        "{request}"
    );
    let status = json!(trial.command_status());
    ensure!(
        turn.single_item("commandExecution")?["status"] == status && turn.turn["status"] == "completed",
        "{}",
        turn.turn
    );
    trial.check_written("allowed.txt").with_context(|| turn.turn.to_string())?;
    let prompt = format!("{} go", trial.cli.shell_directive("touch declined.txt"));
    let (_, turn) = harness.run_approval_turn(&thread, &prompt, COMMAND_APPROVAL_METHOD, ApprovalReply::Decline)?;
    ensure!(turn.single_item("commandExecution")?["status"] == "declined", "{}", turn.turn);
    ensure!(!project.join("declined.txt").exists(), "it ran: {}", turn.turn);
    approve_file(trial, &mut harness, &thread)?;
    harness.close()
}

fn approve_file(trial: &LiveTrial<'_>, harness: &mut HarnessTestClient, thread: &str) -> anyhow::Result<()> {
    let file = trial.stage.project_dir().join("new.txt");
    let prompt = format!("{} go", trial.cli.write_directive(&file, "a line\n"));
    let (request, turn) = harness.run_approval_turn(thread, &prompt, FILE_APPROVAL_METHOD, ApprovalReply::Accept)?;
    let path = json!(file);
    ensure!(request["params"]["changes"][0]["path"] == path, "{request}");
    let item = turn.single_item("fileChange")?;
    let change = &item["changes"][0];
    let status = json!(trial.change_status());
    ensure!(item["status"] == status && change["path"] == path && change["kind"] == "add", "{item}");
    ensure!(change["diff"].as_str().is_some_and(|diff| diff.contains("+a line")), "{item}");
    trial.check_written_text("new.txt", "a line\n").with_context(|| item.to_string())
}

/// An interrupted turn, then a second process that replays the history and continues.
pub fn interrupt_and_resume(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let mut harness = HarnessTestClient::open(trial)?;
    let thread = harness.start_thread(&trial.stage.project_dir())?;
    harness.run_turn(&thread, "remember the number 4711 [[text I will]]", &json!({}))?;
    let turn =
        harness.start_turn(&thread, "[[text these words come]] [[hold]] [[text and these do not]]", &json!({}))?;
    harness.wait_for_method("item/agentMessage/delta")?;
    harness.call("turn/interrupt", &json!({ "threadId": thread, "turnId": turn }))?;
    let stopped = harness.wait_for_method("turn/completed")?;
    ensure!(stopped["params"]["turn"]["status"] == "interrupted", "{stopped}");
    harness.close()?;

    let mut harness = HarnessTestClient::open(trial)?;
    let result = harness.call("thread/resume", &json!({ "threadId": thread }))?;
    ensure!(result["thread"]["id"] == thread.as_str(), "{result}");
    if let Some(sandbox) = trial.sandbox {
        let config = harness.call("config/read", &json!({ "threadId": thread }))?;
        ensure!(config["sandboxPolicy"]["type"] == json!(sandbox), "it is no longer confined: {config}");
    }
    let turn = harness.run_turn(&thread, "[[text again]] please", &json!({}))?;
    ensure!(turn.agent_text() == "again", "{}", turn.turn);
    check_replay(&turn.told)?;
    let asked = trial.stage.scripted_model().conversation_requests();
    let last = asked.last().context("the model was asked")?;
    ensure!(last.body.to_string().contains("4711"), "it does not remember: {}", last.body);
    harness.close()
}

/// Checks that the history was replayed and marked as such.
fn check_replay(told: &[Value]) -> anyhow::Result<()> {
    let before: Vec<_> = told.iter().filter(|message| message["params"]["_meta"]["replay"] == true).collect();
    let texts = before
        .iter()
        .filter(|message| message["method"] == "item/completed")
        .filter_map(|message| message["params"]["item"]["text"].as_str());
    let texts: Vec<_> = texts.collect();
    ensure!(texts.iter().any(|text| text.contains("I will")), "history says {texts:?}");
    let turns = before.iter().filter(|message| message["method"] == "turn/completed").count();
    ensure!(turns == 2, "history has {turns} turns");
    Ok(())
}

/// The model's server sees another model and another effort.
pub fn select_model_and_effort(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let mut harness = HarnessTestClient::open(trial)?;
    let thread = harness.start_thread(&trial.stage.project_dir())?;
    harness.run_turn(&thread, "[[text first]] x", &json!({}))?;
    let first = trial.stage.scripted_model().conversation_requests().pop().context("the model was asked")?;
    let models = harness.call("model/list", &json!({}))?;
    let other = json!(trial.cli.other_model);
    let is_offered = models["data"].as_array().into_iter().flatten().any(|model| model["id"] == other);
    ensure!(is_offered, "{other} is not offered: {models}");
    harness.run_turn(&thread, "[[text second]] x", &json!({ "model": other }))?;
    let second = trial.stage.scripted_model().conversation_requests().pop().context("the model was asked")?;
    ensure!(second.model != first.model, "the model is still {}, and not {other}", first.model);
    let now = harness.call("config/read", &json!({ "threadId": thread }))?;
    ensure!(now["model"] == other, "the model is {}, and not {other}", now["model"]);
    select_effort(trial, &mut harness, &thread)?;
    harness.close()
}

/// Selects another effort, if the agent offers one.
fn select_effort(trial: &LiveTrial<'_>, harness: &mut HarnessTestClient, thread: &str) -> anyhow::Result<()> {
    let options = harness.call("config/list", &json!({ "threadId": thread }))?;
    let selector =
        options["options"].as_array().into_iter().flatten().find(|option| option["id"] == "reasoning_effort");
    let Some(selector) = selector else {
        ensure!(!trial.cli.thinks, "there is nothing to choose: {options}");
        return Ok(());
    };
    let mut values = selector["options"].as_array().into_iter().flatten().map(|value| &value["id"]);
    let value = values.find(|id| **id != selector["value"] && **id != "default").context("no other value")?.clone();
    let set = harness.call("config/set", &json!({ "threadId": thread, "id": selector["id"], "value": value }))?;
    let is_set = |option: &Value| option["id"] == selector["id"] && option["value"] == value;
    ensure!(set["options"].as_array().into_iter().flatten().any(is_set), "{set}");
    harness.run_turn(thread, "[[text third]] x", &json!({}))?;
    let third = trial.stage.scripted_model().conversation_requests().pop().context("the model was asked")?;
    let seen = requested_effort(&third.body);
    ensure!(seen.is_some() && seen == value.as_str(), "{value} was chosen, the model saw {seen:?}");
    Ok(())
}

/// Two participants and an observer see the same messages in the same order. One leaves, returns and misses nothing;
/// the observer may not prompt; an answer of one resolves the request for all.
pub fn share_session(trial: &LiveTrial<'_>) -> anyhow::Result<()> {
    let served = start_server(trial)?;
    let folder = trial.stage.project_dir();
    let config = SessionConfig { approval_mode: Some(ApprovalMode::Ask), ..trial.session_config(&folder) };
    let first =
        json!({ "agentType": trial.cli.name, "prompt": "[[text the first]] x", "stay": true, "config": config });
    let id = served.api.start_session_with(&first)?;
    let mut ada = connect_consumer(&served.api, &id, "name=Ada&after=0")?;
    let mut ben = connect_consumer(&served.api, &id, "name=Ben&after=0")?;
    let mut eve = connect_consumer(&served.api, &id, "name=Eve&role=observer&after=0")?;
    wait_for_turns(&mut ada, 1)?;
    check_observer_refusal(&mut eve)?;

    ada.send_json(
        &json!({ "type": "user_message", "content": format!("{} go", trial.cli.shell_directive("touch allowed.txt")) }),
    )?;
    let asked = |message: &Value| message["type"] == "permission_request";
    let request = ada.wait_for_message("a question", asked)?["request"]["request_id"].clone();
    ben.wait_for_message("the same question", |message| asked(message) && message["request"]["request_id"] == request)?;
    ensure!(!folder.join("allowed.txt").exists(), "it ran before it was allowed");
    ben.send_json(&json!({ "type": "permission_response", "request_id": request, "behavior": "allow" }))?;
    let gone = |message: &Value| message["type"] == "permission_cancelled" && message["request_id"] == request;
    for client in [&mut ada, &mut ben, &mut eve] {
        let outcome = client.wait_for_message("the end of the question", gone)?["outcome"].clone();
        ensure!(outcome == "allowed", "{outcome}");
        wait_for_turns(client, 2)?;
    }
    trial.check_written("allowed.txt")?;

    let mut story = numbered_messages(&ben);
    drop(ben);
    ada.send_json(&json!({ "type": "user_message", "content": "[[text the third]] x" }))?;
    wait_for_turns(&mut ada, 3)?;
    let last = story.last().context("nothing was told")?["seq"].clone();
    let mut back = connect_consumer(&served.api, &id, &format!("name=Ben&after={last}"))?;
    wait_for_turns(&mut back, 1)?;
    wait_for_turns(&mut eve, 3)?;
    story.extend(numbered_messages(&back));
    for other in [&story, &numbered_messages(&eve)] {
        check_same_messages(&numbered_messages(&ada), other)?;
    }
    served.stop()?;
    Ok(())
}

fn connect_consumer(api: &TestApiClient, session: &str, query: &str) -> anyhow::Result<ConsumerClient> {
    ConsumerClient::connect(api, &format!("/ws/consumers/{session}?{query}"))
}

/// Waits until the client has received the end of `count` turns.
fn wait_for_turns(client: &mut ConsumerClient, count: usize) -> anyhow::Result<()> {
    let ends = Cell::new(0);
    let is_end = |message: &Value| {
        ends.set(ends.get() + usize::from(message["type"] == "result"));
        ends.get() == count
    };
    client.wait_for_message("the end of a turn", is_end).map(drop)
}

/// An observer's prompt is refused.
fn check_observer_refusal(eve: &mut ConsumerClient) -> anyhow::Result<()> {
    eve.send_json(&json!({ "type": "user_message", "content": "[[text smuggled]] x" }))?;
    let error = eve.wait_for_message("a refusal", |message| message["type"] == "error")?;
    ensure!(error["code"] == "observer" && error["to"] == "user_message", "{error}");
    ensure!(error["message"] == "observers cannot control the session", "{error}");
    Ok(())
}

/// Returns the numbered messages of the session.
fn numbered_messages(client: &ConsumerClient) -> Vec<Value> {
    client.observed.iter().filter(|message| message["seq"].is_u64()).cloned().collect()
}

/// As far as both have received messages, they are the same, each once.
fn check_same_messages(one: &[Value], other: &[Value]) -> anyhow::Result<()> {
    let both = one.len().min(other.len());
    ensure!(both > 20, "only {both} messages");
    for (place, (one, other)) in one.iter().zip(other).enumerate() {
        ensure!(one == other, "message {place} differs:\n{one}\n{other}");
        ensure!(one["seq"] == json!(place + 1), "{one} is message {place}");
    }
    let text = serde_json::to_string(one)?;
    ensure!(!text.contains("smuggled"), "the observer was heard");
    Ok(())
}
