//! Scripted dialogs with Claude Code 2.1.197, unless stated otherwise.

use serde_json::json;

use super::AGENT;
use crate::{
    AgentPrompt,
    driver_tests::{FakeHost, LaunchFixture},
};

/// The handshake that begins every script.
const HELLO: &str = r#"
    > {"send":{"type":"control_request","request_id":"initialize","request":{"subtype":"initialize","forwardSubagentText":true}}}
    {"in":{"type":"control_response","response":{"subtype":"success","request_id":"initialize","response":{"commands":[{"name":"compact","description":"x"}],"models":[{"value":"default","displayName":"Default"}]}}}}
    > "ready"
"#;

/// A prompt, and the beginning of its turn.
const WORK: &str = r#"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"send":{"type":"user","message":{"role":"user","content":"go"}}}
    {"in":{"type":"system","subtype":"session_state_changed","state":"running","session_id":"s1"}}
    > {"disarm":"settle"}
    {"in":{"type":"system","subtype":"init","session_id":"s1","model":"m","tools":["Bash"]}}
    > {"disarm":"settle"}
"#;

const RESULT: &str =
    r#"{"in":{"type":"result","subtype":"success","is_error":false,"result":"done","session_id":"s1"}}"#;

const IDLE: &str = r#"{"in":{"type":"system","subtype":"session_state_changed","state":"idle","session_id":"s1"}}"#;

const SETTLED: &str = r#"> "settled""#;

fn check_script_parts(parts: &[&str]) {
    LaunchFixture::default().check_script(&AGENT, &parts.join("\n"));
}

fn check_turn_script(parts: &[&str]) {
    check_script_parts(&[&[HELLO, WORK], parts].concat());
}

#[test]
fn a_turn_is_over_when_it_is_idle() {
    check_turn_script(&[RESULT, "= {\"kind\":\"turn.completed\"}", IDLE, SETTLED, IDLE]);
}

#[test]
fn without_a_word_about_idling_a_result_is_the_end() {
    // Claude Code 2.1.0.
    let work = WORK.replace("session_state_changed", "something_else").replacen("> {\"disarm\":\"settle\"}", "", 1);
    check_script_parts(&[HELLO, &work, RESULT, SETTLED]);
}

#[test]
fn an_agent_in_the_background_keeps_it_busy() {
    check_turn_script(&[
        RESULT,
        // The first result is out, and a subagent still works: nothing is settled.
        r#"{"in":{"type":"system","subtype":"task_notification","task_id":"a","status":"completed","session_id":"s1"}}"#,
        r#"{"in":{"type":"system","subtype":"init","session_id":"s1"}}
           > {"disarm":"settle"}"#,
        RESULT,
        IDLE,
        SETTLED,
    ]);
}

const BACKGROUND: &str = r#"
    {"in":{"type":"system","subtype":"task_started","task_id":"b","task_type":"local_bash","session_id":"s1"}}
"#;

#[test]
fn a_command_in_the_background_may_wake_it_soon() {
    let waits = r#"> {"arm":"settle","seconds":5.0}"#;
    check_turn_script(&[BACKGROUND, RESULT, IDLE, waits, r#"{"timer":"settle"}"#, SETTLED]);
    check_turn_script(&[
        BACKGROUND,
        RESULT,
        IDLE,
        waits,
        r#"{"in":{"type":"system","subtype":"task_updated","task_id":"b","patch":{"status":"completed"},"session_id":"s1"}}
           {"in":{"type":"system","subtype":"session_state_changed","state":"running","session_id":"s1"}}
           > {"disarm":"settle"}"#,
        RESULT,
        IDLE,
        SETTLED,
    ]);
    // After an interrupt nothing is waited for.
    check_turn_script(&[
        BACKGROUND,
        r#"{"cmd":"interrupt"}
           > {"send":{"request":{"subtype":"interrupt"}}}"#,
        IDLE,
        SETTLED,
    ]);
}

/// A prompt while a turn runs, and the request that confirms that it was read.
const STEER: &str = r#"
    {"cmd":{"prompt":{"text":"also this"}}}
    > {"send":{"type":"user","message":{"content":"also this"}}}
    > {"send":{"request_id":"switchboard-1","request":{"subtype":"get_binary_version"}}}
"#;

const READ: &str =
    r#"{"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-1","response":{}}}}"#;

#[test]
fn a_prompt_joins_the_turn_that_runs() {
    check_turn_script(&[
        STEER,
        "= {\"kind\":\"item.completed\",\"data\":{\"item\":{\"type\":\"user_message\",\"queued\":true}}}",
        READ,
        RESULT,
        IDLE,
        SETTLED,
    ]);
}

#[test]
fn a_prompt_that_crosses_the_end_begins_another_turn() {
    let crossed = [STEER, RESULT, IDLE, r#"> {"arm":"settle","seconds":2.0}"#, READ];
    let runs = r#"
        {"in":{"type":"system","subtype":"session_state_changed","state":"running","session_id":"s1"}}
        > {"disarm":"settle"}"#;
    check_turn_script(&[&crossed[..], &[runs, RESULT, IDLE, SETTLED]].concat());
    // The turn had taken it up already.
    check_turn_script(&[&crossed[..], &[r#"{"timer":"settle"}"#, SETTLED]].concat());
}

#[test]
fn an_interrupt_calls_back_what_waits() {
    let script = r#"
        {"cmd":"interrupt"}
        > {"send":{"request":{"subtype":"cancel_async_message"}}}
        > {"send":{"request":{"subtype":"interrupt"}}}
        {"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-2","response":{"cancelled":true}}}}
        {"in":{"type":"user","message":{"role":"user","content":[{"type":"text","text":"[Request interrupted by user]"}]},"session_id":"s1"}}
        {"in":{"type":"result","subtype":"error_during_execution","is_error":true,"terminal_reason":"aborted_streaming","session_id":"s1"}}
        = {"kind":"turn.completed","data":{"status":"interrupted"}}
    "#;
    check_turn_script(&[STEER, READ, script, IDLE, SETTLED]);
}

#[test]
fn an_interrupt_of_an_old_version_is_no_failure() {
    // Claude Code 2.1.0 gives no reason and reports no error.
    let script = r#"
        {"cmd":"interrupt"}
        > {"send":{"request":{"subtype":"interrupt"}}}
        {"in":{"type":"result","subtype":"error_during_execution","is_error":false,"session_id":"s1"}}
        = {"kind":"turn.completed","data":{"status":"interrupted"}}
    "#;
    check_turn_script(&[script]);
}

#[test]
fn an_interrupt_with_nothing_to_stop_harms_nobody() {
    let answer = r#"{"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-1"}}}"#;
    check_script_parts(&[
        HELLO,
        r#"{"cmd":"interrupt"}"#,
        r#"> {"send":{"request":{"subtype":"interrupt"}}}"#,
        answer,
        WORK,
        RESULT,
        IDLE,
        SETTLED,
    ]);
}

#[test]
fn what_it_says_in_new_words_is_let_pass() {
    check_turn_script(&[
        r#"{"in":{"type":"brand_new","session_id":"s1"}}"#,
        r#"{"in":{"type":"system","subtype":"brand_new"}}"#,
    ]);
    check_turn_script(&[r#"{"line":"not json at all"}"#, RESULT, IDLE, SETTLED]);
}

#[test]
fn a_prompt_that_joined_does_not_begin_a_turn_again() {
    let joined = r#"
        {"in":{"type":"assistant","message":{"id":"m1","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"a"}}]},"session_id":"s1"}}
        {"in":{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"b"}]},"session_id":"s1"}}
        {"in":{"type":"assistant","message":{"id":"m2","content":[{"type":"text","text":"c"}]},"session_id":"s1"}}
    "#;
    let next = r#"
        {"in":{"type":"system","subtype":"init","session_id":"s1"}}
        > {"disarm":"settle"}
        = {"kind":"turn.started","data":{"prompt":null}}
    "#;
    check_turn_script(&[STEER, READ, joined, RESULT, next]);
    // Without tools nothing can join: the prompt was queued for the next turn.
    check_turn_script(&[STEER, READ, RESULT, &next.replace("null", "\"also this\"")]);
}

#[test]
fn close_ends_its_input() {
    check_turn_script(&[RESULT, IDLE, SETTLED, r#"{"cmd":"close"}"#, r#"> "close_input""#]);
}

/// Asks for permission to run a command.
const ASK: &str = r#"
    {"in":{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"Bash","input":{"command":"touch a"},"tool_use_id":"t1",
     "permission_suggestions":[{"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch a *"}],"behavior":"allow","destination":"localSettings"},
      {"type":"addDirectories","directories":["/home/user/project"],"destination":"session"},{"type":"setMode","mode":"acceptEdits","destination":"session"}]}}}
    = {"kind":"request.opened","data":{"request":"r1","about":"command","command":"touch a"}}
"#;

fn permission_request() -> String {
    // A step is a single line.
    ASK.replace(",\n     \"permission", ",\"permission").replace("},\n      {", "},{")
}

#[track_caller]
fn check_answer(ask: &str, answer: &str, response: &str, resolved: &str) {
    let script = format!(
        r#"{{"cmd":{{"answer":{answer}}}}}
           > {{"send":{{"type":"control_response","response":{{"subtype":"success","request_id":"r1","response":{response}}}}}}}
           = {{"kind":"request.resolved","data":{resolved}}}"#
    );
    check_turn_script(&[ask, &script]);
}

#[test]
fn a_yes_always_has_an_input() {
    check_answer(
        &permission_request(),
        r#"{"request":"r1","decision":"allow"}"#,
        r#"{"behavior":"allow","updatedInput":{"command":"touch a"},"updatedPermissions":null}"#,
        r#"{"outcome":"allowed","option":"allow","input":null}"#,
    );
    check_answer(
        &permission_request(),
        r#"{"request":"r1","decision":"allow","input":{"command":"touch b"}}"#,
        r#"{"behavior":"allow","updatedInput":{"command":"touch b"}}"#,
        r#"{"outcome":"allowed","input":{"command":"touch b"}}"#,
    );
    check_turn_script(&[
        &permission_request(),
        r#"{"cmd":{"answer":{"request":"r1","decision":"allow","input":"touch b"}}}
           > {"refused":"the changed input must be an object, like the one that was asked for"}
           {"cmd":{"answer":{"request":"r1","decision":"decline"}}}
           > {"send":{"response":{"response":{"behavior":"deny"}}}}"#,
    ]);
}

#[test]
fn a_yes_for_the_session_leaves_no_trace_on_disk() {
    check_answer(
        &permission_request(),
        r#"{"request":"r1","decision":"allow_session"}"#,
        r#"{"behavior":"allow","updatedInput":{"command":"touch a"},"updatedPermissions":[
            {"type":"addRules","rules":[{"toolName":"Bash","ruleContent":"touch a *"}],"behavior":"allow","destination":"session"}]}"#
            .replace('\n', "")
            .as_str(),
        r#"{"outcome":"allowed","option":"allow_session"}"#,
    );
}

fn edit_request(path: &str) -> String {
    json!({ "in": { "type": "control_request", "request_id": "r1", "request": { "subtype": "can_use_tool",
        "tool_name": "Write", "input": { "file_path": path, "content": "x" }, "tool_use_id": "t1",
        "permission_suggestions": [{ "type": "setMode", "mode": "acceptEdits", "destination": "session" }] } } })
    .to_string()
}

#[test]
fn a_yes_to_edits_for_the_session_does_not_let_it_delete() {
    let allow = |path: &str, updates: &str| {
        let response = format!(r#"{{"behavior":"allow","updatedPermissions":{updates}}}"#);
        check_answer(&edit_request(path), r#"{"request":"r1","decision":"allow_session"}"#, &response, "{}");
    };
    let rule = |rule: &str| {
        let rules = json!([{ "toolName": "Edit", "ruleContent": rule }]);
        json!([{ "type": "addRules", "behavior": "allow", "rules": rules, "destination": "session" }]).to_string()
    };
    allow("/home/user/project/src/a.rs", &rule("./**"));
    allow("/etc/hosts", &rule("//etc/hosts"));
    allow("/home/user/project/../other", &rule("//home/user/project/../other"));
    allow("/etc/*", "null");
}

#[test]
fn a_no_says_why_and_a_cancel_stops_the_turn() {
    check_answer(
        &permission_request(),
        r#"{"request":"r1","decision":"decline","message":"not today"}"#,
        r#"{"behavior":"deny","message":"not today","interrupt":false}"#,
        r#"{"outcome":"declined","message":"not today"}"#,
    );
    check_answer(
        &permission_request(),
        r#"{"request":"r1","decision":"cancel"}"#,
        r#"{"behavior":"deny","message":"the user declined this","interrupt":true}"#,
        r#"{"outcome":"cancelled"}"#,
    );
}

#[test]
fn what_is_no_longer_asked_is_not_answered() {
    check_turn_script(&[
        &permission_request(),
        r#"{"in":{"type":"control_cancel_request","request_id":"r1"}}
           = {"kind":"request.resolved","data":{"outcome":"withdrawn","by":"agent"}}
           {"cmd":{"answer":{"request":"r1","decision":"allow"}}}
           > {"refused":"Claude Code no longer waits for this answer"}"#,
    ]);
}

const QUESTION: &str = r#"{"in":{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"AskUserQuestion","tool_use_id":"t1","input":{"questions":[{"question":"Which?","header":"H","multiSelect":true,"options":[{"label":"A","description":"a"},{"label":"B"}]}]}}}}
    = {"kind":"request.opened","data":{"about":"question","questions":[{"id":"Which?","multiple":true}]}}"#;

#[test]
fn questions_are_answered_or_not_at_all() {
    check_answer(
        QUESTION,
        r#"{"request":"r1","decision":"allow","answers":{"Which?":["A","something else"]}}"#,
        r#"{"behavior":"allow","updatedInput":{"questions":[{"question":"Which?"}],"answers":{"Which?":"A, something else"}}}"#,
        r#"{"outcome":"answered","answers":{"Which?":["A, something else"]},"input":null}"#,
    );
    check_turn_script(&[
        QUESTION,
        r#"{"cmd":{"answer":{"request":"r1","decision":"allow"}}}
           > {"refused":"the questions are not answered"}
           {"cmd":{"answer":{"request":"r1","decision":"decline","message":"the questions are not answered"}}}
           > {"send":{"response":{"response":{"behavior":"deny","message":"the questions are not answered"}}}}"#,
    ]);
}

#[test]
fn a_plan_is_agreed_to_as_it_is() {
    let plan = r#"{"in":{"type":"control_request","request_id":"r1","request":{"subtype":"can_use_tool","tool_name":"ExitPlanMode","tool_use_id":"t1","input":{"plan":"1. Do"}}}}
        = {"kind":"request.opened","data":{"about":"plan"}}"#;
    check_answer(
        plan,
        r#"{"request":"r1","decision":"allow_session"}"#,
        r#"{"behavior":"allow","updatedInput":{"plan":"1. Do"},"updatedPermissions":null}"#,
        r#"{"outcome":"allowed","option":"allow"}"#,
    );
}

const FORM: &str = r#"{"in":{"type":"control_request","request_id":"r1","request":{"subtype":"elicitation","mcp_server_name":"srv","message":"Who?","mode":"form","requested_schema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","title":"Name"},"age":{"type":"integer"},"ok":{"type":"boolean"},"col":{"type":"array","items":{"enum":["red","blue"]}}}}}}}
    = {"kind":"request.opened","data":{"about":"elicitation","title":"Who?","questions":[{"id":"name","header":"Name","free_text":true},{"id":"age"},{"id":"ok","choices":[{"label":"true"},{"label":"false"}]},{"id":"col","multiple":true}]}}"#;

#[test]
fn forms_are_filled_in_with_their_types() {
    check_answer(
        FORM,
        r#"{"request":"r1","decision":"allow","answers":{"name":["x"],"age":["3"],"ok":["yes"],"col":["red","blue"]}}"#,
        r#"{"action":"accept","content":{"name":"x","age":3,"ok":true,"col":["red","blue"]}}"#,
        r#"{"outcome":"answered","option":"accept","answers":{"age":["3"],"col":["red","blue"]}}"#,
    );
    let no = |decision: &str, action: &str, outcome: &str| {
        let answer = format!(r#"{{"request":"r1","decision":"{decision}"}}"#);
        check_answer(FORM, &answer, &format!(r#"{{"action":"{action}"}}"#), &format!(r#"{{"outcome":"{outcome}"}}"#));
    };
    no("decline", "decline", "declined");
    no("cancel", "cancel", "cancelled");
    check_turn_script(&[
        FORM,
        r#"{"cmd":{"answer":{"request":"r1","decision":"allow","answers":{"age":["3"]}}}}
           > {"refused":"`name` is not answered"}"#,
    ]);
    let page = r#"{"in":{"type":"control_request","request_id":"r1","request":{"subtype":"elicitation","message":"Log in","mode":"url","url":"https://a"}}}
        = {"kind":"request.opened","data":{"reason":"https://a"}}"#;
    check_answer(page, r#"{"request":"r1","decision":"allow"}"#, r#"{"action":"accept"}"#, r#"{"outcome":"allowed"}"#);
}

#[test]
fn nothing_is_left_without_an_answer() {
    let asked = |subtype: &str, more: &str, response: &str| {
        let script = format!(
            r#"{{"in":{{"type":"control_request","request_id":"r1","request":{{"subtype":"{subtype}"{more}}}}}}}
               > {{"send":{{"type":"control_response","response":{response}}}}}"#
        );
        check_turn_script(&[&script]);
    };
    asked(
        "hook_callback",
        r#","callback_id":"h","input":{"hook_event_name":"Stop"}"#,
        r#"{"subtype":"success","request_id":"r1","response":{}}"#,
    );
    asked(
        "request_user_dialog",
        r#","dialog_kind":"new","payload":{}"#,
        r#"{"subtype":"success","request_id":"r1","response":{"behavior":"cancelled"}}"#,
    );
    for unknown in ["mcp_message", "host_auth_token_refresh", "from_the_future"] {
        asked(unknown, "", r#"{"subtype":"error","request_id":"r1","error":"not supported here"}"#);
    }
}

#[test]
fn settings_change_in_a_session() {
    check_turn_script(&[r#"{"cmd":{"set_model":"opus"}}
           > {"send":{"request_id":"switchboard-1","request":{"subtype":"set_model","model":"opus"}}}
           {"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-1"}}}
           = {"kind":"session.updated","data":{"info":{"model":"opus"}}}
           {"cmd":{"set_mode":"plan"}}
           > {"send":{"request":{"subtype":"set_permission_mode","mode":"plan"}}}
           {"in":{"type":"control_response","response":{"subtype":"success","request_id":"switchboard-2","response":{"mode":"plan"}}}}
           = {"kind":"session.updated","data":{"info":{"mode":"plan"}}}
           # Claude Code takes any word for a mode.
           {"cmd":{"set_mode":"yolo"}}
           > {"refused":"Claude Code has no mode `yolo`"}
           {"cmd":{"set_mode":"bypassPermissions"}}
           > {"refused":"Claude Code cannot stop asking in a session that began with asking"}
           {"cmd":{"set_option":["x","y"]}}
           > {"refused":"Claude Code has no setting `x`"}"#]);
}

#[test]
fn a_session_that_is_not_there_is_said_at_once() {
    let wish =
        LaunchFixture { resume: Some(("an-id", false)), machine: FakeHost::default(), ..LaunchFixture::default() };
    wish.check_script(
        &AGENT,
        r#"
        > {"send":{"request_id":"initialize"}}
        {"in":{"type":"result","subtype":"error_during_execution","is_error":true,"num_turns":0,"session_id":"an-id","errors":["No conversation found with session ID: an-id"]}}
        > {"give_up":"Claude Code has no session an-id in /home/user/project, and looks for it nowhere else","code":"session_not_found"}
        "#,
    );
}

fn schema_fixture() -> LaunchFixture {
    let schema = switchboard_event::to_raw_json(&json!({ "type": "object" }));
    LaunchFixture {
        prompt: AgentPrompt { output_schema: Some(schema), ..AgentPrompt::default() },
        ..LaunchFixture::default()
    }
}

#[test]
fn the_schema_of_answers_goes_with_the_handshake() {
    let hello = r#"
        > {"send":{"request":{"subtype":"initialize","jsonSchema":{"type":"object"}}}}
        {"in":{"type":"control_response","response":{"subtype":"success","request_id":"initialize"}}}
        > "ready"
        {"cmd":{"prompt":{"text":"go","schema":{"type":"object"}}}}
        > {"send":{"type":"user"}}
    "#;
    let other = r#"
        {"in":{"type":"system","subtype":"init","session_id":"s1","tools":["Bash","StructuredOutput"]}}
        > {"disarm":"settle"}
        {"cmd":{"prompt":{"text":"go","schema":{"type":"array"}}}}
        > {"refused":"Claude Code cannot change the schema of its answers in a session"}
    "#;
    schema_fixture().check_script(&AGENT, &[hello, other].concat());
    // Claude Code does not report a schema that it does not understand.
    let ignored = r#"
        {"in":{"type":"system","subtype":"init","session_id":"s1","tools":["Bash"]}}
        > {"disarm":"settle"}
        > {"give_up":"Claude Code does not take the schema for its answers: is it valid JSON Schema?","code":"execution_error"}
    "#;
    schema_fixture().check_script(&AGENT, &[hello, ignored].concat());
}

#[test]
fn images_go_with_the_prompt() {
    let script = r#"
        {"cmd":{"prompt":{"text":"look","images":[{"media_type":"image/png","data":"AAAA"}]}}}
        > {"send":{"message":{"content":[{"type":"text","text":"look"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}}}
        {"cmd":{"prompt":{"text":"","images":[{"media_type":"image/png","data":"AAAA"}]}}}
        > {"send":{"message":{"content":[{"type":"image"}]}}}
        > {"send":{"request":{"subtype":"get_binary_version"}}}
    "#;
    check_script_parts(&[HELLO, script]);
}
