//! Models and selectors: discovered, set, read back.

use serde_json::{Value, json};

use super::client::{Client, WIRES, Wire};
use crate::rig::Rig;

/// The values of the selectors of `pace` and `mode`.
fn values(result: &Value) -> Vec<(String, String)> {
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    result["options"].as_array().unwrap().iter().map(|option| (text(&option["id"]), text(&option["value"]))).collect()
}

fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(id, value)| ((*id).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_set_without_a_thread_holds_for_threads_to_come() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let before = client.thread(json!({})).await;
        let listed = client.get("config/list", json!({})).await;
        assert_eq!(values(&listed), pairs(&[("pace", "steady"), ("mode", "perform")]));
        let set = client.get("config/set", json!({"id": "pace", "value": "brisk"})).await;
        assert_eq!(values(&set), pairs(&[("pace", "brisk"), ("mode", "perform")]));
        client.get("config/set", json!({"id": "mode", "value": "rehearse"})).await;
        let after = client.thread(json!({})).await;
        let chosen = client.thread(json!({"config": {"pace": "calm"}})).await;
        for (thread, pace, mode) in
            [(&before, "steady", "perform"), (&after, "brisk", "rehearse"), (&chosen, "calm", "rehearse")]
        {
            let read = client.get("config/read", json!({"threadId": thread})).await;
            assert_eq!(values(&read), pairs(&[("pace", pace), ("mode", mode)]), "{thread}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_selector_of_a_thread_is_set_on_its_agent() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let (thread, other) = (client.thread(json!({})).await, client.thread(json!({})).await);
        let set = client.get("config/set", json!({"threadId": thread, "id": "pace", "value": "calm"})).await;
        assert_eq!(values(&set), pairs(&[("pace", "calm"), ("mode", "perform")]));
        let set = client.get("config/set", json!({"threadId": thread, "id": "mode", "value": "rehearse"})).await;
        assert_eq!(values(&set), pairs(&[("pace", "calm"), ("mode", "rehearse")]));
        // The agent itself said so.
        let told = client.wait(|message| message["params"]["info"]["mode"] == "rehearse").await;
        assert_eq!(told["params"]["threadId"], *thread);
        let read = client.get("config/list", json!({"threadId": other})).await;
        assert_eq!(values(&read), pairs(&[("pace", "steady"), ("mode", "perform")]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_not_offered_is_refused_everywhere() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let thread = client.thread(json!({})).await;
    for (id, value) in [("pace", "no such"), ("no such", "x"), ("mode", "dream"), ("model", "script-1")] {
        assert_eq!(client.code("config/set", json!({"id": id, "value": value})).await, -32602, "{id}");
        let of_thread = json!({"threadId": thread, "id": id, "value": value});
        assert_eq!(client.code("config/set", of_thread).await, -32602, "{id}");
        assert_eq!(client.code("thread/start", json!({"config": {id: value}})).await, -32602, "{id}");
        let input = json!([{"type": "text", "text": "x"}]);
        let turn = json!({"threadId": thread, "input": input, "config": {id: value}});
        assert_eq!(client.code("turn/start", turn).await, -32602, "{id}");
    }
    for method in ["model/list", "config/list", "config/read"] {
        assert_eq!(client.code(method, json!({"threadId": "nope"})).await, -32001, "{method}");
        assert_eq!(client.code(method, json!({"agent": "nobody"})).await, -32602, "{method}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn models_are_listed_with_one_default() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let models = client.get("model/list", json!({})).await["data"].clone();
        let defaults =
            |models: &Value| models.as_array().unwrap().iter().filter(|model| model["isDefault"] == true).count();
        assert_eq!((models.as_array().unwrap().len(), defaults(&models)), (2, 1));
        assert_eq!(models[0]["displayName"], "Script 1");
        assert_eq!(client.get("model/list", json!({"limit": 1})).await["data"].as_array().unwrap().len(), 1);
        let thread = client.thread(json!({"model": models[1]["id"]})).await;
        assert_eq!(client.get("model/list", json!({"threadId": thread})).await["data"], models);
        let read = client.get("config/read", json!({"threadId": thread})).await;
        assert_eq!((&read["model"], &read["approvalPolicy"]), (&models[1]["id"], &json!("always")));
        assert_eq!(read["sandboxPolicy"], json!({"type": "externalSandbox"}));
        // Of no thread, what a thread would have.
        let read = client.get("config/read", json!({})).await;
        assert_eq!((&read["model"], &read["_meta"]["approvalMode"]), (&models[0]["id"], &json!("ask")));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn policies_are_read_back_as_they_were_set() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let root = rig.subfolder("also").canonicalize().unwrap();
    for (approval, sandbox) in [
        ("never", json!({"type": "dangerFullAccess"})),
        ("unlessTrusted", json!({"type": "readOnly"})),
        ("always", json!({"type": "workspaceWrite", "writableRoots": [root], "networkAccess": false})),
        ("always", json!({"type": "externalSandbox", "networkAccess": "restricted"})),
    ] {
        let thread = client.thread(json!({"approvalPolicy": approval, "sandbox": sandbox})).await;
        let read = client.get("config/read", json!({"threadId": thread})).await;
        assert_eq!((&read["approvalPolicy"], &read["sandboxPolicy"]), (&json!(approval), &sandbox));
    }
    let nowhere = json!({"sandbox": {"type": "workspaceWrite", "writableRoots": ["/no/such/folder"]}});
    assert_eq!(client.code("thread/start", nowhere).await, -32602);
}
