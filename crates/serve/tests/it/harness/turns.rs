//! Turns, many threads at once, and requests that are refused.

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
        // The next turn contains no setting, and needs no approval.
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
        // Valid images reach the agent, and this one accepts none.
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

#[tokio::test(flavor = "multi_thread")]
async fn a_hundred_threads_with_twenty_running_at_once() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let mut asked = Vec::new();
        for _ in 0..100 {
            asked.push(client.ask("thread/start", json!({"approvalPolicy": "always"})).await);
        }
        let mut threads = Vec::new();
        for id in asked {
            threads.push(client.answer(id).await["result"]["thread"]["id"].as_str().unwrap().to_owned());
        }
        for running in threads.chunks(20) {
            let script = |thread: &str| format!("text from {thread}\napprove touch {thread}\nburst 50");
            let mut begun = Vec::new();
            for thread in running {
                let input = json!([{"type": "text", "text": script(thread)}]);
                begun.push(client.ask("turn/start", json!({"threadId": thread, "input": input})).await);
            }
            for id in begun {
                assert_eq!(client.answer(id).await["result"]["turn"]["id"], "turn_1");
            }
            // All twenty wait at the same time.
            for thread in running {
                let asked = client.asked(thread).await;
                assert_eq!(asked["params"]["command"], format!("touch {thread}"));
            }
            for thread in running {
                let asked = client.asked(thread).await;
                client.send(&json!({"id": asked["id"], "result": {"decision": "accept"}})).await;
            }
            for thread in running {
                let done = client.ended(thread, "turn_1").await;
                assert_eq!(
                    (&done["status"], &done["items"][1]["text"]),
                    (&json!("completed"), &json!(format!("from {thread}")))
                );
            }
        }
        assert_eq!(client.get("thread/list", json!({"limit": 200})).await["data"].as_array().unwrap().len(), 100);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_client_that_does_not_read_is_told_everything_when_it_does() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({})).await;
    client.turn(&thread, "burst 50000").await;
    // The client does not read, but the agent finishes.
    rig.until(&thread, |view| view["activity"] == "idle").await;
    client.ended(&thread, "turn_1").await;
    let pieces = client.all("item/agentMessage/delta");
    assert_eq!(pieces.len(), 50_000);
    let said: String = pieces.iter().map(|params| params["delta"].as_str().unwrap_or_default()).collect();
    let whole =
        client.all("item/completed").into_iter().find(|params| params["item"]["type"] == "agentMessage").unwrap();
    assert_eq!(Value::String(said), whole["item"]["text"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn every_error_has_its_number() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let words = json!([{"type": "text", "text": "x"}]);
        for (method, params, code) in [
            ("no/such", json!({}), -32601),
            ("review/start", json!({}), -32601),
            ("turn/start", json!({"threadId": 7}), -32602),
            ("turn/start", json!({"threadId": thread}), -32602),
            ("turn/start", json!({"threadId": thread, "input": [{"type": "smell"}]}), -32602),
            ("turn/start", json!({"threadId": thread, "input": words, "approvalPolicy": "maybe"}), -32602),
            ("turn/start", json!({"threadId": thread, "input": words, "cwd": "relative"}), -32602),
            ("turn/start", json!({"threadId": thread, "input": words, "cwd": "/no/such/folder"}), -32602),
            ("turn/start", json!({"threadId": "nope", "input": words}), -32001),
            ("turn/interrupt", json!({"threadId": "nope", "turnId": "turn_1"}), -32001),
            ("turn/interrupt", json!({"threadId": thread, "turnId": "turn_1"}), -32003),
            ("thread/start", json!({"cwd": "relative"}), -32602),
            ("thread/start", json!({"cwd": "/no/such/folder"}), -32602),
            ("thread/start", json!({"agent": 1}), -32602),
            ("thread/start", json!({"agent": "acp", "command": ["/no/such/program"]}), -32603),
            ("thread/resume", json!({}), -32602),
            ("config/set", json!({"id": "pace"}), -32602),
        ] {
            let answer = client.call(method, params.clone()).await;
            assert_eq!(answer["error"]["code"], code, "{method} {params}: {answer}");
        }
        let refused = client.call("thread/start", json!({"agent": "acp", "command": ["/no/such/program"]})).await;
        assert_eq!(refused["error"]["data"]["code"], "not_installed", "{refused}");
        assert_eq!(client.perform(&thread, "text still here").await["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_message_is_refused_and_the_rest_goes_on() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        for (line, id, code) in [
            ("{nope", Value::Null, -32700),
            ("[]", Value::Null, -32600),
            (r#"[{"id":1,"method":"thread/list"}]"#, Value::Null, -32600),
            (r#"{"id":999,"params":{}}"#, json!(999), -32600),
            (r#"{"id":[1],"method":"thread/list"}"#, Value::Null, -32600),
            (r#"{"id":"a","method":5}"#, json!("a"), -32600),
        ] {
            client.heard.clear();
            client.raw(line.as_bytes()).await;
            let refused = client.hear().await;
            assert_eq!((&refused["id"], &refused["error"]["code"]), (&id, &json!(code)), "{line}");
        }
        // These are ignored.
        for line in ["", "   ", r#"{"method":"some/unknown/notification","params":{}}"#, r#"{"method":"thread/start"}"#]
        {
            client.raw(line.as_bytes()).await;
        }
        client.heard.clear();
        client.raw(br#"{"jsonrpc":"2.0","id":"x","method":"thread/list"}"#).await;
        let answer = client.hear().await;
        assert_eq!((&answer["id"], answer.get("jsonrpc")), (&json!("x"), None));
    }
}
