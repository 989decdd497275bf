//! Turns: what they take, and what they change for good.

use serde_json::{Value, json};

use super::client::{Client, WIRES, Wire};
use crate::rig::Rig;

fn text(text: &str) -> Value {
    json!({"type": "text", "text": text})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_turn_sets_stays_set() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let folder = rig.subfolder("sub").canonicalize().unwrap();
        let folder = folder.to_str().unwrap();
        let turn = client
            .turn_with(
                &thread,
                json!({"input": [text("approve touch x")], "model": "script-1-mini", "cwd": folder,
                       "approvalPolicy": "never", "sandboxPolicy": {"type": "dangerFullAccess"},
                       "config": {"pace": "brisk", "mode": "rehearse"}}),
            )
            .await;
        assert_eq!(client.ended(&thread, &turn).await["status"], "completed");
        let read = client.get("config/read", json!({"threadId": thread})).await;
        assert_eq!(
            (&read["model"], &read["cwd"], &read["approvalPolicy"], &read["sandboxPolicy"]["type"]),
            (&json!("script-1-mini"), &json!(folder), &json!("never"), &json!("dangerFullAccess"))
        );
        let values: Vec<_> = read["options"].as_array().unwrap().iter().map(|option| &option["value"]).collect();
        assert_eq!(values, ["brisk", "rehearse"]);
        // The next turn says nothing, and asks nobody.
        assert_eq!(client.perform(&thread, "approve touch y").await["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn input_is_joined_and_must_be_there() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({"agent": "echo"})).await;
    let turn = client.turn_with(&thread, json!({"input": [text("one"), text(" "), text("two")]})).await;
    assert_eq!(client.ended(&thread, &turn).await["items"][1]["text"], "one\n\ntwo");
    let long = text(&"x".repeat(100_001));
    for input in [json!([]), json!([text(" ")]), json!([long])] {
        assert_eq!(client.code("turn/start", json!({"threadId": thread, "input": input})).await, -32602);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn images_are_taken_as_data_or_as_files() {
    let rig = Rig::with(vec![]);
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({})).await;
    let image = rig.folder.path().join("a.png");
    std::fs::write(&image, [1, 2, 3]).unwrap();
    let (image, words) = (image.to_str().unwrap(), text("text x"));
    let missing = rig.folder.path().join("b.png");
    for (piece, code, part) in [
        (json!({"type": "image", "url": "https://example.org/a.png"}), -32602, "nothing is fetched"),
        (json!({"type": "image", "url": "data:image/png;base64,???"}), -32602, "base64"),
        (json!({"type": "localImage", "path": "a.png"}), -32602, "absolute"),
        (json!({"type": "localImage", "path": missing}), -32602, "cannot be read"),
        (json!({"type": "localImage", "path": "/etc/passwd"}), -32602, "not a png"),
        // What is an image gets as far as the agent, and this one takes none.
        (json!({"type": "localImage", "path": image}), -32603, "takes no images"),
        (json!({"type": "image", "url": "data:image/png;base64,AAAA"}), -32603, "takes no images"),
    ] {
        let answer = client.call("turn/start", json!({"threadId": thread, "input": [piece, words]})).await;
        assert_eq!(answer["error"]["code"], code, "{piece}: {answer}");
        assert!(answer["error"]["message"].as_str().unwrap().contains(part), "{piece}: {answer}");
    }
    assert_eq!(client.perform(&thread, "text on").await["status"], "completed");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_outside_the_roots_is_not_looked_at() {
    let root = tempfile::tempdir().unwrap();
    let rig = Rig::with(vec![root.path().to_owned()]);
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({"cwd": root.path()})).await;
    let secret = rig.folder.path().join("a.png");
    std::fs::write(&secret, [1]).unwrap();
    std::os::unix::fs::symlink(&secret, root.path().join("link.png")).unwrap();
    for path in [secret, root.path().join("link.png")] {
        let input = json!([text("x"), {"type": "localImage", "path": path}]);
        let answer = client.call("turn/start", json!({"threadId": thread, "input": input})).await;
        assert_eq!(answer["error"]["code"], -32602);
        assert!(answer["error"]["message"].as_str().unwrap().contains("not below an allowed directory"), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn threads_of_one_connection_do_not_wait_for_each_other() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let (slow, fast) = (client.thread(json!({})).await, client.thread(json!({})).await);
        let turn = client.turn(&slow, "sleep 60").await;
        assert_eq!(client.perform(&fast, "text quick").await["status"], "completed");
        client.get("turn/interrupt", json!({"threadId": slow, "turnId": turn})).await;
        client.ended(&slow, &turn).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_asked_of_one_thread_is_done_in_order() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let prompt = |script: &str| json!({"threadId": thread, "input": [text(script)]});
        let first = client.ask("turn/start", prompt("sleep 60")).await;
        let second = client.ask("turn/start", prompt("text too early")).await;
        let third = client.ask("turn/interrupt", json!({"threadId": thread, "turnId": "turn_1"})).await;
        assert_eq!(client.answer(first).await["result"]["turn"]["id"], "turn_1");
        assert_eq!(client.answer(second).await["error"]["code"], -32002);
        assert_eq!(client.answer(third).await["result"], json!({}));
        assert_eq!(client.ended(&thread, "turn_1").await["status"], "interrupted");
    }
}
