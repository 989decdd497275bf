//! `switchboard mcp`, tested with the official client on a corpus with known totals.

use std::{
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Stdio},
};

use rmcp::{
    RoleClient, ServiceExt as _,
    model::{CallToolRequestParams, CallToolResult},
    service::RunningService,
};
use serde_json::{Value, json};
use switchboard_agents::LOGS;
use switchboard_testkit::corpus::{CorpusOptions, CorpusTruth, write_corpus};
use tempfile::TempDir;

use crate::binary;

struct McpTestClient {
    client: RunningService<RoleClient, ()>,
    child: Child,
    truth: CorpusTruth,
    folder: TempDir,
}

struct ToolAnswer {
    text: String,
    json: Value,
    is_error: bool,
}

impl McpTestClient {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let truth =
            write_corpus(folder.path(), &CorpusOptions { bytes: 300_000, words: 2_000, ..CorpusOptions::small(9) })
                .unwrap();
        let (home, data) = (folder.path().join("home"), folder.path().join("data"));
        let mut command = binary::command(&["mcp", "--home", home.to_str().unwrap(), "--data", data.to_str().unwrap()]);
        let (ours, its) = UnixStream::pair().unwrap();
        let output = its.try_clone().unwrap();
        command.stdin(Stdio::from(OwnedFd::from(its))).stdout(Stdio::from(OwnedFd::from(output)));
        let child = command.spawn().unwrap();
        drop(command);
        ours.set_nonblocking(true).unwrap();
        let (read, write) = tokio::net::UnixStream::from_std(ours).unwrap().into_split();
        let client = ().serve((read, write)).await.unwrap();
        Self { client, child, truth, folder }
    }

    async fn call(&self, tool: &'static str, given: Value) -> ToolAnswer {
        let params = CallToolRequestParams::new(tool).with_arguments(given.as_object().unwrap().clone());
        let result: CallToolResult = self.client.call_tool(params).await.unwrap();
        let text = result.content.iter().filter_map(|block| Some(block.as_text()?.text.clone())).collect();
        ToolAnswer {
            text,
            json: result.structured_content.unwrap_or_default(),
            is_error: result.is_error == Some(true),
        }
    }

    /// The server ends with its client.
    async fn end(mut self) {
        self.client.cancel().await.unwrap();
        let status = tokio::task::spawn_blocking(move || self.child.wait()).await.unwrap().unwrap();
        assert_eq!(status.code(), Some(0));
        drop(self.folder);
    }
}

#[tokio::test]
async fn tools_have_schemas_and_are_read_only() {
    let client = McpTestClient::new().await;
    let tools = client.client.list_all_tools().await.unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| &*tool.name).collect();
    assert_eq!(names, ["list_sessions", "search_sessions", "show_session", "usage"]);
    for tool in &tools {
        assert!(tool.description.as_ref().is_some_and(|text| text.len() > 100), "{tool:?}");
        let hints = tool.annotations.as_ref().unwrap();
        assert_eq!((hints.read_only_hint, hints.destructive_hint), (Some(true), Some(false)));
        let schema = Value::Object((*tool.input_schema).clone());
        assert!(jsonschema::meta::is_valid(&schema) && schema["type"] == "object", "{schema}");
        let fields = schema["properties"].as_object().unwrap();
        assert!(fields.values().all(|field| field["description"].is_string()), "{schema}");
    }
    client.end().await;
}

#[tokio::test]
async fn a_search_hit_can_be_shown() {
    let client = McpTestClient::new().await;
    let knows = |agent: &str| LOGS.iter().any(|logs| logs.agent == agent);
    let needle = client.truth.rare.iter().find(|needle| knows(&needle.agent)).unwrap().clone();
    let found = client.call("search_sessions", json!({ "query": needle.word })).await;
    let hit = &found.json["hits"][0];
    assert_eq!((&hit["session"], &hit["agent"]), (&json!(needle.session), &json!(needle.agent)), "{}", found.text);
    assert!(found.text.contains(&needle.word) && !found.is_error);
    let given = json!({ "session": needle.session, "turn": hit["turn"], "full_output": true, "thinking": true,
        "max_chars": 60_000 });
    let shown = client.call("show_session", given).await;
    assert!(shown.text.contains("## Turn ") && shown.text.contains(&needle.word), "{}", shown.text);
    client.end().await;
}

#[tokio::test]
async fn pages_contain_everything_once() {
    let client = McpTestClient::new().await;
    let all = client.call("list_sessions", json!({ "limit": 100 })).await;
    let total = all.json["total"].as_u64().unwrap();
    let (mut ids, mut offset) = (Vec::new(), json!(0));
    while !offset.is_null() {
        let page = client.call("list_sessions", json!({ "limit": 9, "offset": offset })).await;
        ids.extend(page.json["sessions"].as_array().unwrap().iter().map(|session| session["id"].to_string()));
        offset = page.json["nextOffset"].clone();
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len() as u64, total);
    let (mut text, mut offset) = (String::new(), 0);
    loop {
        let piece =
            client.call("show_session", json!({ "session": "last", "max_chars": 1000, "offset": offset })).await;
        assert!(piece.text.chars().count() < 1100 && !piece.is_error, "{}", piece.text);
        let Some((shown, rest)) = piece.text.rsplit_once("\n[") else {
            text.push_str(&piece.text);
            break;
        };
        text.push_str(shown);
        offset = rest.rsplit_once("offset ").unwrap().1.trim_end_matches(']').parse().unwrap();
    }
    let whole = client.call("show_session", json!({ "session": "last", "max_chars": 60_000 })).await;
    assert!(whole.text.starts_with(text.get(..500.min(text.len())).unwrap()));
    client.end().await;
}

#[tokio::test]
async fn usage_matches_the_corpus() {
    let client = McpTestClient::new().await;
    for agent in LOGS.iter().map(|logs| logs.agent) {
        let Some(known) = client.truth.agents.get(agent) else { continue };
        let used = client.call("usage", json!({ "by": "model", "agent": agent })).await;
        assert_eq!(used.json["total"]["totalTokens"], known.total_tokens(), "{agent}: {}", used.text);
    }
    // Days begin at different times in different zones.
    let starts = async |zone: &str| {
        let used = client.call("usage", json!({ "by": "day", "timezone": zone })).await;
        used.json["rows"][0]["start"].as_str().unwrap().to_owned()
    };
    let [utc, tokyo] = [starts("UTC").await, starts("Asia/Tokyo").await];
    assert!(utc.contains("T00:00:00") && tokyo.contains("T15:00:00"), "{utc} {tokyo}");
    client.end().await;
}

#[tokio::test]
async fn invalid_arguments_are_tool_errors() {
    let client = McpTestClient::new().await;
    for (tool, given, says) in [
        ("show_session", json!({ "session": "nobody" }), "no session nobody"),
        ("show_session", json!({}), "session"),
        ("search_sessions", json!({ "query": "(", "regex": true }), "regular expression"),
        ("search_sessions", json!({ "query": "x", "kinds": ["songs"] }), "songs"),
        ("list_sessions", json!({ "since": "whenever" }), "whenever"),
        ("list_sessions", json!({ "agent": "nobody" }), "nobody"),
        ("usage", json!({ "by": "moon" }), "day, week"),
        ("usage", json!({ "by": "day", "timezone": "Mars/Olympus" }), "Mars/Olympus"),
        ("usage", json!({ "by": "day", "zone": "Asia/Tokyo" }), "there is no `zone`; there are "),
        ("list_sessions", json!({ "folder": "x" }), "there is no `folder`; there are "),
        ("search_sessions", json!({ "query": "x", "max": 1 }), "there is no `max`; there are "),
        ("show_session", json!({ "session": "last", "page": 2 }), "there is no `page`; there are "),
        ("search_sessions", json!({ "query": " " }), "nothing to search for"),
        ("search_sessions", json!({ "query": "\"*\"" }), "nothing to search for"),
        ("show_session", json!({ "session": "last", "turn": 9_999 }), "there is no turn 9999: this session has "),
    ] {
        let said = client.call(tool, given.clone()).await;
        assert!(said.is_error && said.text.contains(says), "{tool} {given}: {}", said.text);
    }
    let unknown = client.client.call_tool(CallToolRequestParams::new("forget_everything")).await;
    assert!(unknown.is_err());
    assert!(!client.call("list_sessions", json!({})).await.is_error, "it goes on after all that");
    client.end().await;
}
