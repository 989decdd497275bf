//! When a turn is over, and the handling of one that neither continues nor ends.

use serde_json::{Value, json};

use super::{OVER, WORKING, check, spelled, wish};
use crate::{driver_tests::LaunchFixture, opencode::AGENT};

/// The handshake of a continued session, up to the session request.
const LISTENING: &str = r#"
    {"line":"opencode server listening on http://127.0.0.1:4096"}
    > {"connect":"http://127.0.0.1:4096"}
    > {"listen":"/event"}
    {"stream":"opened"}
    > {"http":{"id":1,"path":"/agent"}}
    {"in":{"id":1,"method":"GET","path":"/agent","status":500}}
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
        > {{"http":{{"id":7,"path":"/session/ses_1/prompt_async","body":{{"parts":[{{"text":"next"}}]}}}}}}
        {{"in":{{"id":7,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
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
    let user = json!({ "id": "msg_1", "sessionID": "ses_1", "role": "user", "time": { "created": 2000 } });
    let said = json!({ "id": "prt_1", "messageID": "msg_1", "type": "text", "text": "go" });
    let time = json!({ "created": 2000, "completed": 3000 });
    let reply = json!({ "id": "msg_2", "sessionID": "ses_1", "role": "assistant", "parentID": "msg_1", "time": time, "finish": "stop" });
    let time = json!({ "start": 2000, "end": 2500 });
    let answer = json!({ "id": "prt_2", "messageID": "msg_2", "type": "text", "text": "Hi.", "time": time });
    let all = json!([{ "info": user, "parts": [said] }, { "info": reply, "parts": [answer] }]);
    check(&format!(
        r#"{WORKING}
        idle
        > {{"arm":"end"}}
        {{"timer":"end"}}
        > {{"http":{{"id":7,"method":"GET","path":"/session/ses_1/message"}}}}
        > {{"http":{{"id":8,"path":"/session/status"}}}}
        > {{"http":{{"id":9,"path":"/permission"}}}}
        > {{"http":{{"id":10,"path":"/question"}}}}
        {{"in":{{"id":7,"method":"GET","path":"/session/ses_1/message","status":200,"body":{all}}}}}
        {OVER}
        > "settled"
        = {{"kind":"item.completed","data":{{"item":{{"type":"agent_message","text":"Hi."}}}}}}
        = {{"kind":"turn.completed","data":{{"status":"completed"}}}}"#
    ));
}

#[test]
fn an_error_that_is_reported_after_the_rest_ends_the_turn() {
    check(&format!(
        r#"{WORKING}
        called 2 to 1
        idle
        > {{"arm":"end"}}
        error UnknownError
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"failed","error":{{"message":"no"}}}}}}"#
    ));
}

#[test]
fn a_rest_after_tool_calls_is_an_error_once_it_is_confirmed() {
    check(&format!(
        r#"{WORKING}
        called 2 to 1
        idle
        > {{"arm":"end"}}
        {{"timer":"end"}}
        > {{"http":{{"id":7,"method":"GET","path":"/session/ses_1/message"}}}}
        > {{"http":{{"id":8,"path":"/session/status"}}}}
        > {{"http":{{"id":9,"path":"/permission"}}}}
        > {{"http":{{"id":10,"path":"/question"}}}}
        {{"in":{{"id":8,"method":"GET","path":"/session/status","status":200,"body":{{}}}}}}
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"failed","error":{{"code":"protocol_error"}}}}}}"#
    ));
}

#[test]
fn a_prompt_that_is_forgotten_is_remembered() {
    // The prompt was stored while the turn was ending, and never processed.
    check(&format!(
        r#"{WORKING}
        {{"cmd":{{"prompt":{{"text":"more"}}}}}}
        > {{"http":{{"id":7,"path":"/session/ses_1/prompt_async"}}}}
        {{"in":{{"id":7,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
        user 3
        says 3 more
        = {{"kind":"item.completed","data":{{"item":{{"type":"user_message","queued":true}}}}}}
        done 2 to 1
        idle
        {OVER}
        > {{"http":{{"id":8,"path":"/session/ses_1/prompt_async","body":{{"parts":[]}}}}}}
        {{"in":{{"id":8,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
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
        > {{"http":{{"id":4,"path":"/config"}}}}
        > {{"http":{{"id":5,"path":"/config/providers"}}}}
        > {{"http":{{"id":6,"path":"/command"}}}}
        user 1
        says 1 go
        {{"in":{{"type":"server.heartbeat","properties":{{}}}}}}
        {}
        {{"timer":"work"}}"#,
        [7, 8]
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
        > {{"http":{{"id":7,"path":"/session/ses_1/prompt_async"}}}}
        {{"in":{{"id":7,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
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
        > {{"http":{{"id":7}}}}
        done 2 to 1
        idle
        {OVER}
        > {{"arm":"work"}}
        {{"in":{{"id":7,"method":"POST","path":"/session/ses_1/prompt_async","status":204}}}}
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
        > {{"http":{{"id":7,"method":"POST","path":"/session/ses_1/abort"}}}}
        = {{"kind":"notice","data":{{"topic":"interrupt"}}}}
        error MessageAbortedError
        idle
        > {{"arm":"end"}}
        {{"in":{{"id":7,"method":"POST","path":"/session/ses_1/abort","status":200,"body":true}}}}
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
        > {{"http":{{"id":4,"path":"/config"}}}}
        > {{"http":{{"id":5,"path":"/config/providers"}}}}
        > {{"http":{{"id":6,"path":"/command"}}}}
        user 1
        says 1 go
        {{"cmd":"interrupt"}}
        > {{"http":{{"id":7,"path":"/session/ses_1/abort"}}}}
        idle
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"interrupted"}}}}
        busy
        > {{"disarm":"work"}}
        > {{"http":{{"id":8,"path":"/session/ses_1/abort"}}}}
        busy
        > {{"disarm":"work"}}"#
    ));
}

#[test]
fn a_turn_may_be_stopped_before_the_bus_shows_it() {
    check(&format!(
        r#"
        {{"cmd":{{"prompt":{{"text":"go"}}}}}}
        > {{"http":{{"id":3}}}}
        {{"cmd":"interrupt"}}
        > {{"http":{{"id":4,"path":"/session/ses_1/abort"}}}}
        user 1
        says 1 go
        = {{"kind":"turn.started"}}
        idle
        {OVER}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"interrupted"}}}}"#
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
    // As with a mode that does not exist: nothing is stored, and the session does not become busy.
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
fn what_the_bus_missed_is_asked_for_when_it_is_open_again() {
    check(&format!(
        r#"{WORKING}
        asks 1 a
        {{"stream":"closed"}}
        {{"stream":"opened"}}
        > {{"http":{{"id":7,"path":"/session/ses_1/message"}}}}
        > {{"http":{{"id":8,"path":"/session/status"}}}}
        > {{"http":{{"id":9,"path":"/permission"}}}}
        > {{"http":{{"id":10,"path":"/question"}}}}
        {{"in":{{"id":9,"method":"GET","path":"/permission","status":200,"body":[{{"id":"per_1","sessionID":"ses_1","permission":"bash","patterns":["a"]}},{{"id":"per_2","sessionID":"ses_3","permission":"bash","patterns":["b"]}}]}}}}
        = {{"kind":"request.opened","thread":"ses_3","data":{{"request":"per_2"}}}}
        {{"cmd":{{"answer":{{"request":"per_2","decision":"allow"}}}}}}
        > {{"http":{{"path":"/permission/per_2/reply"}}}}
        done 2 to 1
        {{"in":{{"id":8,"method":"GET","path":"/session/status","status":200,"body":{{}}}}}}
        {OVER}
        > "settled"
        = {{"kind":"turn.completed"}}"#
    ));
}

#[test]
fn what_is_said_with_a_prompt() {
    check(
        r#"
        {"cmd":{"set_model":"openrouter/meta/llama"}}
        > {"note":{"set":{"model":"openrouter/meta/llama","variant":null}}}
        = {"kind":"session.updated","data":{"info":{"model":"openrouter/meta/llama"}}}
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"note":{"set":{"variant":"high"}}}
        {"cmd":{"set_mode":"plan"}}
        > {"note":{"set":{"agent":"plan"}}}
        = {"kind":"session.updated","data":{"info":{"mode":"plan"}}}
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
        > {"note":{"set":{"agent":"plan"}}}
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
    wish(&config).check_script(&AGENT, &spelled(&script));
}

fn continued(config: &Value, resume: (&'static str, bool), script: &str) {
    let wish = LaunchFixture { resume: Some(resume), ..wish(config) };
    wish.check_script(&AGENT, &spelled(&format!("{LISTENING}\n{script}")));
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
    // Earlier rules cannot be removed: a tool blocked then would stay blocked.
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
