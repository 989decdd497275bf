//! Scripts with `opencode serve`: the messages to it and the resulting effects. Formats and sequences are those of
//! 1.18.33.

mod answers;
mod choosing;
mod opening;
mod turns;

use serde_json::{Value, json};

use crate::{AgentPrompt, driver_tests::LaunchFixture, opencode::AGENT};

const AGENTS: &str = r#"[
    {"name":"build","mode":"primary","permission":[{"permission":"bash","pattern":"rm *","action":"deny"}]},
    {"name":"plan","mode":"primary","permission":[{"permission":"edit","pattern":"*","action":"deny"}]},
    {"name":"general","mode":"subagent","permission":[]},
    {"name":"title","mode":"primary","hidden":true,"permission":[]}]"#;

/// The handshake of a session that asks nothing.
const FREE: &str = r#"
    {"line":"opencode server listening on http://127.0.0.1:4096"}
    > {"connect":"http://127.0.0.1:4096","authorization":"Basic b3BlbmNvZGU6MDEyMzQ1Njc4OWFiY2RlZg=="}
    > {"listen":"/event"}
    {"stream":"opened"}
    > {"http":{"id":1,"method":"GET","path":"/agent"}}
    {"in":{"id":1,"method":"GET","path":"/agent","status":200,"body":AGENTS}}
    > {"http":{"id":2,"method":"POST","path":"/session","body":{}}}
    {"in":{"id":2,"method":"POST","path":"/session","status":200,"body":{"id":"ses_1","directory":"/w","time":{"created":1000,"updated":1000}}}}
    > "ready"
    = {"kind":"session.started","data":{"agent_session":"ses_1","info":{"modes":[{"id":"build"},{"id":"plan"}],"agents":[{"name":"general"}]}}}
"#;

/// Plays a script after the handshake of a session that asks nothing. Short words stand for long records.
fn check(script: &str) {
    wish(&json!({ "approvalMode": "autoAll" })).check_script(&AGENT, &spelled(&format!("{FREE}\n{script}")));
}

/// Returns a fixture with a first prompt.
fn wish(config: &Value) -> LaunchFixture {
    let prompt = AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() };
    LaunchFixture { prompt, ..LaunchFixture::from_config(config) }
}

/// Expands the abbreviations in scripts: `busy`, `idle`, `user N`, `reply N to M`, `done N to M`, `called N to M`,
/// `failed N to M`.
fn spelled(script: &str) -> String {
    let agents: String = AGENTS.lines().map(str::trim).collect();
    script.replace("AGENTS", &agents).lines().map(line).collect::<Vec<_>>().join("\n")
}

fn line(line: &str) -> String {
    let words: Vec<_> = line.split_whitespace().collect();
    let event = |kind: &str, properties: Value| {
        let mut properties = properties;
        properties["sessionID"] = json!("ses_1");
        json!({ "in": { "type": kind, "properties": properties } }).to_string()
    };
    let message = |info: Value| event("message.updated", json!({ "info": info }));
    let reply = |id: &str, to: &str, more: Value| {
        let time = json!({ "created": 2000 });
        let mut info =
            json!({ "id": format!("msg_{id}"), "role": "assistant", "parentID": format!("msg_{to}"), "time": time });
        info.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        message(info)
    };
    let end = json!({ "created": 2000, "completed": 3000 });
    match words.as_slice() {
        ["busy"] => event("session.status", json!({ "status": { "type": "busy" } })),
        ["idle"] => event("session.status", json!({ "status": { "type": "idle" } })),
        ["user", id] => message(json!({ "id": format!("msg_{id}"), "role": "user", "time": { "created": 2000 } })),
        ["says", id, text] => event(
            "message.part.updated",
            json!({ "part": {
            "id": format!("prt_{id}"), "messageID": format!("msg_{id}"), "type": "text", "text": text } }),
        ),
        ["reply", id, "to", to] => reply(id, to, json!({})),
        ["done", id, "to", to] => reply(id, to, json!({ "time": end, "finish": "stop" })),
        ["called", id, "to", to] => reply(id, to, json!({ "time": end, "finish": "tool-calls" })),
        ["failed", id, "to", to] => {
            reply(id, to, json!({ "time": end, "error": { "name": "APIError", "data": { "message": "no" } } }))
        }
        ["error", name] => event("session.error", json!({ "error": { "name": name, "data": { "message": "no" } } })),
        ["asks", id, command] => event(
            "permission.asked",
            json!({ "id": format!("per_{id}"), "permission": "bash",
            "patterns": [command], "metadata": { "command": command } }),
        ),
        _ => line.to_owned(),
    }
}

/// A prompt that is accepted and being answered.
const WORKING: &str = r#"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"http":{"id":3,"method":"POST","path":"/session/ses_1/prompt_async","body":{"parts":[{"type":"text","text":"go"}]}}}
    {"in":{"id":3,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}
    > {"arm":"work"}
    > {"http":{"id":4,"method":"GET","path":"/config"}}
    > {"http":{"id":5,"method":"GET","path":"/config/providers"}}
    > {"http":{"id":6,"method":"GET","path":"/command"}}
    user 1
    says 1 go
    = {"kind":"turn.started","data":{"prompt":"go"}}
    = {"kind":"item.completed","data":{"item":{"type":"user_message"}}}
    busy
    > {"disarm":"work"}
    reply 2 to 1
"#;

/// The effects at the end of a turn.
const OVER: &str = r#"
    > {"disarm":"work"}
    > {"disarm":"end"}
    > {"disarm":"rest"}
"#;
