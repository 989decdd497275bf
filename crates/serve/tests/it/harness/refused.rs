//! Every way to be refused, by its number; and the connection goes on.

use serde_json::{Value, json};

use super::client::{Client, WIRES};
use crate::rig::Rig;

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
        // Nothing comes of these.
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
