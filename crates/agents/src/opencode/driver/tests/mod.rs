//! Scripts with `opencode serve`: the messages to it and the resulting effects. Formats and sequences are those of
//! 1.18.33.

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

/// The effects at the end of a turn.
const OVER: &str = r#"
    > {"disarm":"work"}
    > {"disarm":"end"}
    > {"disarm":"rest"}
"#;

/// A session without a prompt learns the available choices before it is ready.
const OFFERS: &str = r#"
    > {"http":{"id":3,"method":"GET","path":"/config"}}
    > {"http":{"id":4,"method":"GET","path":"/config/providers"}}
    > {"http":{"id":5,"method":"GET","path":"/command"}}
    {"in":{"id":3,"method":"GET","path":"/config","status":200,"body":{"model":"p/a"}}}
    {"in":{"id":5,"method":"GET","path":"/command","status":200,"body":[{"name":"init","description":"Sets up"}]}}
    = {"kind":"session.updated","data":{"info":{"commands":[{"name":"init","description":"Sets up"}]}}}
    {"in":{"id":4,"method":"GET","path":"/config/providers","status":200,"body":{"providers":[{"id":"p","name":"P","models":{"a":{"name":"A","variants":["low","high"]},"b":{"name":"B","variants":["low"]}}}]}}}
    > "ready"
    = {"kind":"session.updated","data":{"info":{"models":[{"id":"p/a","default":true},{"id":"p/b"}],"options":[{"id":"reasoning_effort","value":"default"}]}}}
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

#[test]
fn permissions_are_answered() {
    check(&format!(
        r#"{WORKING}
        asks 1 ls
        = {{"kind":"request.opened","data":{{"request":"per_1","about":"command"}}}}
        {{"cmd":{{"answer":{{"request":"per_1","decision":"allow"}}}}}}
        > {{"http":{{"id":7,"method":"POST","path":"/permission/per_1/reply","body":{{"reply":"once"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"allowed","option":"once"}}}}
        {{"in":{{"type":"permission.replied","properties":{{"sessionID":"ses_1","requestID":"per_1","reply":"once"}}}}}}
        = {{"kind":"notice","data":{{"topic":"echo"}}}}
        asks 2 ls
        {{"cmd":{{"answer":{{"request":"per_2","decision":"allow_session"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply","body":{{"reply":"always"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"allowed","option":"always"}}}}
        asks 3 ls
        {{"cmd":{{"answer":{{"request":"per_3","decision":"decline"}}}}}}
        > {{"http":{{"path":"/permission/per_3/reply","body":{{"reply":"reject","message":"The user does not allow this. Go on without it."}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"declined"}}}}
        asks 4 ls
        {{"cmd":{{"answer":{{"request":"per_4","decision":"cancel"}}}}}}
        > {{"http":{{"path":"/session/ses_1/abort"}}}}
        > {{"http":{{"path":"/permission/per_4/reply","body":{{"reply":"reject"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"cancelled"}}}}
        {{"in":{{"id":11,"method":"POST","path":"/permission/per_4/reply","status":404,"body":{{"_tag":"PermissionNotFoundError","message":"gone"}}}}}}
        = {{"kind":"notice","data":{{"topic":"control","level":"debug"}}}}
        {{"cmd":{{"answer":{{"request":"per_4","decision":"allow"}}}}}}
        > {{"refused":"OpenCode does not ask `per_4`"}}"#
    ));
}

#[test]
fn one_refusal_refuses_all_so_it_waits_for_the_others() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        asks 2 b
        asks 3 c
        {{"cmd":{{"answer":{{"request":"per_1","decision":"decline","message":"not a"}}}}}}
        {{"cmd":{{"answer":{{"request":"per_2","decision":"allow"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply","body":{{"reply":"once"}}}}}}
        {{"cmd":{{"answer":{{"request":"per_3","decision":"decline","message":"nor c"}}}}}}
        > {{"http":{{"path":"/permission/per_1/reply","body":{{"reply":"reject","message":"not a"}}}}}}
        > {{"http":{{"path":"/permission/per_3/reply","body":{{"reply":"reject","message":"nor c"}}}}}}
        = {{"kind":"request.resolved","data":{{"request":"per_1","message":"not a"}}}}
        = {{"kind":"request.resolved","data":{{"request":"per_3","message":"nor c"}}}}"#
    ));
}

#[test]
fn what_opencode_answers_itself_is_said() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        {{"in":{{"type":"permission.replied","properties":{{"sessionID":"ses_1","requestID":"per_1","reply":"reject"}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"declined","by":"agent"}}}}"#
    ));
}

#[test]
fn a_subagents_permissions_are_answered_and_do_not_wait_for_others() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        {{"in":{{"type":"session.created","properties":{{"sessionID":"ses_2","info":{{"id":"ses_2","parentID":"ses_1"}}}}}}}}
        {{"in":{{"type":"permission.asked","properties":{{"id":"per_2","sessionID":"ses_2","permission":"bash","patterns":["b"],"metadata":{{"command":"b"}}}}}}}}
        = {{"kind":"request.opened","thread":"ses_2"}}
        {{"cmd":{{"answer":{{"request":"per_2","decision":"decline","message":"no"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply","body":{{"reply":"reject","message":"no"}}}}}}
        = {{"kind":"request.resolved","data":{{"request":"per_2","outcome":"declined"}}}}"#
    ));
}

#[test]
fn questions_are_answered_in_their_order() {
    let asks = |id: &str| {
        format!(
            r#"{{"in":{{"type":"question.asked","properties":{{"id":"{id}","sessionID":"ses_1","questions":[{{"question":"Why?","options":[{{"label":"A"}}]}},{{"question":"And?","options":[]}}]}}}}}}"#
        )
    };
    check(&format!(
        r#"{WORKING}
        {}
        = {{"kind":"request.opened","data":{{"about":"question"}}}}
        {{"cmd":{{"answer":{{"request":"que_1","decision":"allow","answers":{{"And?":["own words"],"Why?":["A"]}}}}}}}}
        > {{"http":{{"path":"/question/que_1/reply","body":{{"answers":[["A"],["own words"]]}}}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"answered","answers":{{"Why?":["A"],"And?":["own words"]}}}}}}
        {}
        {{"cmd":{{"answer":{{"request":"que_2","decision":"decline"}}}}}}
        > {{"http":{{"path":"/question/que_2/reject"}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"declined"}}}}
        {}
        {{"cmd":{{"answer":{{"request":"que_3","decision":"cancel"}}}}}}
        > {{"http":{{"path":"/session/ses_1/abort"}}}}
        > {{"http":{{"path":"/question/que_3/reject"}}}}
        = {{"kind":"request.resolved","data":{{"outcome":"cancelled"}}}}"#,
        asks("que_1"),
        asks("que_2"),
        asks("que_3")
    ));
}

/// Plays a script after the session is ready.
fn handle_offers(script: &str) {
    let (opened, started) = FREE.split_once("    > \"ready\"\n").unwrap();
    let offers = OFFERS.replacen("    {\"in\"", &format!("{started}    {{\"in\""), 1);
    let wish = LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" }));
    wish.check_script(&AGENT, &spelled(&format!("{opened}{offers}{script}")));
}

#[test]
fn what_is_chosen_is_told_and_said_with_the_next_prompt() {
    handle_offers(
        r#"
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"note":{"set":{"variant":"high"}}}
        = {"kind":"session.updated","data":{"info":{"options":[{"id":"reasoning_effort","value":"high"}]}}}
        {"cmd":{"set_option":["reasoning_effort","huge"]}}
        > {"refused":"`reasoning_effort` cannot be `huge` with p/a"}
        # The other model cannot think so hard.
        {"cmd":{"set_model":"p/b"}}
        > {"note":{"set":{"model":"p/b","variant":null}}}
        = {"kind":"session.updated","data":{"info":{"model":"p/b","options":[{"id":"reasoning_effort","value":"default"}]}}}
        {"cmd":{"set_model":"p/c"}}
        > {"refused":"OpenCode has no model `p/c`"}
        {"cmd":{"set_option":["variant","low"]}}
        > {"note":{"set":{"variant":"low"}}}
        {"cmd":{"prompt":{"text":"go"}}}
        > {"http":{"id":6,"path":"/session/ses_1/prompt_async","body":{"parts":[{"text":"go"}],"model":{"providerID":"p","modelID":"b"},"variant":"low"}}}
    "#,
    );
}

#[test]
fn a_command_is_answered_when_all_is_done() {
    handle_offers(
        r#"
        {"cmd":{"slash":["init","quickly"]}}
        > {"http":{"id":6,"method":"POST","path":"/session/ses_1/command","body":{"command":"init","arguments":"quickly"}}}
        user 1
        says 1 template
        = {"kind":"turn.started"}
        busy
        > {"disarm":"work"}
        reply 2 to 1
        done 2 to 1
        idle
        > {"disarm":"work"}
        > {"disarm":"end"}
        > {"disarm":"rest"}
        > "settled"
        {"in":{"id":6,"method":"POST","path":"/session/ses_1/command","status":200,"body":{}}}
        {"cmd":{"slash":["dance",""]}}
        > {"refused":"the agent has no command /dance"}
    "#,
    );
}

#[test]
fn a_command_that_is_not_taken_ends_its_turn() {
    handle_offers(
        r#"
        {"cmd":{"slash":["init",""]}}
        > {"http":{"id":6,"path":"/session/ses_1/command"}}
        {"in":{"id":6,"method":"POST","path":"/session/ses_1/command","status":500,"body":{"name":"UnknownError","data":{"message":"no"}}}}
        > {"disarm":"work"}
        > {"disarm":"end"}
        > {"disarm":"rest"}
        > "settled"
        = {"kind":"turn.completed","data":{"status":"failed"}}
    "#,
    );
}
