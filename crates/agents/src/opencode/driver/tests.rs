//! Plays with `opencode serve`: what is said to it, and what must come of it. Shapes and orders are those of 1.18.33.

use serde_json::{Value, json};

use crate::{driver_tests::Wish, opencode::AGENT};

const AGENTS: &str = r#"[
    {"name":"build","mode":"primary","permission":[{"permission":"bash","pattern":"rm *","action":"deny"}]},
    {"name":"plan","mode":"primary","permission":[{"permission":"edit","pattern":"*","action":"deny"}]},
    {"name":"general","mode":"subagent","permission":[]},
    {"name":"title","mode":"primary","hidden":true,"permission":[]}]"#;

/// The handshake of a session in which nothing is asked.
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

/// Plays a script after a handshake in which nothing is asked. Short words stand for long records.
fn check(script: &str) {
    wish(&json!({ "approvalMode": "autoAll" })).check(&AGENT, &spelled(&format!("{FREE}\n{script}")));
}

fn wish(config: &Value) -> Wish {
    Wish::of(config)
}

/// Writes out what scripts abbreviate: `busy`, `idle`, `user N`, `reply N to M`, `done N to M`, `failed N to M`.
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

/// A prompt that is taken and worked on.
const WORKING: &str = r#"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"http":{"id":3,"method":"POST","path":"/session/ses_1/prompt_async","body":{"parts":[{"type":"text","text":"go"}]}}}
    {"in":{"id":3,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}
    > {"arm":"work"}
    user 1
    says 1 go
    = {"kind":"turn.started","data":{"prompt":"go"}}
    = {"kind":"item.completed","data":{"item":{"type":"user_message"}}}
    busy
    > {"disarm":"work"}
    reply 2 to 1
"#;

/// What is done when a turn is over.
const OVER: &str = r#"
    > {"disarm":"work"}
    > {"disarm":"end"}
    > {"disarm":"rest"}
"#;

#[test]
fn a_turn_is_over_when_the_reply_is_complete_and_the_session_rests() {
    check(&format!(
        r#"{WORKING}
        done 2 to 1
        busy
        > {{"disarm":"work"}}
        idle
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"completed"}}}}
        {{"in":{{"type":"session.idle","properties":{{"sessionID":"ses_1"}}}}}}
        {{"cmd":"close"}}
        > "done""#
    ));
}

#[test]
fn after_an_error_it_rests_twice_and_a_prompt_in_between_waits() {
    check(&format!(
        r#"{WORKING}
        error APIError
        idle
        > {{"arm":"end"}}
        {{"cmd":{{"prompt":{{"text":"next"}}}}}}
        failed 2 to 1
        > {{"disarm":"end"}}
        > {{"arm":"rest"}}
        = {{"kind":"turn.completed","data":{{"status":"failed","error":{{"message":"no"}}}}}}
        idle
        {OVER}
        > {{"http":{{"id":4,"path":"/session/ses_1/prompt_async","body":{{"parts":[{{"text":"next"}}]}}}}}}
        {{"in":{{"id":4,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        > {{"arm":"work"}}"#
    ));
}

#[test]
fn should_the_second_rest_be_missed_time_tells() {
    check(&format!(
        r#"{WORKING}
        error APIError
        idle
        > {{"arm":"end"}}
        failed 2 to 1
        > {{"disarm":"end"}}
        > {{"arm":"rest"}}
        {{"timer":"rest"}}
        {OVER}
        > "settled""#
    ));
}

#[test]
fn an_end_that_was_missed_is_asked_for() {
    check(&format!(
        r#"{WORKING}
        idle
        > {{"arm":"end"}}
        {{"timer":"end"}}
        > {{"http":{{"id":4,"method":"GET","path":"/session/ses_1/message"}}}}
        > {{"http":{{"id":5,"path":"/session/status"}}}}
        > {{"http":{{"id":6,"path":"/permission"}}}}
        > {{"http":{{"id":7,"path":"/question"}}}}
        {{"in":{{"id":4,"method":"GET","path":"/session/ses_1/message","status":200,"body":[
            {{"info":{{"id":"msg_1","sessionID":"ses_1","role":"user","time":{{"created":2000}}}},"parts":[{{"id":"prt_1","messageID":"msg_1","type":"text","text":"go"}}]}},
            {{"info":{{"id":"msg_2","sessionID":"ses_1","role":"assistant","parentID":"msg_1","time":{{"created":2000,"completed":3000}},"finish":"stop"}},
             "parts":[{{"id":"prt_2","messageID":"msg_2","type":"text","text":"Hi.","time":{{"start":2000,"end":2500}}}}]}}]}}}}
        {OVER}
        > "settled"
        = {{"kind":"item.completed","data":{{"item":{{"type":"agent_message","text":"Hi."}}}}}}
        = {{"kind":"turn.completed","data":{{"status":"completed"}}}}"#
    ).replace(",\"body\":[\n            ", ",\"body\":[").replace("]},\n            {\"info\"", "]},{\"info\"").replace(",\n             \"parts\"", ",\"parts\""));
}

#[test]
fn a_prompt_that_is_forgotten_is_remembered() {
    // Stored while the turn was ending, and never taken up.
    check(&format!(
        r#"{WORKING}
        {{"cmd":{{"prompt":{{"text":"more"}}}}}}
        > {{"http":{{"id":4,"path":"/session/ses_1/prompt_async"}}}}
        {{"in":{{"id":4,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        user 3
        says 3 more
        = {{"kind":"item.completed","data":{{"item":{{"type":"user_message","queued":true}}}}}}
        done 2 to 1
        idle
        {OVER}
        > {{"http":{{"id":5,"path":"/session/ses_1/prompt_async","body":{{"parts":[]}}}}}}
        {{"in":{{"id":5,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        > {{"arm":"work"}}
        user 4
        busy
        > {{"disarm":"work"}}
        reply 5 to 4
        = {{"kind":"turn.started"}}
        done 5 to 4
        idle
        {OVER}
        > "settled""#
    ));
}

#[test]
fn a_prompt_that_nothing_is_done_about_is_said_again_twice() {
    check(&format!(
        r#"
        {{"cmd":{{"prompt":{{"text":"go"}}}}}}
        > {{"http":{{"id":3}}}}
        {{"in":{{"id":3,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        > {{"arm":"work"}}
        user 1
        says 1 go
        {{"in":{{"type":"server.heartbeat","properties":{{}}}}}}
        {}
        {{"timer":"work"}}"#,
        [4, 5]
            .map(|id| format!(
                r#"{{"timer":"work"}}
        > {{"http":{{"id":{id},"path":"/session/ses_1/prompt_async","body":{{"parts":[]}}}}}}
        {{"in":{{"id":{id},"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        > {{"arm":"work"}}"#
            ))
            .join("\n")
    ));
}

#[test]
fn a_prompt_joins_the_turn_that_goes_on() {
    check(&format!(
        r#"{WORKING}
        {{"cmd":{{"prompt":{{"text":"more"}}}}}}
        > {{"http":{{"id":4,"path":"/session/ses_1/prompt_async"}}}}
        {{"in":{{"id":4,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        user 3
        says 3 more
        done 2 to 1
        reply 4 to 3
        done 4 to 3
        idle
        {OVER}
        > "settled"
        = {{"kind":"turn.completed"}}"#
    ));
}

#[test]
fn a_turn_does_not_settle_while_a_prompt_is_on_its_way() {
    check(&format!(
        r#"{WORKING}
        {{"cmd":{{"prompt":{{"text":"more"}}}}}}
        > {{"http":{{"id":4}}}}
        done 2 to 1
        idle
        {OVER}
        > {{"arm":"work"}}
        {{"in":{{"id":4,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        > {{"arm":"work"}}
        user 3
        says 3 more
        = {{"kind":"turn.started","data":{{"prompt":"more"}}}}
        busy
        > {{"disarm":"work"}}
        reply 4 to 3
        done 4 to 3
        idle
        {OVER}
        > "settled""#
    ));
}

#[test]
fn a_turn_is_stopped_by_an_abort() {
    check(&format!(
        r#"{WORKING}
        {{"cmd":"interrupt"}}
        > {{"http":{{"id":4,"method":"POST","path":"/session/ses_1/abort"}}}}
        = {{"kind":"notice","data":{{"topic":"interrupt"}}}}
        error MessageAbortedError
        idle
        > {{"arm":"end"}}
        {{"in":{{"id":4,"method":"POST","path":"/session/ses_1/abort","status":200,"body":true}}}}
        failed 2 to 1
        > {{"disarm":"end"}}
        > {{"arm":"rest"}}
        idle
        {OVER}
        > "settled""#
    ));
}

#[test]
fn an_abort_that_comes_too_early_is_repeated() {
    check(&format!(
        r#"
        {{"cmd":{{"prompt":{{"text":"go"}}}}}}
        > {{"http":{{"id":3}}}}
        {{"in":{{"id":3,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        > {{"arm":"work"}}
        user 1
        says 1 go
        {{"cmd":"interrupt"}}
        > {{"http":{{"id":4,"path":"/session/ses_1/abort"}}}}
        idle
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"interrupted"}}}}
        busy
        > {{"disarm":"work"}}
        > {{"http":{{"id":5,"path":"/session/ses_1/abort"}}}}
        busy
        > {{"disarm":"work"}}"#
    ));
}

#[test]
fn a_prompt_that_is_not_taken_ends_its_turn() {
    for (answer, code) in [
        (r#""status":400,"body":{"name":"BadRequest","data":{"message":"no parts"}}"#, "protocol_error"),
        (
            r#""status":404,"body":{"name":"NotFoundError","data":{"message":"Session not found: ses_1"}}"#,
            "session_not_found",
        ),
        (r#""error":"connection refused""#, "connection_failed"),
    ] {
        check(&format!(
            r#"
            {{"cmd":{{"prompt":{{"text":"go"}}}}}}
            > {{"http":{{"id":3}}}}
            {{"in":{{"id":3,"method":"POST","path":"/session/ses_1/prompt_async",{answer}}}}}
            {OVER}
            > "settled"
            = {{"kind":"turn.started","data":{{"prompt":"go"}}}}
            = {{"kind":"turn.completed","data":{{"status":"failed","error":{{"code":"{code}"}}}}}}"#
        ));
    }
}

#[test]
fn a_prompt_that_fails_without_a_trace_ends_its_turn() {
    // As with a mode that does not exist: nothing is stored, and nothing becomes busy.
    check(&format!(
        r#"
        {{"cmd":{{"prompt":{{"text":"go"}}}}}}
        > {{"http":{{"id":3}}}}
        error UnknownError
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"failed"}}}}
        error UnknownError
        = {{"kind":"notice","data":{{"topic":"echo"}}}}"#
    ));
}

#[test]
fn what_is_said_with_a_prompt() {
    check(
        r#"
        {"cmd":{"set_model":"openrouter/meta/llama"}}
        {"cmd":{"set_option":["effort","high"]}}
        {"cmd":{"set_mode":"plan"}}
        {"cmd":{"prompt":{"text":"look","images":[{"media_type":"image/png","data":"AAAA","path":"/tmp/a.png"}],"schema":{"type":"object"}}}}
        > {"http":{"body":{"parts":[{"type":"text","text":"look"},{"type":"file","mime":"image/png","url":"data:image/png;base64,AAAA","filename":"a.png"}],"model":{"providerID":"openrouter","modelID":"meta/llama"},"agent":"plan","variant":"high","format":{"type":"json_schema","schema":{"type":"object"}}}}}
        {"cmd":{"set_model":"llama"}}
        > {"refused":"OpenCode has no model `llama`"}
        {"cmd":{"set_mode":"general"}}
        > {"refused":"OpenCode has no mode `general`"}
        {"cmd":{"set_option":["speed","high"]}}
        > {"refused":"OpenCode has no option `speed`"}"#,
    );
}

#[test]
fn a_session_gets_rules_that_ask_and_what_its_mode_forbids() {
    let config = json!({ "blockedTools": ["web"] });
    let script = r#"
        {"line":"opencode server listening on http://127.0.0.1:4096"}
        > {"connect":"http://127.0.0.1:4096"}
        > {"listen":"/event"}
        {"stream":"opened"}
        > {"http":{"id":1,"path":"/agent"}}
        {"in":{"id":1,"method":"GET","path":"/agent","status":200,"body":AGENTS}}
        > {"http":{"id":2,"method":"POST","path":"/session","body":{"permission":RULES(build)}}}
        {"in":{"id":2,"method":"POST","path":"/session","status":200,"body":{"id":"ses_1"}}}
        > "ready"
        {"cmd":{"set_mode":"plan"}}
        > {"http":{"id":3,"method":"PATCH","path":"/session/ses_1","body":{"permission":RULES(plan)}}}"#;
    let rules = |permission: &str, pattern: &str| {
        let harmless = [
            "read",
            "glob",
            "grep",
            "list",
            "lsp",
            "skill",
            "todowrite",
            "todoread",
            "question",
            "plan_enter",
            "plan_exit",
        ];
        let rule = |permission: &str, pattern: &str, action: &str| json!({ "permission": permission, "pattern": pattern, "action": action });
        let mut rules = vec![rule("*", "*", "ask")];
        rules.extend(harmless.map(|tool| rule(tool, "*", "allow")));
        rules.extend([
            rule("read", "*.env", "ask"),
            rule("read", "*.env.*", "ask"),
            rule("read", "*.env.example", "allow"),
        ]);
        rules.push(rule("external_directory", "/home/user/.local/share/opencode/tool-output/*", "allow"));
        rules.push(rule(permission, pattern, "deny"));
        rules.extend(["webfetch", "websearch", "codesearch"].map(|tool| rule(tool, "*", "deny")));
        json!(rules).to_string()
    };
    let script = script.replace("RULES(build)", &rules("bash", "rm *")).replace("RULES(plan)", &rules("edit", "*"));
    wish(&config).check(&AGENT, &spelled(&script));
}

/// The handshake up to the session, of one that is continued.
const LISTENING: &str = r#"
    {"line":"opencode server listening on http://127.0.0.1:4096"}
    > {"connect":"http://127.0.0.1:4096"}
    > {"listen":"/event"}
    {"stream":"opened"}
    > {"http":{"id":1,"path":"/agent"}}
    {"in":{"id":1,"method":"GET","path":"/agent","status":500}}
"#;

fn continued(config: &Value, resume: (&'static str, bool), script: &str) {
    let wish = Wish { resume: Some(resume), ..wish(config) };
    wish.check(&AGENT, &spelled(&format!("{LISTENING}\n{script}")));
}

#[test]
fn a_session_is_continued() {
    continued(
        &json!({}),
        ("ses_9", false),
        r#"
        > {"http":{"id":2,"method":"GET","path":"/session/ses_9"}}
        {"in":{"id":2,"method":"GET","path":"/session/ses_9","status":200,"body":{"id":"ses_9","time":{"created":1,"updated":5000}}}}
        > {"http":{"id":3,"method":"PATCH","path":"/session/ses_9"}}
        = {"kind":"notice"}
        {"in":{"id":3,"method":"PATCH","path":"/session/ses_9","status":200,"body":{"id":"ses_9","time":{"created":1,"updated":6000}}}}
        > "ready""#,
    );
}

#[test]
fn a_copy_of_a_session_is_continued() {
    continued(
        &json!({ "approvalMode": "autoAll" }),
        ("ses_9", true),
        r#"
        > {"http":{"id":2,"method":"POST","path":"/session/ses_9/fork","body":{}}}
        {"in":{"id":2,"method":"POST","path":"/session/ses_9/fork","status":200,"body":{"id":"ses_10"}}}
        > "ready"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"http":{"path":"/session/ses_10/prompt_async"}}"#,
    );
}

#[test]
fn rules_of_an_earlier_run_are_followed_by_questions() {
    // They cannot be taken back: what was blocked then would be blocked for good.
    continued(
        &json!({ "approvalMode": "autoAll" }),
        ("ses_9", false),
        r#"
        > {"http":{"id":2,"method":"GET","path":"/session/ses_9"}}
        {"in":{"id":2,"method":"GET","path":"/session/ses_9","status":200,"body":{"id":"ses_9","permission":[{"permission":"bash","pattern":"*","action":"deny"}]}}}
        > {"http":{"id":3,"method":"PATCH","path":"/session/ses_9"}}
        {"in":{"id":3,"method":"PATCH","path":"/session/ses_9","status":200,"body":{"id":"ses_9"}}}
        > "ready""#,
    );
}

#[test]
fn a_session_that_is_not_there_is_given_up() {
    continued(
        &json!({}),
        ("ses_9", false),
        r#"
        > {"http":{"id":2,"method":"GET","path":"/session/ses_9"}}
        {"in":{"id":2,"method":"GET","path":"/session/ses_9","status":404,"body":{"name":"NotFoundError","data":{"message":"Session not found: ses_9"}}}}
        > {"give_up":"the session ses_9 cannot be continued: Session not found: ses_9","code":"session_not_found"}"#,
    );
}

#[test]
fn permissions_are_answered() {
    check(&format!(
        r#"{WORKING}
        asks 1 ls
        = {{"kind":"request.opened","data":{{"request":"per_1","about":"command"}}}}
        {{"cmd":{{"answer":{{"request":"per_1","decision":"allow"}}}}}}
        > {{"http":{{"id":4,"method":"POST","path":"/permission/per_1/reply","body":{{"reply":"once"}}}}}}
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
        {{"in":{{"id":8,"method":"POST","path":"/permission/per_4/reply","status":404,"body":{{"_tag":"PermissionNotFoundError","message":"gone"}}}}}}
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

#[test]
fn what_the_bus_missed_is_asked_for_when_it_is_open_again() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        {{"stream":"closed"}}
        {{"stream":"opened"}}
        > {{"http":{{"id":4,"path":"/session/ses_1/message"}}}}
        > {{"http":{{"id":5,"path":"/session/status"}}}}
        > {{"http":{{"id":6,"path":"/permission"}}}}
        > {{"http":{{"id":7,"path":"/question"}}}}
        {{"in":{{"id":6,"method":"GET","path":"/permission","status":200,"body":[{{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["a"]}},{{"id":"per_2","sessionID":"ses_3","permission":"bash","patterns":["b"]}}]}}}}
        = {{"kind":"request.opened","thread":"ses_3","data":{{"request":"per_2"}}}}
        {{"cmd":{{"answer":{{"request":"per_2","decision":"allow"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply"}}}}
        done 2 to 1
        {{"in":{{"id":5,"method":"GET","path":"/session/status","status":200,"body":{{}}}}}}
        {OVER}
        > "settled"
        = {{"kind":"turn.completed"}}"#
    ));
}
