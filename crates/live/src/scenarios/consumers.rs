//! Several who follow and steer one session of the real agent.

use std::cell::Cell;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_testkit::load::Api;

use crate::{
    served::{Client, serve},
    trial::Trial,
};

/// Two participants and an observer see the same in the same order; one leaves, returns and misses nothing; the
/// observer may not prompt; what one answers is gone for the other.
pub fn together(trial: &Trial<'_>) -> anyhow::Result<()> {
    let served = serve(trial)?;
    let folder = trial.stage.project();
    let config = json!({ "workingDirectory": folder, "approvalMode": "ask" });
    let first =
        json!({ "agentType": trial.cli.name, "prompt": "[[text the first]] x", "stay": true, "config": config });
    let id = served.api.start_with(&first)?;
    let mut ada = enter(&served.api, &id, "name=Ada&after=0")?;
    let mut ben = enter(&served.api, &id, "name=Ben&after=0")?;
    let mut eve = enter(&served.api, &id, "name=Eve&role=observer&after=0")?;
    turn(&mut ada, 1)?;
    refused(&mut eve)?;

    ada.say(&json!({ "type": "user_message", "content": format!("{} go", trial.cli.shell("touch allowed.txt")) }))?;
    let asked = |message: &Value| message["type"] == "permission_request";
    let request = ada.ever("a question", asked)?["request"]["request_id"].clone();
    ben.ever("the same question", |message| asked(message) && message["request"]["request_id"] == request)?;
    ensure!(!folder.join("allowed.txt").exists(), "it ran before it was allowed");
    ben.say(&json!({ "type": "permission_response", "request_id": request, "behavior": "allow" }))?;
    let gone = |message: &Value| message["type"] == "permission_cancelled" && message["request_id"] == request;
    for client in [&mut ada, &mut ben, &mut eve] {
        let outcome = client.ever("the end of the question", gone)?["outcome"].clone();
        ensure!(outcome == "allowed", "{outcome}");
        turn(client, 2)?;
    }
    ensure!(folder.join("allowed.txt").exists(), "it was allowed and did not run");

    let mut story = numbered(&ben);
    drop(ben);
    ada.say(&json!({ "type": "user_message", "content": "[[text the third]] x" }))?;
    turn(&mut ada, 3)?;
    let last = story.last().context("nothing was told")?["seq"].clone();
    let mut back = enter(&served.api, &id, &format!("name=Ben&after={last}"))?;
    turn(&mut back, 1)?;
    turn(&mut eve, 3)?;
    story.extend(numbered(&back));
    for other in [&story, &numbered(&eve)] {
        same(&numbered(&ada), other)?;
    }
    served.stop()?;
    Ok(())
}

fn enter(api: &Api, session: &str, query: &str) -> anyhow::Result<Client> {
    Client::connect(api, &format!("/ws/consumers/{session}?{query}"))
}

/// Waits until it has heard of the end of so many turns.
fn turn(client: &mut Client, count: usize) -> anyhow::Result<()> {
    let ends = Cell::new(0);
    let is_end = |message: &Value| {
        ends.set(ends.get() + usize::from(message["type"] == "result"));
        ends.get() == count
    };
    client.ever("the end of a turn", is_end).map(drop)
}

/// An observer is told that it may not.
fn refused(eve: &mut Client) -> anyhow::Result<()> {
    eve.say(&json!({ "type": "user_message", "content": "[[text smuggled]] x" }))?;
    let error = eve.ever("a refusal", |message| message["type"] == "error")?;
    ensure!(error["code"] == "observer" && error["to"] == "user_message", "{error}");
    ensure!(error["message"] == "you are an observer, and observers only look", "{error}");
    Ok(())
}

/// What it was told of the session.
fn numbered(client: &Client) -> Vec<Value> {
    client.heard.iter().filter(|message| message["seq"].is_u64()).cloned().collect()
}

/// Up to where both have heard, they have heard the same, and each message once.
fn same(one: &[Value], other: &[Value]) -> anyhow::Result<()> {
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
