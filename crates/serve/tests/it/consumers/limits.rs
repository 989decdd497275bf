//! Invalid, oversized and too frequent messages: each gets an error, and the connection stays open.

use futures_util::{SinkExt as _, StreamExt as _};
use serde_json::json;
use tokio::net::TcpStream;
use tokio_tungstenite::{
    client_async,
    tungstenite::{Error, Message},
};

use super::{House, dense};

#[tokio::test(flavor = "multi_thread")]
async fn what_makes_no_sense_is_an_error() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let mut someone = house.enter(&id, "").await;
    for (text, code) in [
        ("", "bad_json"),
        ("{nope", "bad_json"),
        ("[]", "bad_field"),
        ("{}", "bad_field"),
        (r#"{"type":7}"#, "bad_field"),
        (r#"{"type":"dance"}"#, "bad_field"),
        (r#"{"type":"user_message"}"#, "bad_field"),
        (r#"{"type":"user_message","content":7}"#, "bad_field"),
        (r#"{"type":"user_message","content":"x","images":[{"media_type":"text/plain","data":"AAAA"}]}"#, "bad_field"),
        (r#"{"type":"permission_response","behavior":"allow"}"#, "bad_field"),
        (r#"{"type":"permission_response","request_id":"x","behavior":"perhaps"}"#, "bad_field"),
        (r#"{"type":"permission_response","request_id":"x","behavior":"allow"}"#, "no_request"),
        (r#"{"type":"set_model","model":""}"#, "bad_field"),
        (r#"{"type":"set_adapter","adapter":"echo"}"#, "other_agent"),
        (r#"{"type":"slash_command"}"#, "bad_field"),
    ] {
        someone.socket.send(Message::text(text)).await.unwrap();
        let error = someone.told("error").await;
        assert_eq!(error["code"], code, "{text}: {error}");
    }
    someone.socket.send(Message::binary(b"\xff\xfe".to_vec())).await.unwrap();
    assert_eq!(someone.told("error").await["code"], "bad_json");
    someone.say(json!({"type": "user_message", "content": "text alive"})).await;
    someone.says("alive").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_message_can_be_too_large() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let mut someone = house.enter(&id, "").await;
    let long = "x".repeat(300 << 10);
    let (code, text) = someone.refused(json!({"type": "slash_command", "command": long})).await;
    assert_eq!((code.as_str(), text.as_str()), ("too_large", "the message is larger than 256 kB (without images)"));
    let (code, _) = someone.refused(json!({"type": "user_message", "content": long})).await;
    assert_eq!(code, "bad_field", "a prompt has a limit of its own");
    someone.say(json!({"type": "user_message", "content": "text alive"})).await;
    someone.says("alive").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn too_many_messages_are_refused_and_others_are_not_disturbed() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let (mut loud, mut quiet) = (house.enter(&id, "").await, house.enter(&id, "after=0").await);
    loud.says("hello").await;
    let (mut asked, mut limited) = (0, 0);
    while limited == 0 {
        for _ in 0..200 {
            loud.say(json!({"type": "presence_query"})).await;
        }
        for _ in 0..200 {
            let answer = loud
                .until(|one| one["type"] == "error" || one["type"] == "presence_update" && one["seq"].is_null())
                .await;
            asked += 1;
            limited += usize::from(answer["code"] == "rate_limited");
        }
        assert!(asked < 100_000, "it was never too much");
    }
    quiet.say(json!({"type": "user_message", "content": "text undisturbed"})).await;
    quiet.says("undisturbed").await;
    loud.says("undisturbed").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_does_not_read_misses_nothing() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let mut slow = house.enter(&id, "after=0").await;
    let mut fast = house.enter(&id, "after=0").await;
    fast.say(json!({"type": "user_message", "content": "burst 2000\ntext the end"})).await;
    fast.says("the end").await;
    slow.says("the end").await;
    dense(&slow.numbers(), 1);
    assert_eq!(slow.story(), fast.story());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_must_be_there() {
    let house = House::open().await;
    let path = "/ws/consumers/nobody";
    let answer = house.rig.get(path).await;
    assert_eq!((answer.status, answer.code()), (404, "no_session"));
    let id = house.session("text hello").await;
    assert_eq!(house.rig.get(&format!("/ws/consumers/{id}")).await.status, 426);
    for query in ["role=king", "after=x", "name="] {
        let answer = house.rig.get(&format!("/ws/consumers/{id}?{query}")).await;
        assert!(matches!(answer.status, 400 | 426), "{query}: {answer:?}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn other_numbers_say_nothing() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    house.rig.until(&id, |view| view["activity"] == "idle").await;
    let mut someone = house.enter(&id, "after=0").await;
    let numbering = someone.told("session_init").await["numbering"].as_str().unwrap().to_owned();
    someone.told("message_history").await;
    let all = someone.numbers();
    for (query, seen) in [
        (format!("after=3&numbering={numbering}"), 3),
        ("after=3&numbering=other".to_owned(), 0),
        ("after=100000".to_owned(), 0),
    ] {
        let mut back = house.enter(&id, &query).await;
        while back.numbers().last() != all.last() {
            back.next().await;
        }
        dense(&back.numbers(), seen + 1);
        let failed = back.heard.iter().find(|message| message["type"] == "resume_failed");
        assert_eq!(failed.map(|failed| failed["sessionId"].clone()), (seen == 0).then(|| json!(id)), "{query}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn names_have_no_control_characters() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    for query in ["name=a%00b", "name=a%0Ab", "name=%1B[31m", "consumer=a%0Db", "name="] {
        let stream = TcpStream::connect(&house.address).await.unwrap();
        let url = format!("ws://{}/ws/consumers/{id}?{query}", house.address);
        let Err(Error::Http(answer)) = client_async(url, stream).await else { panic!("{query} was let in") };
        let body = String::from_utf8(answer.body().clone().unwrap_or_default()).unwrap();
        assert_eq!((answer.status().as_u16(), body.contains("bad_query")), (400, true), "{query}: {body}");
    }
    house.enter(&id, "name=%C3%84da%20L.").await.told("identity").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn who_is_there_when_the_session_is_deleted_is_told() {
    let house = House::open().await;
    let id = house.session("text hello").await;
    let mut someone = house.enter(&id, "").await;
    someone.says("hello").await;
    assert_eq!(house.rig.delete(&format!("/api/sessions/{id}")).await.status, 204);
    someone.until(|one| one["type"] == "session_lifecycle" && one["subtype"] == "session_deleted").await;
    let end = tokio::time::timeout(super::TEST_TIMEOUT, someone.socket.next()).await.unwrap();
    let Some(Ok(Message::Close(Some(frame)))) = end else { panic!("{end:?}") };
    assert_eq!((u16::from(frame.code), frame.reason.as_str()), (1000, "session deleted"));
}
