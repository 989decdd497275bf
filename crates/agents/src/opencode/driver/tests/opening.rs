//! Opening a session, and the content of its prompts.

use serde_json::{Value, json};

use super::{check, spelled, wish};
use crate::{driver_tests::LaunchFixture, opencode::AGENT};

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

/// The handshake of a continued session, up to the session request.
const LISTENING: &str = r#"
    {"line":"opencode server listening on http://127.0.0.1:4096"}
    > {"connect":"http://127.0.0.1:4096"}
    > {"listen":"/event"}
    {"stream":"opened"}
    > {"http":{"id":1,"path":"/agent"}}
    {"in":{"id":1,"method":"GET","path":"/agent","status":500}}
"#;

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
