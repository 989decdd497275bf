//! One consumer: what it is told when it comes in, and how it steers.

use serde_json::json;

use super::House;

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_is_told_what_the_session_is_like() {
    let house = House::open().await;
    let id = house.session("run ls\ntext hello").await;
    house.rig.until(&id, |view| view["activity"] == "idle").await;
    let mut someone = house.enter(&id, "history=3").await;
    let mut types = Vec::new();
    for _ in 0..4 {
        types.push(someone.next().await["type"].clone());
    }
    assert_eq!(types, ["session_init", "identity", "presence_update", "message_history"]);
    let session = &someone.heard[0]["session"];
    assert_eq!(
        [&session["session_id"], &session["agent"], &session["model"], &session["status"], &session["num_turns"]],
        [&json!(id), &json!("script"), &json!("script-1"), &json!("idle"), &json!(1)]
    );
    assert_eq!(session["connected"], true);
    assert!(session["usage"]["output_tokens"].as_u64().unwrap() > 0, "{session}");
    assert!(session["models"].as_array().unwrap().len() > 1, "{session}");
    assert!(!session["slash_commands"].as_array().unwrap().is_empty(), "{session}");
    assert_eq!(someone.story().len(), 3, "as much of the past as it wants");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_is_told_to_all() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let (mut one, mut other) = (house.enter(&id, "").await, house.enter(&id, "history=0").await);
    one.says("hello").await;
    other.told("message_history").await;
    one.say(json!({"type": "set_model", "model": "script-1-mini"})).await;
    for someone in [&mut one, &mut other] {
        let update = someone.until(|message| message["session"]["model"] == "script-1-mini").await;
        assert_eq!(update["session"].as_object().unwrap().keys().collect::<Vec<_>>(), ["model"], "{update}");
    }
    let modes = house.enter(&id, "").await.told("session_init").await["session"]["modes"].clone();
    let mode = modes.as_array().unwrap().last().unwrap()["id"].clone();
    one.say(json!({"type": "set_permission_mode", "mode": mode})).await;
    other.until(|message| message["type"] == "session_update" && message["session"]["permissionMode"] == mode).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn commands_are_the_agents_own() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let mut someone = house.enter(&id, "").await;
    someone.says("hello").await;
    someone.say(json!({"type": "slash_command", "command": "/rename A new name", "request_id": "7"})).await;
    let named = someone.told("session_name_update").await;
    assert_eq!(named["name"], "A new name");
    let taken = someone.ever(|message| message["type"] == "slash_command_result").await;
    assert_eq!([&taken["command"], &taken["request_id"], &taken["source"]], ["/rename", "7", "cli"]);
    someone.say(json!({"type": "slash_command", "name": "dance", "args": "now"})).await;
    let refused = someone.told("slash_command_error").await;
    assert_eq!(refused["command"], "/dance");
    assert!(refused["error"].as_str().unwrap().contains("no command /dance"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_can_be_stopped_and_the_session_goes_on() {
    let house = House::open().await;
    let id = house.session("text hello\nsleep 1000").await;
    let mut someone = house.enter(&id, "").await;
    someone.says("hello").await;
    someone.say(json!({"type": "interrupt"})).await;
    let result = someone.told("result").await["data"].clone();
    assert_eq!([&result["status"], &result["is_error"]], [&json!("interrupted"), &json!(false)]);
    someone.say(json!({"type": "user_message", "content": "text again"})).await;
    someone.says("again").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_prompt_takes_up_a_session_that_has_ended() {
    let house = House::open().await;
    let id = house.rig.start("script", "text first").await;
    house.rig.ended(&id).await;
    let mut someone = house.enter(&id, "after=0").await;
    assert_eq!(someone.told("session_init").await["session"]["connected"], false);
    someone.says("first").await;
    assert!(someone.heard.iter().any(|one| one["type"] == "cli_disconnected"));
    for (run, text) in [(2, "second"), (3, "third")] {
        someone.say(json!({"type": "user_message", "content": format!("text {text}")})).await;
        assert_eq!(someone.told("cli_connected").await["run"], run);
        someone.says(text).await;
        someone.told("result").await;
        house.rig.post(&format!("/api/sessions/{id}/cancel"), json!({})).await;
        someone.told("cli_disconnected").await;
    }
}
