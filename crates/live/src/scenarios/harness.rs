//! The harness with the real agents. The client is the same for all of them and cannot tell them apart but by what they
//! say they can do.

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};

use super::choices::thought;
use crate::{
    harness::{Answer, Harness},
    trial::Trial,
};

const COMMAND: &str = "item/commandExecution/requestApproval";
const FILE: &str = "item/fileChange/requestApproval";

/// A turn with a thought and a text; a command that is allowed and one that is not; a file that is made.
pub fn turns(trial: &Trial<'_>) -> anyhow::Result<()> {
    let (mut harness, project) = (Harness::open(trial)?, trial.stage.project());
    let thread = harness.thread(&project)?;
    let said = harness.turn(&thread, "[[think hm, well]] [[text héllo wörld]] please", &json!({}))?;
    ensure!(said.text() == "héllo wörld", "{}", said.turn);
    if harness.can("reasoning") {
        let thought = said.item("reasoning")?;
        let words = [&thought["content"], &thought["summary"]];
        ensure!(words.iter().any(|words| words.as_str().is_some_and(|words| words.contains("hm, well"))), "{thought}");
    }
    let prompt = format!("{} go", trial.cli.shell("touch allowed.txt"));
    let (request, turn) = harness.asked(&thread, &prompt, COMMAND, Answer::Accept)?;
    ensure!(
        request["params"]["command"].as_str().is_some_and(|command| command.contains("touch allowed.txt")),
        "{request}"
    );
    ensure!(
        turn.item("commandExecution")?["status"] == "completed" && turn.turn["status"] == "completed",
        "{}",
        turn.turn
    );
    ensure!(project.join("allowed.txt").exists(), "it did not run: {}", turn.turn);
    let prompt = format!("{} go", trial.cli.shell("touch declined.txt"));
    let (_, turn) = harness.asked(&thread, &prompt, COMMAND, Answer::Decline)?;
    ensure!(turn.item("commandExecution")?["status"] == "declined", "{}", turn.turn);
    ensure!(!project.join("declined.txt").exists(), "it ran: {}", turn.turn);
    file(trial, &mut harness, &thread)?;
    harness.close()
}

/// A file that is made after somebody allowed it.
fn file(trial: &Trial<'_>, harness: &mut Harness, thread: &str) -> anyhow::Result<()> {
    let file = trial.stage.project().join("new.txt");
    let prompt = format!("{} go", trial.cli.write(&file, "a line\n"));
    let (request, turn) = harness.asked(thread, &prompt, FILE, Answer::Accept)?;
    let path = json!(file);
    ensure!(request["params"]["changes"][0]["path"] == path, "{request}");
    let item = turn.item("fileChange")?;
    let change = &item["changes"][0];
    ensure!(item["status"] == "completed" && change["path"] == path && change["kind"] == "add", "{item}");
    ensure!(change["diff"].as_str().is_some_and(|diff| diff.contains("+a line")), "{item}");
    ensure!(std::fs::read_to_string(&file)? == "a line\n", "{item}");
    Ok(())
}

/// A turn that is interrupted; then another process, which is told all that was, and goes on from there.
pub fn resumed(trial: &Trial<'_>) -> anyhow::Result<()> {
    let mut harness = Harness::open(trial)?;
    let thread = harness.thread(&trial.stage.project())?;
    harness.turn(&thread, "remember the number 4711 [[text I will]]", &json!({}))?;
    let turn = harness.begin(&thread, "[[text these words come]] [[hold]] [[text and these do not]]", &json!({}))?;
    harness.wait("item/agentMessage/delta")?;
    harness.call("turn/interrupt", &json!({ "threadId": thread, "turnId": turn }))?;
    let stopped = harness.wait("turn/completed")?;
    ensure!(stopped["params"]["turn"]["status"] == "interrupted", "{stopped}");
    harness.close()?;

    let mut harness = Harness::open(trial)?;
    let result = harness.call("thread/resume", &json!({ "threadId": thread }))?;
    ensure!(result["thread"]["id"] == thread.as_str(), "{result}");
    let turn = harness.turn(&thread, "[[text again]] please", &json!({}))?;
    ensure!(turn.text() == "again", "{}", turn.turn);
    told_before(&turn.told)?;
    let asked = trial.stage.model().conversation();
    let last = asked.last().context("the model was asked")?;
    ensure!(last.body.to_string().contains("4711"), "it does not remember: {}", last.body);
    harness.close()
}

/// What was before was told, and was marked so.
fn told_before(told: &[Value]) -> anyhow::Result<()> {
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

/// Another model and another effort: the model's server sees them.
pub fn chosen(trial: &Trial<'_>) -> anyhow::Result<()> {
    let mut harness = Harness::open(trial)?;
    let thread = harness.thread(&trial.stage.project())?;
    harness.turn(&thread, "[[text first]] x", &json!({}))?;
    let first = trial.stage.model().conversation().pop().context("the model was asked")?;
    let models = harness.call("model/list", &json!({}))?;
    let other = json!(trial.cli.other_model);
    let is_offered = models["data"].as_array().into_iter().flatten().any(|model| model["id"] == other);
    ensure!(is_offered, "{other} is not offered: {models}");
    harness.turn(&thread, "[[text second]] x", &json!({ "model": other }))?;
    let second = trial.stage.model().conversation().pop().context("the model was asked")?;
    ensure!(second.model != first.model, "the model is still {}, and not {other}", first.model);
    let now = harness.call("config/read", &json!({ "threadId": thread }))?;
    ensure!(now["model"] == other, "the model is {}, and not {other}", now["model"]);
    effort(trial, &mut harness, &thread)?;
    harness.close()
}

/// Another effort, where there is a choice.
fn effort(trial: &Trial<'_>, harness: &mut Harness, thread: &str) -> anyhow::Result<()> {
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
    harness.turn(thread, "[[text third]] x", &json!({}))?;
    let third = trial.stage.model().conversation().pop().context("the model was asked")?;
    let seen = thought(&third.body);
    ensure!(seen.is_some() && seen == value.as_str(), "{value} was chosen, the model saw {seen:?}");
    Ok(())
}
