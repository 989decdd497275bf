//! Scripted conversations with the app-server.

mod approvals;
mod settings;
mod turns;

use serde_json::json;

use crate::{
    codex::AGENT,
    driver_tests::{FakeHost, LaunchFixture, replay_transcript},
};

/// From the first message to readiness. The thread id is short to keep the scripts readable.
const READY_SCRIPT: &str = r#"
    > {"send":{"id":1,"method":"initialize"}}
    {"in":{"id":1,"result":{"userAgent":"switchboard/0.166.0 (Linux)","codexHome":"/home/user/.codex"}}}
    > {"send":{"method":"initialized"}}
    > {"send":{"id":2,"method":"thread/start"}}
    {"in":{"id":2,"result":{"thread":{"id":"T","sessionId":"T"},"model":"gpt-5.5","cwd":"/home/user/project"}}}
    > "ready"
    > {"send":{"id":3,"method":"model/list"}}
    > {"send":{"id":4,"method":"collaborationMode/list"}}
"#;

/// Continues with a running turn.
const RUNNING_TURN_SCRIPT: &str = r#"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"send":{"id":5,"method":"turn/start","params":{"threadId":"T","input":[{"type":"text","text":"go"}]}}}
    {"in":{"id":5,"result":{"turn":{"id":"t1","status":"inProgress"}}}}
    {"in":{"method":"turn/started","params":{"threadId":"T","turn":{"id":"t1","status":"inProgress"}}}}
    = {"kind":"turn.started","data":{"prompt":"go"}}
"#;

/// Plays a script that continues after the thread is open.
fn check_when_ready(script: &str) {
    LaunchFixture::default().check_script(&AGENT, &format!("{READY_SCRIPT}{script}"));
}

/// Plays a script that continues during a turn.
fn check_during_turn(script: &str) {
    check_when_ready(&format!("{RUNNING_TURN_SCRIPT}{script}"));
}

#[test]
fn a_thread_is_opened_with_what_the_settings_mean() {
    let wish = LaunchFixture::from_config(&json!({ "model": "gpt-5.4", "approvalMode": "autoAll" }));
    wish.check_script(
        &AGENT,
        r#"
        > {"send":{"id":1,"method":"initialize","params":{"clientInfo":{"name":"switchboard"},"capabilities":{"experimentalApi":true}}}}
        {"in":{"id":1,"result":{"userAgent":"switchboard/0.166.0 (Linux)"}}}
        > {"send":{"method":"initialized","params":{}}}
        > {"send":{"id":2,"method":"thread/start","params":{"model":"gpt-5.4","approvalPolicy":"never","approvalsReviewer":"user","sandbox":"danger-full-access","cwd":null}}}
        {"in":{"id":2,"result":{"thread":{"id":"T","sessionId":"T"},"model":"gpt-5.4"}}}
        > "ready"
        > {"send":{"method":"model/list"}}
        > {"send":{"method":"collaborationMode/list"}}
        = {"kind":"session.started","data":{"agent_session":"T"}}
        {"in":{"id":4,"result":{"data":[{"name":"Plan","mode":"plan"},{"name":"Default","mode":"default"}]}}}
        = {"kind":"session.updated","data":{"info":{"modes":[{"id":"plan","name":"Plan"},{"id":"default","name":"Default"}]}}}
    "#,
    );
}

#[test]
fn a_thread_is_continued_or_copied() {
    const THREAD: &str = "01a1e1cb-c170-7201-89c4-afed9d9065ec";
    for (fork, method) in [(false, "thread/resume"), (true, "thread/fork")] {
        let wish = LaunchFixture { resume: Some((THREAD, fork)), ..LaunchFixture::default() };
        let script = r#"
            > {"send":{"id":1,"method":"initialize"}}
            {"in":{"id":1,"result":{}}}
            > {"send":{"method":"initialized"}}
            > {"send":{"id":2,"method":"METHOD","params":{"threadId":"THREAD","cwd":"/home/user/project","excludeTurns":true,"approvalPolicy":"untrusted"}}}
            {"in":{"id":2,"error":{"code":-32600,"message":"no rollout found for thread id THREAD"}}}
            > {"give_up":"no rollout found for thread id THREAD","code":"session_not_found"}
        "#;
        wish.check_script(&AGENT, &script.replace("METHOD", method).replace("THREAD", THREAD));
    }
    let unknown = LaunchFixture { resume: Some(("my-thread", false)), ..LaunchFixture::default() };
    assert!(unknown.launch(&AGENT).is_err(), "a name could begin a new thread");
}

#[test]
fn a_key_is_given_and_never_kept() {
    let wish =
        LaunchFixture { machine: FakeHost::default().with_env("OPENAI_API_KEY", "sk-1"), ..LaunchFixture::default() };
    assert_eq!(
        wish.launch(&AGENT).unwrap().args,
        ["-c", "cli_auth_credentials_store=\"ephemeral\"", "app-server"],
        "it must not be written down"
    );
    let start = r#"
        > {"send":{"id":1,"method":"initialize"}}
        {"in":{"id":1,"result":{}}}
        > {"send":{"method":"initialized"}}
        > {"masked":{"id":2,"method":"account/login/start","params":{"type":"apiKey","apiKey":"sk-1"}},"kept":{"id":2,"params":{"type":"apiKey","apiKey":"***"}}}
    "#;
    let taken = r#"
        {"in":{"id":2,"result":{"type":"apiKey"}}}
        > {"send":{"id":3,"method":"thread/start"}}
    "#;
    wish.check_script(&AGENT, &format!("{start}{taken}"));
    let refused = r#"
        {"in":{"id":2,"error":{"code":-32600,"message":"API key login is disabled"}}}
        > {"give_up":"Codex did not take the key from the environment: API key login is disabled","code":"provider_auth"}
    "#;
    wish.check_script(&AGENT, &format!("{start}{refused}"));
}

#[test]
fn a_server_with_too_much_to_do_is_asked_again_and_not_for_ever() {
    let start = r#"
        > {"send":{"id":1,"method":"initialize"}}
        {"in":{"id":1,"result":{}}}
        > {"send":{"method":"initialized"}}
        > {"send":{"id":2,"method":"thread/start"}}
    "#;
    let mut script = start.to_owned();
    for id in 2..=6 {
        script.push_str(&format!(
            r#"
            {{"in":{{"id":{id},"error":{{"code":-32001,"message":"Server overloaded; retry later."}}}}}}
            > {{"arm":"retry","seconds":1.0}}
            {{"timer":"retry"}}
            > {{"send":{{"id":{},"method":"thread/start"}}}}
            "#,
            id + 1
        ));
    }
    script.push_str(
        r#"
        {"in":{"id":7,"error":{"code":-32001,"message":"Server overloaded; retry later."}}}
        > {"give_up":"Server overloaded; retry later.","code":"rate_limit"}
    "#,
    );
    LaunchFixture::default().check_script(&AGENT, &script);
}

fn check_recording(name: &str, transcript: &str, turns: usize) {
    let effects = replay_transcript(LaunchFixture::default().launch(&AGENT).unwrap(), transcript);
    let count = |effect: &str| effects.iter().filter(|known| *known == effect).count();
    assert_eq!((count("ready"), count("settled")), (1, turns), "{name}");
}

macro_rules! recording {
    ($name:literal, $turns:literal) => {
        check_recording($name, include_str!(concat!("../../testdata/app-server/", $name, ".jsonl")), $turns)
    };
}

#[test]
fn recordings_are_followed() {
    recording!("text", 1);
    recording!("reason", 1);
    recording!("codemode", 1);
    recording!("websearch", 1);
    recording!("steer", 1);
    recording!("error400", 1);
    recording!("disconnect", 1);
    recording!("cmd-decline", 1);
    recording!("cmd-cancel", 1);
    recording!("cmd-baddecision", 1);
    recording!("interrupt", 1);
    recording!("planmode", 1);
    recording!("mcp", 1);
}
