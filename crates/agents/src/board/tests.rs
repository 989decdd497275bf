//! Scripts with another server: one that only supports the protocol, and another Switchboard.

use serde_json::json;

use super::AGENT;
use crate::driver_tests::{FakeHost, LaunchFixture};

fn wish() -> LaunchFixture {
    LaunchFixture {
        command: ["http://board.example:8080", "echo"].map(str::to_owned).to_vec(),
        machine: FakeHost::default().with_env("SWITCHBOARD_BOARD_TOKEN", "secret"),
        ..LaunchFixture::default()
    }
}

/// Starts a session and receives its first line.
const STARTED: &str = r#"
    > {"connect":"http://board.example:8080","authorization":"Bearer secret","anywhere":true}
    > "ready"
    {"cmd":{"prompt":{"text":"do it"}}}
    > {"http":{"id":1,"method":"POST","path":"/api/sessions","body":{"agentId":"echo","projectId":"project","prompt":"do it"}}}
    {"in":{"id":1,"method":"POST","path":"/api/sessions","status":201,"body":{"id":"s-1","state":"running"}}}
    > {"follow":{"socket":"/ws/sessions/s-1","pages":"/api/sessions/s-1/events","state":"/api/sessions/s-1"},"offset":0}
    = {"kind":"session.started","data":{"agent_session":"s-1"}}
    = {"kind":"turn.started","data":{"prompt":"do it"}}
    {"in":{"id":"e-1","sessionId":"s-1","type":"log","payload":{"line":"working"},"timestamp":"2026-01-01T00:00:00Z"}}
    = {"kind":"item.completed","data":{"item":{"type":"agent_message","text":"working"}}}
"#;

fn check(wish: &LaunchFixture, script: &str) {
    wish.check_script(&AGENT, script);
}

#[test]
fn a_session_that_goes_well() {
    check(
        &wish(),
        &format!(
            r#"{STARTED}
        {{"stream":"ended"}}
        > {{"http":{{"id":2,"method":"GET","path":"/api/sessions/s-1"}}}}
        {{"in":{{"id":2,"method":"GET","path":"/api/sessions/s-1","status":200,"body":{{"id":"s-1","state":"done"}}}}}}
        > {{"disarm":"rest"}}
        > "settled"
        = {{"kind":"turn.completed","data":{{"status":"completed"}}}}
        {{"cmd":"close"}}
        > "done"
    "#
        ),
    );
}

#[test]
fn a_session_that_fails_and_one_that_is_cancelled() {
    check(
        &wish(),
        &format!(
            r#"{STARTED}
        {{"in":{{"id":"e-2","sessionId":"s-1","type":"error","payload":{{"message":"boom","errorType":"toolExecutionFailed"}},"timestamp":"2026-01-01T00:00:01Z"}}}}
        > {{"arm":"rest","seconds":3.0}}
        = {{"kind":"turn.completed","data":{{"status":"failed","error":{{"code":"tool_failed","message":"boom"}}}}}}
        {{"stream":"ended"}}
        > {{"disarm":"rest"}}
        > "settled"
    "#
        ),
    );
    check(
        &wish(),
        &format!(
            r#"{STARTED}
        {{"cmd":"interrupt"}}
        > {{"http":{{"id":2,"method":"POST","path":"/api/sessions/s-1/cancel"}}}}
        = {{"kind":"notice","data":{{"topic":"interrupt"}}}}
        {{"in":{{"id":2,"method":"POST","path":"/api/sessions/s-1/cancel","status":202}}}}
        {{"in":{{"id":"e-2","sessionId":"s-1","type":"cancelled","payload":{{}},"timestamp":"2026-01-01T00:00:01Z"}}}}
        > {{"arm":"rest","seconds":3.0}}
        = {{"kind":"turn.completed","data":{{"status":"interrupted"}}}}
        # A server that leaves the stream open.
        {{"timer":"rest"}}
        > {{"disarm":"rest"}}
        > "settled"
    "#
        ),
    );
}

#[test]
fn what_is_cancelled_before_it_is_there() {
    check(
        &wish(),
        r#"
        > {"connect":"http://board.example:8080"}
        > "ready"
        {"cmd":{"prompt":{"text":"do it"}}}
        > {"http":{"id":1,"method":"POST","path":"/api/sessions"}}
        {"cmd":"interrupt"}
        {"in":{"id":1,"method":"POST","path":"/api/sessions","status":201,"body":{"id":"s-1","state":"running"}}}
        > {"follow":{"socket":"/ws/sessions/s-1"}}
        > {"http":{"id":2,"method":"POST","path":"/api/sessions/s-1/cancel"}}
    "#,
    );
}

#[test]
fn a_server_that_refuses() {
    let refused = |answer: &str, effect: &str| {
        check(
            &wish(),
            &format!(
                r#"
            > {{"connect":"http://board.example:8080"}}
            > "ready"
            {{"cmd":{{"prompt":{{"text":"do it"}}}}}}
            > {{"http":{{"id":1}}}}
            {{"in":{{"id":1,"method":"POST","path":"/api/sessions",{answer}}}}}
            > {effect}
        "#
            ),
        );
    };
    refused(
        r#""status":401,"body":{"detail":"no token","code":"no_token"}"#,
        r#"{"give_up":"http://board.example:8080 started no session: no token\nhint: the variable SWITCHBOARD_BOARD_TOKEN has the token for it","code":"provider_auth"}"#,
    );
    refused(
        r#""status":422,"body":{"detail":"no such agent","hint":"look"}"#,
        r#"{"give_up":"http://board.example:8080 started no session: no such agent\nhint: look","code":"api_error"}"#,
    );
    refused(
        r#""error":"no connection""#,
        r#"{"give_up":"http://board.example:8080 started no session: no connection","code":"connection_failed"}"#,
    );
}

#[test]
fn approvals_of_another_switchboard() {
    check(
        &wish(),
        &format!(
            r#"{STARTED}
        {{"in":{{"id":"e-2","sessionId":"s-1","type":"log","payload":{{"line":"Run rm","channel":"request","request":"r/1"}},"timestamp":"2026-01-01T00:00:01Z"}}}}
        > {{"http":{{"id":2,"method":"GET","path":"/api/sessions/s-1/approvals"}}}}
        {{"in":{{"id":2,"method":"GET","path":"/api/sessions/s-1/approvals","status":200,"body":{{"approvals":[{{"id":"r/1","sessionId":"s-1","about":"command","title":"Run rm","command":"rm x","options":[{{"id":"y","label":"Yes","kind":"allow_once"}}]}}]}}}}}}
        = {{"kind":"request.opened","data":{{"request":"r/1","about":"command","command":"rm x","options":[{{"id":"y"}}]}}}}
        {{"cmd":{{"answer":{{"request":"r/1","decision":"allow_session","option":"y"}}}}}}
        > {{"http":{{"id":3,"method":"POST","path":"/api/sessions/s-1/approvals/r%2F1","body":{{"decision":"acceptForSession","option":"y"}}}}}}
        = {{"kind":"request.resolved","data":{{"request":"r/1","outcome":"allowed","option":"y"}}}}
        {{"in":{{"id":3,"method":"POST","path":"/api/sessions/s-1/approvals/r%2F1","status":409,"body":{{"detail":"answered already"}}}}}}
        = {{"kind":"notice","data":{{"level":"warning","text":"answered already"}}}}
    "#
        ),
    );
}

#[test]
fn follow_ups_of_another_switchboard() {
    let done =
        r#"{"in":{"id":2,"method":"GET","path":"/api/sessions/s-1","status":200,"body":{"id":"s-1","state":"done"}}}"#;
    check(
        &wish(),
        &format!(
            r#"{STARTED}
        {{"stream":"ended"}}
        > {{"http":{{"id":2}}}}
        {done}
        > {{"disarm":"rest"}}
        > "settled"
        {{"cmd":{{"prompt":{{"text":"and more"}}}}}}
        > {{"http":{{"id":3,"method":"POST","path":"/api/sessions/s-1/prompt","body":{{"prompt":"and more"}}}}}}
        = {{"kind":"turn.started","data":{{"prompt":"and more"}}}}
        {{"in":{{"id":3,"method":"POST","path":"/api/sessions/s-1/prompt","status":202,"body":{{"id":"s-1","state":"running"}}}}}}
        > {{"follow":{{"socket":"/ws/sessions/s-1"}},"offset":1}}
        # One that only knows the protocol refuses: the turn fails, and the session goes on.
        {{"cmd":{{"set_model":"m"}}}}
        > {{"http":{{"id":4,"method":"POST","path":"/api/sessions/s-1/model","body":{{"model":"m"}}}}}}
    "#
        ),
    );
}

#[test]
fn a_session_that_is_continued() {
    let wish = LaunchFixture { resume: Some(("s-1", false)), ..wish() };
    check(
        &wish,
        r#"
        > {"connect":"http://board.example:8080"}
        > {"http":{"id":1,"method":"GET","path":"/api/sessions/s-1"}}
        {"in":{"id":1,"method":"GET","path":"/api/sessions/s-1","status":200,"body":{"id":"s-1","state":"done","events":17}}}
        > {"http":{"id":2,"method":"GET","path":"/api/sessions/s-1/events?after=17&limit=1"}}
        {"in":{"id":2,"method":"GET","path":"/api/sessions/s-1/events?after=17&limit=1","status":200,"body":{"events":[],"nextOffset":5,"lastSeq":17}}}
        > "ready"
        {"cmd":{"prompt":{"text":"go on"}}}
        > {"http":{"id":3,"method":"POST","path":"/api/sessions/s-1/prompt"}}
        {"in":{"id":3,"method":"POST","path":"/api/sessions/s-1/prompt","status":202,"body":{"id":"s-1"}}}
        > {"follow":{"socket":"/ws/sessions/s-1"},"offset":5}
    "#,
    );
    check(
        &wish,
        r#"
        > {"connect":"http://board.example:8080"}
        > {"http":{"id":1,"method":"GET","path":"/api/sessions/s-1"}}
        {"in":{"id":1,"method":"GET","path":"/api/sessions/s-1","status":404,"body":{"detail":"no session s-1"}}}
        > {"give_up":"the session cannot be continued: no session s-1","code":"session_not_found"}
    "#,
    );
}

#[test]
fn what_the_server_is_told() {
    let config = json!({ "model": "m", "approvalMode": "autoEdit", "projectId": "p", "workingDirectory": "/here", "maxTurns": 3 });
    let mut wish = LaunchFixture { resume: Some(("s-0", true)), ..LaunchFixture::from_config(&config) };
    wish.command = ["http://b/?token=linked", "script", "/there"].map(str::to_owned).to_vec();
    let launch = wish.launch(&AGENT).unwrap();
    assert_eq!(launch.weaker, ["the settings are told to the other server, and keeping them is up to it"]);
    check(
        &wish,
        r#"
        > {"connect":"http://b/","authorization":"Bearer linked"}
        > "ready"
        {"cmd":{"prompt":{"text":"go"}}}
        > {"http":{"id":1,"path":"/api/sessions","body":{"agentId":"script","projectId":"p","prompt":"go","sessionId":"s-0","fork":true,"config":{"model":"m","approvalMode":"autoEdit","workingDirectory":"/there","maxTurns":3}}}}
    "#,
    );
    assert!(LaunchFixture::default().launch(&AGENT).err().unwrap().hint.unwrap().contains("--command"));
}
