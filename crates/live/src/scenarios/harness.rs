//! The harness with the real agents. The client is the same for all of them and distinguishes them only by their
//! capabilities.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::choices::requested_effort;
use crate::{
    harness::{ApprovalReply, HarnessTestClient},
    trial::LiveTrial,
};

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
