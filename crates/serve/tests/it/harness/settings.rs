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
async fn what_is_set_before_there_is_a_thread_holds_for_threads_to_come() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let listed = client.get("config/list", json!({})).await;
        assert_eq!(values(&listed), pairs(&[("pace", "steady"), ("mode", "perform")]));
        let set = client.get("config/set", json!({"id": "pace", "value": "brisk"})).await;
        assert_eq!(values(&set), pairs(&[("pace", "brisk"), ("mode", "perform")]));
        let after = client.thread(json!({})).await;
        // Settings of an agent apply to new threads, even if there are other threads.
        client.get("config/set", json!({"agent": "script", "id": "mode", "value": "rehearse"})).await;
        let chosen = client.thread(json!({"config": {"pace": "calm"}})).await;
        for (thread, pace, mode) in [(&after, "brisk", "perform"), (&chosen, "calm", "rehearse")] {
            let read = client.get("config/read", json!({"threadId": thread})).await;
            assert_eq!(values(&read), pairs(&[("pace", pace), ("mode", mode)]), "{thread}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_without_a_thread_are_those_of_the_one_opened_last() {
    for wire in WIRES {
        let rig = Rig::new();
        let mut client = Client::ready(&rig, wire).await;
        let first = client.thread(json!({})).await;
        let last = client.thread(json!({"model": "script-1-mini", "approvalPolicy": "never"})).await;
        let set = client.get("config/set", json!({"id": "pace", "value": "calm"})).await;
        assert_eq!(values(&set), pairs(&[("pace", "calm"), ("mode", "perform")]));
        let listed = client.get("config/list", json!({})).await;
        assert_eq!(listed, client.get("config/list", json!({"threadId": last})).await);
        let read = client.get("config/read", json!({})).await;
        assert_eq!((&read["model"], &read["approvalPolicy"]), (&json!("script-1-mini"), &json!("never")));
        let other = client.get("config/list", json!({"threadId": first})).await;
        assert_eq!(values(&other), pairs(&[("pace", "steady"), ("mode", "perform")]));
        // Resuming opens a thread, too.
        client.get("thread/resume", json!({"threadId": first})).await;
        let set = client.get("config/set", json!({"id": "pace", "value": "brisk"})).await;
        assert_eq!(values(&set), pairs(&[("pace", "brisk"), ("mode", "perform")]));
        let of_last = client.get("config/list", json!({"threadId": last})).await;
        assert_eq!(values(&of_last), pairs(&[("pace", "calm"), ("mode", "perform")]));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_wait_for_the_thread_that_is_being_opened() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let started = client.ask("thread/start", json!({})).await;
    let set = client.ask("config/set", json!({"id": "pace", "value": "calm"})).await;
    let thread = client.answer(started).await["result"]["thread"]["id"].clone();
    assert_eq!(values(&client.answer(set).await["result"]), pairs(&[("pace", "calm"), ("mode", "perform")]));
    let read = client.get("config/list", json!({"threadId": thread})).await;
    assert_eq!(values(&read), pairs(&[("pace", "calm"), ("mode", "perform")]));
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_by_other_names_are_taken_and_never_swallowed() {
    let rig = Rig::new();
    let mut client = Client::ready(&rig, Wire::Lines).await;
    let read_only = json!({"type": "readOnly"});
    for params in [
        json!({"sandboxPolicy": read_only}),
        json!({"sandbox_policy": {"type": "read-only"}}),
        json!({"sandbox": "readOnly"}),
        json!({"sandboxMode": "readOnly"}),
    ] {
        let thread = client.call("thread/start", params.clone()).await["result"]["thread"]["id"].clone();
        let read = client.get("config/read", json!({"threadId": thread})).await;
        assert_eq!(read["sandboxPolicy"], read_only, "{params}");
    }
    let thread = client.thread(json!({})).await;
    let input = json!([{"type": "text", "text": "text hello"}]);
    let turn = json!({"threadId": thread, "input": input, "sandbox": read_only, "approval_policy": "never"});
    let turn = client.call("turn/start", turn).await["result"]["turn"]["id"].as_str().unwrap().to_owned();
    client.ended(&thread, &turn).await;
    let read = client.get("config/read", json!({})).await;
    assert_eq!((&read["sandboxPolicy"], &read["approvalPolicy"]), (&read_only, &json!("never")));
    for (method, params, part) in [
        ("thread/start", json!({"permissions": "ask"}), "approvalPolicy"),
        ("thread/start", json!({"hooks": {}}), "hooks"),
        ("thread/start", json!({"sandbox": read_only, "sandboxPolicy": {"type": "dangerFullAccess"}}), "twice"),
        ("turn/start", json!({"threadId": thread, "input": input, "blockedTools": ["command"]}), "blockedTools"),
        (
            "turn/start",
            json!({"threadId": thread, "input": input, "config": {"sandboxMode": "readOnly"}}),
            "sandboxPolicy",
        ),
        ("turn/interrupt", json!({"threadId": thread, "turnId": "x", "sandbox": read_only}), "turn/start"),
    ] {
        let error = client.call(method, params.clone()).await["error"].clone();
        assert_eq!(error["code"], -32602, "{method} {params}: {error}");
        assert!(error["message"].as_str().unwrap().contains(part), "{params}: {error}");
    }
    client.call("thread/list", json!({"novelty": 1})).await;
    let notice = client.wait(|message| message["params"]["text"] == "ignored unknown fields: novelty").await;
    assert_eq!((&notice["method"], &notice["params"]["threadId"]), (&json!("switchboard/notice"), &json!("")));
    let started = client.call("thread/start", json!({"novelty": 1})).await["result"]["thread"]["id"].clone();
    client.wait(|message| message["params"]["threadId"] == started && message["params"]["topic"] == "warning").await;
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
        // Confirmed by the agent.
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
        // Without a thread: the settings of a new thread.
        let read = client.get("config/read", json!({})).await;
        assert_eq!((&read["model"], &read["_meta"]["approvalMode"]), (&models[0]["id"], &json!("ask")));
        let thread = client.thread(json!({"model": models[1]["id"]})).await;
        assert_eq!(client.get("model/list", json!({"threadId": thread})).await["data"], models);
        let read = client.get("config/read", json!({"threadId": thread})).await;
        assert_eq!((&read["model"], &read["approvalPolicy"]), (&models[1]["id"], &json!("always")));
        assert_eq!(read["sandboxPolicy"], json!({"type": "externalSandbox"}));
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
