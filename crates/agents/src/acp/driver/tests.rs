//! Scripts of an agent's messages and user commands, and the resulting effects.

use serde_json::json;

use crate::{driver_tests::LaunchFixture, find_agent};

/// The `initialize` response of an agent with all capabilities.
const MET: &str = r#"{"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true,"promptCapabilities":{"image":true},"mcpCapabilities":{"http":true},"sessionCapabilities":{"resume":{},"fork":{}}}}}}"#;

/// The handshake up to an open session. The last request id is 1.
const OPEN: &str = r#"
    > {"send":{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":1,"clientCapabilities":{"fs":{"readTextFile":false,"writeTextFile":false},"terminal":false,"elicitation":{"form":{}}}}}}
    {"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"promptCapabilities":{"image":true}}}}}
    > {"send":{"jsonrpc":"2.0","id":1,"method":"session/new","params":{"cwd":"/home/user/project","mcpServers":[]}}}
    {"in":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"a1","modes":{"currentModeId":"default"},"models":{"currentModelId":"m"}}}}
    > "ready"
    {"cmd":{"prompt":{"text":"go"}}}
    > {"send":{"id":2,"method":"session/prompt","params":{"sessionId":"a1","prompt":[{"type":"text","text":"go"}]}}}
    = {"kind":"turn.started","data":{"prompt":"go"}}
"#;

/// The agent requests permission for a command.
const ASKS: &str = r#"
    {"in":{"jsonrpc":"2.0","id":0,"method":"session/request_permission","params":{"sessionId":"a1","options":[{"optionId":"s","name":"Allow for this session","kind":"allow_always"},{"optionId":"p","name":"Allow for all future sessions","kind":"allow_always"},{"optionId":"y","name":"Allow","kind":"allow_once"},{"optionId":"n","name":"Reject","kind":"reject_once"}],"toolCall":{"toolCallId":"c1","status":"pending","title":"ls","kind":"execute"}}}}
    = {"kind":"request.opened","data":{"request":"r1.request_0"}}
"#;

fn wish() -> LaunchFixture {
    LaunchFixture { command: vec!["some-agent".to_owned(), "--acp".to_owned()], ..LaunchFixture::default() }
}

fn check(scripts: &[&str]) {
    wish().check_script(find_agent("acp").unwrap(), &scripts.concat());
}

#[test]
fn a_turn_is_over_when_its_prompt_is_answered() {
    check(&[
        OPEN,
        r#"
        {"in":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":{"sessionUpdate":"agent_message_chunk","content":{"type":"text","text":"hi"}}}}}
        {"in":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}}
        > "settled"
        {"cmd":"interrupt"}
        {"cmd":"close"}
        > "close_input"
        "#,
    ]);
}

#[test]
fn an_image_goes_with_the_prompt_and_a_schema_cannot() {
    check(&[
        OPEN,
        r#"
        {"in":{"jsonrpc":"2.0","id":2,"error":{"code":400,"message":"{\"error\":{\"message\":\"bad\"}}"}}}
        > "settled"
        = {"kind":"turn.completed","data":{"status":"failed","error":{"http_status":400,"message":"bad"}}}
        {"cmd":{"prompt":{"text":"look","images":[{"media_type":"image/png","data":"AA=="}]}}}
        > {"send":{"id":3,"params":{"prompt":[{"type":"text","text":"look"},{"type":"image","mimeType":"image/png","data":"AA=="}]}}}
        {"in":{"jsonrpc":"2.0","id":3,"result":{"stopReason":"end_turn"}}}
        > "settled"
        {"cmd":{"prompt":{"text":"x","schema":{}}}}
        > {"refused":"an ACP agent cannot be given a schema for its answer"}
        "#,
    ]);
}

#[test]
fn ids_of_the_two_sides_do_not_meet() {
    // The agent's request has the same id as the first one of the client, and a response arrives in between.
    check(&[
        OPEN,
        ASKS,
        r#"
        {"in":{"jsonrpc":"2.0","id":0,"result":{}}}
        {"cmd":{"answer":{"request":"r1.request_0","decision":"allow"}}}
        > {"send":{"jsonrpc":"2.0","id":0,"result":{"outcome":{"outcome":"selected","optionId":"y"}}}}
        = {"kind":"request.resolved","data":{"outcome":"allowed","option":"y"}}
        "#,
    ]);
}

#[test]
fn what_was_decided_is_said_by_the_kind_of_the_option() {
    for (decision, option, outcome) in [
        ("allow", "y", "allowed"),
        // Not the option whose name says that it outlives the session.
        ("allow_session", "s", "allowed"),
        ("decline", "n", "declined"),
    ] {
        let answer = json!({ "cmd": { "answer": { "request": "r1.request_0", "decision": decision } } });
        let sent = json!({ "send": { "result": { "outcome": { "outcome": "selected", "optionId": option } } } });
        let told = json!({ "kind": "request.resolved", "data": { "outcome": outcome } });
        check(&[OPEN, ASKS, &format!("{answer}\n> {sent}\n= {told}")]);
    }
}

#[test]
fn an_option_that_was_chosen_by_its_name_is_taken_only_if_it_means_the_same() {
    for (decision, option, sent) in
        [("allow", "p", "p"), ("decline", "p", "n"), ("allow", "n", "y"), ("allow", "x", "y")]
    {
        let answer =
            json!({ "cmd": { "answer": { "request": "r1.request_0", "decision": decision, "option": option } } });
        let sent = json!({ "send": { "result": { "outcome": { "outcome": "selected", "optionId": sent } } } });
        check(&[OPEN, ASKS, &format!("{answer}\n> {sent}")]);
    }
}

#[test]
fn the_reason_of_a_no_is_kept_and_it_is_said_that_the_agent_does_not_hear_it() {
    check(&[
        OPEN,
        ASKS,
        r#"
        {"cmd":{"answer":{"request":"r1.request_0","decision":"decline","message":"not today"}}}
        > {"send":{"result":{"outcome":{"outcome":"selected","optionId":"n"},"_meta":{"switchboard":{"message":"not today"}}}}}
        = {"kind":"request.resolved","data":{"outcome":"declined","message":"not today"}}
        = {"kind":"notice","data":{"topic":"warning","text":"the agent was not told why: ACP has no word for it"}}
        "#,
    ]);
}

#[test]
fn nothing_is_allowed_that_was_not() {
    let asks = ASKS.replace("allow_once", "other").replace("reject_once", "other");
    check(&[
        OPEN,
        &asks,
        r#"
        {"cmd":{"answer":{"request":"r1.request_0","decision":"decline"}}}
        > {"send":{"result":{"outcome":{"outcome":"cancelled"}}}}
        "#,
    ]);
    check(&[
        OPEN,
        ASKS,
        r#"
        {"cmd":{"answer":{"request":"r1.request_0","decision":"allow","input":{}}}}
        > {"refused":"an ACP agent takes no changed input"}
        {"cmd":{"answer":{"request":"r1.request_0","decision":"decline"}}}
        > {"send":{"result":{"outcome":{"optionId":"n"}}}}
        {"cmd":{"answer":{"request":"r1.request_0","decision":"allow"}}}
        "#,
    ]);
}

#[test]
fn a_stop_answers_every_open_question() {
    check(&[
        OPEN,
        ASKS,
        r#"
        {"cmd":"interrupt"}
        > {"send":{"jsonrpc":"2.0","method":"session/cancel","params":{"sessionId":"a1"}}}
        > {"send":{"id":0,"result":{"outcome":{"outcome":"cancelled"}}}}
        # It may still ask before it stops.
        {"in":{"jsonrpc":"2.0","id":1,"method":"session/request_permission","params":{"sessionId":"a1","options":[],"toolCall":{"toolCallId":"c2","kind":"execute","title":"rm"}}}}
        > {"send":{"id":1,"result":{"outcome":{"outcome":"cancelled"}}}}
        {"in":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"cancelled"}}}
        > "settled"
        = {"kind":"turn.completed","data":{"status":"interrupted"}}
        "#,
    ]);
    // Answering a request with a cancellation has the same effect.
    check(&[
        OPEN,
        ASKS,
        r#"
        {"cmd":{"answer":{"request":"r1.request_0","decision":"cancel"}}}
        > {"send":{"method":"session/cancel"}}
        > {"send":{"id":0,"result":{"outcome":{"outcome":"cancelled"}}}}
        "#,
    ]);
}

#[test]
fn a_question_that_is_open_when_the_turn_ends_blocks_no_later_one() {
    check(&[
        OPEN,
        ASKS,
        r#"
        {"in":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}}
        > {"send":{"id":0,"result":{"outcome":{"outcome":"cancelled"}}}}
        > "settled"
        "#,
    ]);
}

#[test]
fn a_question_that_is_withdrawn_is_answered_as_such() {
    check(&[
        OPEN,
        ASKS,
        r#"
        {"in":{"jsonrpc":"2.0","method":"$/cancel_request","params":{"requestId":0}}}
        > {"send":{"id":0,"error":{"code":-32800}}}
        = {"kind":"request.resolved","data":{"outcome":"withdrawn"}}
        "#,
    ]);
}

#[test]
fn files_and_terminals_of_the_host_are_refused_like_what_is_not_known() {
    for method in ["fs/read_text_file", "fs/write_text_file", "terminal/create", "mcp/message", "_vendor/thing"] {
        let asked =
            json!({ "in": { "jsonrpc": "2.0", "id": "u-1", "method": method, "params": { "sessionId": "a1" } } });
        let refused = json!({ "send": { "jsonrpc": "2.0", "id": "u-1", "error": { "code": -32601 } } });
        check(&[OPEN, &format!("{asked}\n> {refused}")]);
    }
}

#[test]
fn a_form_is_filled_in_by_the_types_of_its_fields() {
    let form = r#"
        {"in":{"jsonrpc":"2.0","id":7,"method":"elicitation/create","params":{"sessionId":"a1","mode":"form","message":"who?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"},"sure":{"type":"boolean"},"tags":{"type":"array","items":{"enum":["a","b"]}}}}}}}
        = {"kind":"request.opened","data":{"request":"r1.request_7","about":"elicitation"}}
    "#;
    check(&[
        OPEN,
        form,
        r#"
        {"cmd":{"answer":{"request":"r1.request_7","decision":"allow","answers":{"name":["x"],"age":["7"],"sure":["true"],"tags":["a","b"]}}}}
        > {"send":{"id":7,"result":{"action":"accept","content":{"name":"x","age":7,"sure":true,"tags":["a","b"]}}}}
        = {"kind":"request.resolved","data":{"outcome":"answered"}}
        "#,
    ]);
    check(&[
        OPEN,
        form,
        r#"
        {"cmd":{"answer":{"request":"r1.request_7","decision":"decline"}}}
        > {"send":{"id":7,"result":{"action":"decline"}}}
        "#,
    ]);
}

#[test]
fn a_session_is_resumed_in_the_best_way_that_the_agent_has() {
    let opened = r#"
        {"in":{"jsonrpc":"2.0","id":1,"result":{}}}
        > "ready"
        {"cmd":{"prompt":{"text":"go on"}}}
        > {"send":{"params":{"sessionId":"old"}}}
    "#;
    for (can, method) in [(MET.to_owned(), "session/resume"), (MET.replace("\"resume\":{},", ""), "session/load")] {
        let asked = json!({ "send": { "id": 1, "method": method,
            "params": { "sessionId": "old", "cwd": "/home/user/project", "mcpServers": [] } } });
        let wish = LaunchFixture { resume: Some(("old", false)), ..wish() };
        let script = format!("> {{\"send\":{{\"method\":\"initialize\"}}}}\n{can}\n> {asked}\n{opened}");
        wish.check_script(find_agent("acp").unwrap(), &script);
    }
    let neither = MET.replace("\"resume\":{},", "").replace("\"loadSession\":true", "\"loadSession\":false");
    let wish = LaunchFixture { resume: Some(("old", false)), ..wish() };
    let given_up = r#"> {"give_up":"the agent cannot continue a session"}"#;
    let script = format!("> {{\"send\":{{\"method\":\"initialize\"}}}}\n{neither}\n{given_up}");
    wish.check_script(find_agent("acp").unwrap(), &script);
}

#[test]
fn an_agent_that_only_says_that_it_can_resume_is_told_to_load() {
    let wish = LaunchFixture { resume: Some(("old", false)), ..wish() };
    let script = [
        "> {\"send\":{\"method\":\"initialize\"}}\n",
        MET,
        r#"
        > {"send":{"id":1,"method":"session/resume"}}
        {"in":{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"\"Method not found\": session/resume"}}}
        > {"send":{"id":2,"method":"session/load","params":{"sessionId":"old"}}}
        {"in":{"jsonrpc":"2.0","id":2,"result":{}}}
        > "ready"
        "#,
    ];
    wish.check_script(find_agent("acp").unwrap(), &script.concat());
}

#[test]
fn a_copy_is_the_agents_own_doing() {
    let wish = LaunchFixture { resume: Some(("old", true)), ..wish() };
    let script = [
        "> {\"send\":{\"method\":\"initialize\"}}\n",
        MET,
        r#"
        > {"send":{"id":1,"method":"session/fork","params":{"sessionId":"old"}}}
        {"in":{"jsonrpc":"2.0","id":1,"result":{"sessionId":"new"}}}
        > "ready"
        {"cmd":{"prompt":{"text":"go on"}}}
        > {"send":{"params":{"sessionId":"new"}}}
        "#,
    ];
    wish.check_script(find_agent("acp").unwrap(), &script.concat());
}

#[test]
fn who_is_not_logged_in_is_told_how_to() {
    let script = r#"
        > {"send":{"method":"initialize"}}
        {"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"authMethods":[{"id":"web","name":"In the browser"},{"type":"env_var","id":"key","name":"A key","vars":[{"name":"SOME_KEY"}]}]}}}
        > {"send":{"method":"session/new"}}
        {"in":{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"Authentication required"}}}
        > {"give_up":"Authentication required\nhint: log in with the agent itself: In the browser, A key (SOME_KEY in the environment)","code":"provider_auth"}
    "#;
    wish().check_script(find_agent("acp").unwrap(), script);
}

#[test]
fn another_version_of_the_protocol_is_not_spoken() {
    let script = r#"
        > {"send":{"method":"initialize"}}
        {"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":2}}}
        > {"give_up":"the agent uses ACP version 2; only version 1 is supported","code":"protocol_error"}
    "#;
    wish().check_script(find_agent("acp").unwrap(), script);
}

#[test]
fn secrets_of_mcp_servers_are_sent_and_not_kept() {
    let config = json!({ "mcpServers": {
        "files": { "command": "serve", "args": ["-x"], "env": { "TOKEN": "secret" } },
        "far": { "url": "http://far/mcp", "headers": { "Authorization": "secret" } },
    } });
    let wish = LaunchFixture { command: wish().command, ..LaunchFixture::from_config(&config) };
    let script = [
        "> {\"send\":{\"method\":\"initialize\"}}\n",
        MET,
        r#"
        > {"masked":{"method":"session/new","params":{"mcpServers":[{"type":"http","name":"far","url":"http://far/mcp","headers":[{"name":"Authorization","value":"secret"}]},{"name":"files","command":"serve","args":["-x"],"env":[{"name":"TOKEN","value":"secret"}]}]}},"kept":{"id":1,"method":"session/new","params":{"mcpServers":[{"headers":[{"value":"***"}]},{"env":[{"value":"***"}]}]}}}
        "#,
    ];
    wish.check_script(find_agent("acp").unwrap(), &script.concat());
}

#[test]
fn a_server_that_the_agent_cannot_reach_is_said_before_anything_else() {
    let config = json!({ "mcpServers": { "far": { "url": "http://far/mcp", "type": "sse" } } });
    let wish = LaunchFixture { command: wish().command, ..LaunchFixture::from_config(&config) };
    let script = [
        "> {\"send\":{\"method\":\"initialize\"}}\n",
        MET,
        "\n> {\"give_up\":\"MCP server far uses the SSE transport, which the agent does not support\"}",
    ];
    wish.check_script(find_agent("acp").unwrap(), &script.concat());
}

#[test]
fn the_model_is_chosen_in_the_newest_way_that_the_agent_offers() {
    let wish = || LaunchFixture { command: wish().command, ..LaunchFixture::from_config(&json!({ "model": "m2" })) };
    let script = |offers: &str, after: &str| {
        let opened = format!(r#"{{"in":{{"jsonrpc":"2.0","id":1,"result":{{"sessionId":"a1",{offers}}}}}}}"#);
        format!("> {{\"send\":{{\"id\":0}}}}\n{MET}\n> {{\"send\":{{\"id\":1}}}}\n{opened}\n{after}")
    };
    let chosen = r#"
        {"in":{"jsonrpc":"2.0","id":2,"result":{}}}
        > "ready"
    "#;
    let by_option = format!(
        r#"> {{"send":{{"id":2,"method":"session/set_config_option","params":{{"sessionId":"a1","configId":"the-model","value":"m2"}}}}}}{chosen}"#
    );
    let offers =
        r#""configOptions":[{"id":"the-model","category":"model","type":"select"}],"models":{"currentModelId":"m"}"#;
    wish().check_script(find_agent("acp").unwrap(), &script(offers, &by_option));
    let by_model = format!(
        r#"> {{"send":{{"id":2,"method":"session/set_model","params":{{"sessionId":"a1","modelId":"m2"}}}}}}{chosen}"#
    );
    wish().check_script(find_agent("acp").unwrap(), &script(r#""models":{"currentModelId":"m"}"#, &by_model));
    let refused = r#"
        > {"send":{"method":"session/set_model"}}
        {"in":{"jsonrpc":"2.0","id":2,"error":{"code":-32602,"message":"no such model"}}}
        > {"give_up":"no such model"}
    "#;
    wish().check_script(find_agent("acp").unwrap(), &script(r#""models":{"currentModelId":"m"}"#, refused));
    let none = r#"> {"code":"model_not_found"}"#;
    wish().check_script(find_agent("acp").unwrap(), &script(r#""modes":{}"#, none));
}

/// Returns modes as agents announce them, the current one first.
fn modes(current: &str, others: &[(&str, &str)]) -> String {
    let modes: Vec<_> =
        others.iter().map(|(id, description)| json!({ "id": id, "name": id, "description": description })).collect();
    json!({ "modes": { "currentModeId": current, "availableModes": modes } }).to_string()
}

const CAREFUL: (&str, &str) = ("default", "Require approval for file edits or shell commands");

const EDITING: (&str, &str) = ("auto-edit", "Automatically approve file edits");

const JUDGING: (&str, &str) = ("auto", "LLM classifier auto-approves safe actions, blocks risky ones");

const FREE: (&str, &str) = ("yolo", "Automatically approve all tools");

/// Opens a session with the given choices and plays a script.
fn check_opening(approval: &str, offers: &str, then: &str) {
    let inner = offers.strip_prefix('{').unwrap();
    let script = format!(
        "> {{\"send\":{{\"method\":\"initialize\"}}}}\n{MET}\n> {{\"send\":{{\"method\":\"session/new\"}}}}\n\
         {{\"in\":{{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{{\"sessionId\":\"a1\",{inner}}}}}\n{then}"
    );
    let wish =
        LaunchFixture { command: wish().command, ..LaunchFixture::from_config(&json!({ "approvalMode": approval })) };
    wish.check_script(find_agent("acp").unwrap(), &script);
}

#[test]
fn an_agent_that_would_not_ask_is_made_to_before_the_first_prompt() {
    let asks = r#"
        > {"send":{"id":2,"method":"session/set_mode","params":{"sessionId":"a1","modeId":"default"}}}
        {"in":{"jsonrpc":"2.0","id":2,"result":{}}}
        > "ready"
    "#;
    let all = [CAREFUL, EDITING, JUDGING, FREE];
    for (approval, current, expected) in [
        ("ask", "auto", asks),
        ("ask", "yolo", asks),
        ("ask", "auto-edit", asks),
        // An unknown mode makes no statement.
        ("ask", "unheard-of", asks),
        ("askDangerous", "auto", asks),
        ("autoEdit", "auto", asks),
        ("autoEdit", "auto-edit", "> \"ready\""),
        ("ask", "default", "> \"ready\""),
        ("autoAll", "auto", "> \"ready\""),
    ] {
        check_opening(approval, &modes(current, &all), expected);
    }
}

#[test]
fn modes_that_are_options_are_set_as_options() {
    let offers = |mode: &str, allow_all: bool| {
        json!({ "configOptions": [
            { "id": "preset", "category": "mode", "type": "select", "currentValue": mode, "options": [
                { "value": "read-only", "name": "Read-only", "description": "Requires approval to edit files." },
                { "value": "agent", "name": "Auto review", "description": "Only ask for potentially unsafe actions" }] },
            { "id": "effort", "category": "thought_level", "type": "select", "currentValue": "auto", "options": [
                { "value": "auto", "name": "Auto" }, { "value": "default", "name": "Default" }] },
            { "id": "allow_all", "name": "Allow all", "type": "boolean", "currentValue": allow_all },
        ] })
    };
    let answer =
        |id: u32, offers: &serde_json::Value| json!({ "in": { "jsonrpc": "2.0", "id": id, "result": offers } });
    let set_mode = r#"> {"send":{"id":2,"method":"session/set_config_option","params":{"sessionId":"a1","configId":"preset","value":"read-only"}}}"#;
    let unset = r#"> {"send":{"id":3,"method":"session/set_config_option","params":{"configId":"allow_all","type":"boolean","value":false}}}"#;
    let (first, second) = (answer(2, &offers("read-only", true)), answer(3, &offers("read-only", false)));
    let script = format!("{set_mode}\n{first}\n{unset}\n{second}\n> \"ready\"");
    check_opening("ask", &offers("agent", true).to_string(), &script);
    // An agent that accepts a selection and stays in another mode is not trusted.
    let stays = answer(2, &offers("agent", false));
    let script = format!("{set_mode}\n{stays}\n> {{\"code\":\"permission_denied\"}}");
    check_opening("ask", &offers("agent", false).to_string(), &script);
}

#[test]
fn an_agent_that_cannot_ask_does_not_start() {
    let refused = r#"
        > {"send":{"id":2,"method":"session/set_mode"}}
        {"in":{"jsonrpc":"2.0","id":2,"error":{"code":-32603,"message":"not here"}}}
        > {"code":"permission_denied"}
    "#;
    check_opening("ask", &modes("yolo", &[CAREFUL, FREE]), refused);
    check_opening("ask", &modes("yolo", &[EDITING, FREE]), r#"> {"code":"permission_denied"}"#);
    check_opening("autoEdit", &modes("yolo", &[FREE]), r#"> {"code":"permission_denied"}"#);
    // Modes that concern something else are left alone.
    let agents = [("build", "The default agent"), ("plan", "Plan mode. Disallows all edit tools.")];
    check_opening("ask", &modes("build", &agents), "> \"ready\"");
}

#[test]
fn modes_and_options_can_be_set() {
    check(&[
        OPEN,
        r#"
        {"cmd":{"set_mode":"plan"}}
        > {"send":{"id":3,"method":"session/set_mode","params":{"sessionId":"a1","modeId":"plan"}}}
        {"cmd":{"set_option":["fast","true"]}}
        > {"refused":"the agent has no option fast"}
        {"in":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"fast","type":"boolean","currentValue":false},{"id":"how","category":"mode","type":"select","currentValue":"a","options":[]}]}}}}
        {"cmd":{"set_option":["fast","true"]}}
        > {"send":{"method":"session/set_config_option","params":{"configId":"fast","type":"boolean","value":true}}}
        {"cmd":{"set_mode":"plan"}}
        > {"send":{"method":"session/set_config_option","params":{"configId":"how","value":"plan"}}}
        # How hard the model thinks has the same name with every agent.
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"refused":"the agent has no option reasoning_effort"}
        {"in":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":{"sessionUpdate":"config_option_update","configOptions":[{"id":"zeal","category":"thought_level","type":"select","currentValue":"low","options":[]}]}}}}
        {"cmd":{"set_option":["reasoning_effort","high"]}}
        > {"send":{"id":6,"method":"session/set_config_option","params":{"configId":"zeal","value":"high"}}}
        {"in":{"jsonrpc":"2.0","id":6,"error":{"code":-32602,"message":"not so hard"}}}
        = {"kind":"notice","data":{"topic":"warning","text":"not so hard"}}
        "#,
    ]);
}

#[test]
fn a_command_is_a_prompt_if_the_agent_has_it() {
    check(&[
        OPEN,
        r#"
        {"in":{"jsonrpc":"2.0","id":2,"result":{"stopReason":"end_turn"}}}
        > "settled"
        {"in":{"jsonrpc":"2.0","method":"session/update","params":{"sessionId":"a1","update":{"sessionUpdate":"available_commands_update","availableCommands":[{"name":"init","description":"Sets up"}]}}}}
        = {"kind":"session.updated","data":{"info":{"commands":[{"name":"init","description":"Sets up"}]}}}
        {"cmd":{"slash":["init","quickly"]}}
        > {"send":{"id":3,"method":"session/prompt","params":{"prompt":[{"type":"text","text":"/init quickly"}]}}}
        {"cmd":{"slash":["dance",""]}}
        > {"refused":"the agent has no command /dance"}
        "#,
    ]);
}

#[test]
fn what_cannot_be_told_is_refused_before_the_start() {
    for (config, why) in [
        (json!({ "blockedTools": ["command"] }), "cannot be kept from tools"),
        (json!({ "mcpServers": { "x": { "command": "c", "excludeTools": ["t"] } } }), "no word for which tools"),
    ] {
        let wish = LaunchFixture { command: wish().command, ..LaunchFixture::from_config(&config) };
        let refused = wish.launch(find_agent("acp").unwrap()).err().unwrap();
        assert!(refused.what.contains(why), "{refused}");
    }
    assert!(LaunchFixture::default().launch(find_agent("acp").unwrap()).is_err(), "no command");
    assert!(LaunchFixture { one_shot: true, ..wish() }.launch(find_agent("acp").unwrap()).is_err(), "one-shot");
}
