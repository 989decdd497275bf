//! Many threads on one connection.

use serde_json::{Value, json};

use super::client::{Client, WIRES, Wire};
use crate::rig::Rig;

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
            // All twenty wait at once.
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
    // Nobody reads, and the agent is done all the same.
    rig.until(&thread, |view| view["activity"] == "idle").await;
    client.ended(&thread, "turn_1").await;
    let pieces = client.all("item/agentMessage/delta");
    assert_eq!(pieces.len(), 50_000);
    let said: String = pieces.iter().map(|params| params["delta"].as_str().unwrap_or_default()).collect();
    let whole =
        client.all("item/completed").into_iter().find(|params| params["item"]["type"] == "agentMessage").unwrap();
    assert_eq!(Value::String(said), whole["item"]["text"]);
}
