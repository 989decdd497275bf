//! The prompt that waits for the end of the turn.

use serde_json::json;

use super::House;

#[tokio::test(flavor = "multi_thread")]
async fn a_message_waits_for_the_turn_and_is_sent() {
    let house = House::open().await;
    let id = house.session("approve touch x").await;
    let (mut ada, mut ben) = (house.enter(&id, "name=Ada").await, house.enter(&id, "name=Ben").await);
    let request = ada.told("permission_request").await["request"]["request_id"].clone();
    // It is sent during a turn, and this agent does not add prompts to a turn.
    ada.say(json!({"type": "user_message", "content": "text first try"})).await;
    let queued = ben.told("message_queued").await;
    assert_eq!([&queued["display_name"], &queued["content"]], ["Ada", "text first try"]);
    let (code, _) = ben.refused(json!({"type": "queue_message", "content": "text mine"})).await;
    assert_eq!(code, "queue_full");
    let (code, _) = ben.refused(json!({"type": "user_message", "content": "text mine"})).await;
    assert_eq!(code, "queue_full");
    ben.say(json!({"type": "update_queued_message", "content": "text second try"})).await;
    assert_eq!(ada.told("queued_message_updated").await["content"], "text second try");
    // A new consumer gets it.
    let mut late = house.enter(&id, "").await;
    assert_eq!(late.told("message_queued").await["content"], "text second try");
    ada.say(json!({"type": "permission_response", "request_id": request, "behavior": "allow"})).await;
    for someone in [&mut ada, &mut ben, &mut late] {
        someone.says("second try").await;
        let sent = someone.place(|one| one["type"] == "queued_message_sent");
        let told = someone.place(|one| one["type"] == "user_message" && one["content"] == "text second try");
        let begun = someone.heard[..told].iter().rposition(|one| one["status"] == "running");
        assert!(sent < begun.unwrap_or(told), "{:#?}", someone.heard);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_process_was_just_given_is_waited_for() {
    let house = House::open().await;
    let there = house.rig.second_process();
    there.listen();
    let id = there.start_with(json!({ "agentType": "script", "prompt": "text hello", "stay": true })).await;
    let mut ada = house.enter(&id, "").await;
    for round in 0..3 {
        house.rig.until(&id, |view| view["activity"] == "idle").await;
        let last = format!("round {round}");
        // Its turn cannot have been seen yet.
        ada.say(json!({"type": "user_message", "content": format!("approve touch {round}")})).await;
        ada.say(json!({"type": "queue_message", "content": format!("text {last}")})).await;
        let asked = ada.ever(|one| one["request"]["command"] == format!("touch {round}")).await;
        let request = asked["request"]["request_id"].clone();
        ada.say(json!({"type": "permission_response", "request_id": request, "behavior": "allow"})).await;
        ada.says(&last).await;
        let asked = ada.place(|one| one["request"]["request_id"] == request);
        let told = ada.place(|one| one["type"] == "user_message" && one["content"] == format!("text {last}"));
        let sent = ada.heard.iter().rposition(|one| one["type"] == "queued_message_sent").unwrap();
        assert!(asked < sent && sent < told, "{asked} {sent} {told}: {:#?}", ada.heard);
        assert_eq!(ada.heard[told]["queued"], serde_json::Value::Null);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_that_waits_can_be_taken_back() {
    let house = House::open().await;
    let id = house.session("approve touch x").await;
    let (mut ada, mut ben) = (house.enter(&id, "").await, house.enter(&id, "").await);
    let request = ada.told("permission_request").await["request"]["request_id"].clone();
    for message in [json!({"type": "cancel_queued_message"}), json!({"type": "update_queued_message", "content": "x"})]
    {
        assert_eq!(ada.refused(message).await.0, "not_queued");
    }
    ada.say(json!({"type": "queue_message", "content": "text never"})).await;
    ben.told("message_queued").await;
    ben.say(json!({"type": "cancel_queued_message"})).await;
    ada.told("queued_message_cancelled").await;
    ada.say(json!({"type": "queue_message", "content": "text instead"})).await;
    ben.told("message_queued").await;
    ada.say(json!({"type": "permission_response", "request_id": request, "behavior": "allow"})).await;
    ben.says("instead").await;
    assert!(!serde_json::to_string(&ben.heard).unwrap().contains("never\"}]"), "it was taken back");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_taken_back_at_once_is_told_all_the_same() {
    let house = House::open().await;
    let id = house.session("approve touch x").await;
    let (mut ada, mut ben) = (house.enter(&id, "").await, house.enter(&id, "").await);
    ada.told("permission_request").await;
    for round in 0..20 {
        let text = format!("text round {round}");
        ada.say_together(&[
            json!({"type": "queue_message", "content": text}),
            json!({"type": "cancel_queued_message"}),
        ])
        .await;
        for someone in [&mut ada, &mut ben] {
            assert_eq!(someone.told("message_queued").await["content"], text);
            someone.told("queued_message_cancelled").await;
        }
    }
    // A later consumer does not get past outcomes.
    let mut late = house.enter(&id, "").await;
    late.told("permission_request").await;
    ada.say(json!({"type": "queue_message", "content": "text last"})).await;
    assert_eq!(late.told("message_queued").await["content"], "text last");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_is_sent_also_when_its_author_has_left() {
    let house = House::open().await;
    let id = house.session("approve touch x").await;
    let mut ada = house.enter(&id, "").await;
    let request = ada.told("permission_request").await["request"]["request_id"].clone();
    ada.say(json!({"type": "queue_message", "content": "text from afar"})).await;
    ada.told("message_queued").await;
    ada.leave().await;
    let path = format!("/api/sessions/{id}/approvals/{}", request.as_str().unwrap());
    house.rig.post(&path, json!({ "decision": "accept" })).await;
    house.enter(&id, "after=0").await.says("from afar").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_queued_when_nothing_runs_is_sent_at_once() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    house.rig.until(&id, |view| view["activity"] == "idle").await;
    let mut ada = house.enter(&id, "").await;
    ada.say(json!({"type": "queue_message", "content": "text at once"})).await;
    ada.says("at once").await;
}
