//! Several consumers of one session of the real agent.

use std::cell::Cell;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SessionConfig};
use switchboard_testkit::load::TestApiClient;

use crate::{
    served::{ConsumerClient, start_server},
    trial::LiveTrial,
};

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
    client.heard.iter().filter(|message| message["seq"].is_u64()).cloned().collect()
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
