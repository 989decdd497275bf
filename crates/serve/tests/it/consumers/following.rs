//! What consumers see of a session and of each other.

use serde_json::json;

use super::{House, dense};

#[tokio::test(flavor = "multi_thread")]
async fn two_participants_and_an_observer_see_the_same_in_the_same_order() {
    let house = House::open().await;
    let id = house.session("text before").await;
    let (mut first, mut second, mut observer) = (
        house.enter(&id, "name=Ada&after=0").await,
        house.enter(&id, "name=Ben&after=0").await,
        house.enter(&id, "name=Eve&role=observer&after=0").await,
    );
    first.says("before").await;
    first.say(json!({"type": "user_message", "content": "think hard\nrun ls\nedit a.rs\ntext one\nburst 50"})).await;
    second.says("one").await;
    second.told("result").await;
    second.say(json!({"type": "user_message", "text": "text two"})).await;
    for someone in [&mut first, &mut second, &mut observer] {
        someone.says("two").await;
        someone.until(|message| message["type"] == "status_change" && message["status"] == "idle").await;
    }
    let story = first.story();
    dense(&first.numbers(), 1);
    let shared = |other: &crate::consumers::Someone| {
        let theirs = other.story();
        let both = story.len().min(theirs.len());
        assert!(both > 70, "{both}");
        assert_eq!(story[..both], theirs[..both]);
    };
    shared(&second);
    shared(&observer);
    let said: Vec<_> = story.iter().filter(|one| one["type"] == "user_message").map(|one| &one["content"]).collect();
    assert_eq!(said.len(), 3, "the prompts of all are echoed to all: {said:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn who_leaves_and_returns_misses_nothing() {
    let house = House::open().await;
    let id = house.session("text before").await;
    let mut stays = house.enter(&id, "after=0").await;
    let mut leaves = house.enter(&id, "after=0").await;
    let identity = leaves.told("identity").await;
    leaves.says("before").await;
    let mut story = leaves.leave().await;
    for round in ["one", "two", "three"] {
        stays.say(json!({"type": "user_message", "content": format!("burst 20\ntext {round}")})).await;
        stays.says(round).await;
        let (last, who) = (story.last().unwrap()["seq"].clone(), identity["userId"].as_str().unwrap());
        let mut back = house.enter(&id, &format!("after={last}&consumer={who}")).await;
        assert_eq!(back.told("identity").await["userId"], identity["userId"]);
        back.says(round).await;
        story.extend(back.leave().await);
    }
    stays.say(json!({"type": "user_message", "content": "text end"})).await;
    stays.says("end").await;
    let numbers: Vec<u64> = story.iter().map(|message| message["seq"].as_u64().unwrap()).collect();
    dense(&numbers, 1);
    assert_eq!(story[..], stays.story()[..story.len()]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_observer_may_not_steer() {
    let house = House::open().await;
    let (id, request) = house.rig.start_asking("approve touch x").await;
    let mut observer = house.enter(&id, "role=observer").await;
    let messages = [
        json!({"type": "user_message", "content": "text hello"}),
        json!({"type": "permission_response", "request_id": request, "behavior": "allow"}),
        json!({"type": "interrupt"}),
        json!({"type": "set_model", "model": "script-1-mini"}),
        json!({"type": "set_permission_mode", "mode": "x"}),
        json!({"type": "slash_command", "command": "/rename x"}),
        json!({"type": "set_adapter", "adapter": "echo"}),
        json!({"type": "queue_message", "content": "text hello"}),
        json!({"type": "update_queued_message", "content": "text hello"}),
        json!({"type": "cancel_queued_message"}),
    ];
    for message in messages {
        let (code, text) = observer.refused(message.clone()).await;
        assert_eq!((code.as_str(), text.as_str()), ("observer", "observers cannot control the session"));
    }
    observer.say(json!({"type": "presence_query"})).await;
    assert_eq!(observer.told("presence_update").await["consumers"][0]["role"], "observer");
    let approvals = house.rig.get(&format!("/api/sessions/{id}/approvals")).await.body;
    assert_eq!(approvals["approvals"].as_array().unwrap().len(), 1, "nothing was done");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_question_that_one_answers_is_gone_for_all() {
    let house = House::open().await;
    let id = house.session("approve touch x\nask Which? | this | that").await;
    let (mut first, mut second) = (house.enter(&id, "").await, house.enter(&id, "").await);
    let asked = first.told("permission_request").await;
    second.told("permission_request").await;
    let request = asked["request"]["request_id"].clone();
    assert_eq!(asked["request"]["command"], "touch x");
    // A new consumer gets the open requests.
    let mut late = house.enter(&id, "history=0").await;
    assert_eq!(late.told("session_init").await["session"]["pending_permissions"][0]["request_id"], request);
    assert_eq!(late.told("permission_request").await["request"]["request_id"], request);
    first.say(json!({"type": "permission_response", "request_id": request, "behavior": "allow"})).await;
    for someone in [&mut first, &mut second, &mut late] {
        let gone = someone.told("permission_cancelled").await;
        assert_eq!((&gone["request_id"], &gone["outcome"]), (&request, &json!("allowed")));
    }
    let (code, _) = second
        .refused(json!({"type": "permission_response", "request_id": request, "behavior": "deny", "message": "no"}))
        .await;
    assert_eq!(code, "not_open");
    let question = second.ever(|message| message["request"]["about"] == "question").await["request"].clone();
    assert_eq!(question["questions"][0]["question"], "Which?");
    let answers = json!({ question["questions"][0]["id"].as_str().unwrap(): ["that"] });
    let reply = json!({"type": "permission_response", "request_id": question["request_id"], "behavior": "allow", "answers": answers});
    second.say(reply).await;
    first.ever(|message| message["outcome"] == "answered").await;
    let init = house.enter(&id, "").await.told("session_init").await;
    assert_eq!(init["session"]["pending_permissions"], json!([]));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_newcomer_gets_an_open_question_once() {
    let house = House::open().await;
    let (id, request) = house.rig.start_asking("approve touch x").await;
    let seq = house.enter(&id, "after=0").await.told("permission_request").await["seq"].as_u64().unwrap();
    let (seen, before) = (format!("after={seq}"), format!("after={}", seq - 1));
    for (query, seq) in [
        ("", json!(seq)),
        ("after=0", json!(seq)),
        (&before, json!(seq)),
        ("history=0", json!(null)),
        (&seen, json!(null)),
    ] {
        let mut late = house.enter(&id, query).await;
        late.say(json!({"type": "presence_query"})).await;
        let history = late.told("message_history").await;
        assert!(!history.to_string().contains("permission_request"), "{query}: {history}");
        assert_eq!(late.told("permission_request").await["seq"], seq, "{query}");
        late.told("presence_update").await;
        let numbers = late.numbers();
        dense(&numbers, numbers.first().copied().unwrap_or(1));
        let asked = late.heard.iter().filter(|one| one["request"]["request_id"] == json!(request)).count();
        assert_eq!(asked, 1, "{query}: {:#?}", late.heard);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_who_is_there_in_two_roles_is_seen_in_both() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let mut ada = house.enter(&id, "name=Ada&consumer=a").await;
    ada.told("message_history").await;
    let _looks = house.enter(&id, "name=Screen&consumer=a&role=observer").await;
    let all = ada.told("presence_update").await["consumers"].clone();
    let seen = |at: usize| json!([all[at]["userId"], all[at]["displayName"], all[at]["role"]]);
    assert_eq!([seen(0), seen(1)], [json!(["a", "Ada", "participant"]), json!(["a", "Screen", "observer"])]);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_know_who_is_there() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let names = |update: &serde_json::Value| {
        let all = update["consumers"].as_array().unwrap();
        all.iter().map(|one| one["displayName"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    let mut ada = house.enter(&id, "name=Ada&consumer=a").await;
    assert_eq!(names(&ada.told("presence_update").await), ["Ada"]);
    let mut eve = house.enter(&id, "name=Eve&role=observer").await;
    assert_eq!(eve.told("identity").await["role"], "observer");
    assert_eq!(names(&ada.told("presence_update").await), ["Ada", "Eve"]);
    // A consumer with two connections is present once.
    let again = house.enter(&id, "name=Ada&consumer=a").await;
    eve.leave().await;
    assert_eq!(names(&ada.until(|one| one["type"] == "presence_update" && names(one).len() == 1).await), ["Ada"]);
    again.leave().await;
    ada.say(json!({"type": "presence_query"})).await;
    assert_eq!(names(&ada.told("presence_update").await), ["Ada"]);
}

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
