//! The most common interactions, over either transport.

use serde_json::{Value, json};

use super::client::{Client, WIRES};
use crate::rig::Rig;

fn types(turn: &Value) -> Vec<&str> {
    turn["items"].as_array().unwrap().iter().map(|item| item["type"].as_str().unwrap()).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_turn_streams_typed_items() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let script = "think hmm\ntext hello world\nrun echo hi\nedit a.txt\nplan one, two\nsubagent helper";
        let turn = client.turn(&thread, script).await;
        let done = client.ended(&thread, &turn).await;
        assert_eq!(done["status"], "completed");
        for kind in ["reasoning", "agentMessage", "commandExecution", "fileChange", "plan", "subagent"] {
            assert!(types(&done).contains(&kind), "{kind} in {:?}", types(&done));
        }
        let said: String = client
            .all("item/agentMessage/delta")
            .iter()
            .map(|params| params["delta"].as_str().unwrap().to_owned())
            .collect();
        assert_eq!(said, "hello world");
        let ids = |method: &str| {
            let mut ids: Vec<_> = client.all(method).iter().map(|params| params["item"]["id"].to_string()).collect();
            ids.sort();
            ids
        };
        assert_eq!(ids("item/started"), ids("item/completed"));
        assert!(!client.all("turn/plan/updated").is_empty() && !client.all("thread/tokenUsage/updated").is_empty());
        // The response comes before the messages of the turn.
        let answered = client.place(|message| message["result"]["turn"]["id"] == *turn);
        assert!(answered < client.place(|message| message["method"] == "turn/started"));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_thread_starts_once_and_what_its_agent_adds_is_an_update() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        client.perform(&thread, "text one").await;
        // The thread continues with another run of the agent.
        let params = json!({"input": [{"type": "text", "text": "text two"}], "approvalPolicy": "never"});
        let turn = client.turn_with(&thread, params).await;
        client.ended(&thread, &turn).await;
        assert_eq!(client.all("thread/started").len(), 1);
        let runs: Vec<_> = client
            .all("switchboard/threadUpdated")
            .iter()
            .filter_map(|params| params["_meta"]["run"].as_u64())
            .collect();
        assert_eq!(runs, [1, 2]);
        let started = client.all("thread/started").remove(0)["thread"].clone();
        assert_eq!((&started["_meta"]["agent"], &started["modelProvider"]), (&json!("script"), &json!("switchboard")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_interrupt_ends_the_turn_and_not_the_thread() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let turn = client.turn(&thread, "sleep 60").await;
        let input = json!([{"type": "text", "text": "x"}]);
        assert_eq!(client.code("turn/start", json!({"threadId": thread, "input": input})).await, -32002);
        let other = json!({"threadId": thread, "turnId": "turn_99"});
        assert_eq!(client.code("turn/interrupt", other).await, -32003);
        let params = json!({"threadId": thread, "turnId": turn});
        assert_eq!(client.get("turn/interrupt", params.clone()).await, json!({}));
        assert_eq!(client.ended(&thread, &turn).await["status"], "interrupted");
        assert_eq!(client.code("turn/interrupt", params).await, -32003);
        assert_eq!(client.perform(&thread, "text on").await["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_failed_turn_says_why() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let done = client.perform(&thread, "fail out of quota").await;
        assert_eq!((&done["status"], &done["error"]["message"]), (&json!("failed"), &json!("out of quota")));
        assert_eq!(client.perform(&thread, "text again").await["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_agent_is_started_again_by_the_next_turn() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let thread = client.thread(json!({})).await;
        let done = client.perform(&thread, "crash").await;
        assert_eq!(done["status"], "failed");
        client.wait(|message| message["method"] == "switchboard/threadEnded").await;
        assert_eq!(client.perform(&thread, "text back").await["status"], "completed");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_handshake_says_who_is_there() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::new(&rig, wire, Some("echo")).await;
        assert_eq!(client.code("thread/list", json!({})).await, -32000);
        assert_eq!(client.code("no/such", json!({})).await, -32000);
        assert_eq!(client.code("initialize", json!({})).await, -32602);
        let about = client.initialize().await;
        assert_eq!(
            (&about["agentInfo"]["name"], &about["agentInfo"]["provider"]),
            (&json!("echo"), &json!("switchboard"))
        );
        assert_eq!(
            about["capabilities"],
            json!({"streaming": false, "configOptions": false, "reasoning": false, "plans": false, "review": false})
        );
        let again = json!({"clientInfo": {"name": "test", "version": "1"}});
        assert_eq!(client.code("initialize", again).await, -32600);
        let mut script = Client::new(&rig, wire, Some("script")).await;
        assert_eq!(
            script.initialize().await["capabilities"],
            json!({"streaming": true, "configOptions": true, "reasoning": true, "plans": true, "review": false})
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_an_agent_of_its_own_each_thread_names_one() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::new(&rig, wire, None).await;
        assert_eq!(client.initialize().await["agentInfo"]["name"], "switchboard");
        for method in ["thread/start", "model/list", "config/list", "config/read"] {
            assert_eq!(client.code(method, json!({})).await, -32602, "{method}");
        }
        assert_eq!(client.code("thread/start", json!({"agent": "nobody"})).await, -32602);
        let (echo, script) =
            (client.thread(json!({"agent": "echo"})).await, client.thread(json!({"agent": "script"})).await);
        assert_eq!(client.perform(&echo, "text hello").await["items"][1]["text"], "text hello");
        assert_eq!(client.perform(&script, "text hello").await["items"][1]["text"], "hello");
        let options = client.get("config/list", json!({"agent": "script"})).await;
        assert_eq!(options["options"][0]["id"], "pace");
    }
}
