//! Arguments, environment and messages for launching Gemini CLI.

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};

use super::{launch::AGENT, settings};
use crate::{
    AgentPrompt, Login, StdinMode,
    driver_tests::{FakeHost, LaunchFixture},
};

const SESSION_ID: &str = "e285d73f-2cc0-45ae-adb5-7ddebded20bc";

const SESSION_FILE: &str = "~/.gemini/tmp/project/chats/session-2026-11-16T00-31-e285d73f.jsonl";

/// Returns a machine that has the session.
fn machine_with_session() -> FakeHost {
    FakeHost::default()
        .with_env("GEMINI_API_KEY", "k")
        .with_file("~/.gemini/projects.json", r#"{"projects":{"/home/user/project":"project"}}"#)
        .with_file(
            SESSION_FILE,
            &format!("{{\"sessionId\":\"{SESSION_ID}\"}}\n{{\"id\":\"1\",\"content\":\"of {SESSION_ID}\"}}\n"),
        )
}

fn wish_with_session(config: &Value) -> LaunchFixture {
    LaunchFixture { machine: machine_with_session(), ..LaunchFixture::from_config(config) }
}

/// Returns the arguments, joined, and the variables.
fn launch_args_and_env(wish: &LaunchFixture) -> (String, Vec<String>) {
    let launch = wish.launch(&AGENT).unwrap();
    let env = launch.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (launch.args.join(" "), env)
}

fn policy_text(config: &Value) -> String {
    wish_with_session(config).launch(&AGENT).unwrap().files.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn it_asks_in_every_mode_but_the_last() {
    for (mode, expected) in
        [("ask", "default"), ("askDangerous", "default"), ("autoEdit", "default"), ("autoAll", "yolo")]
    {
        let (args, env) = launch_args_and_env(&wish_with_session(&json!({ "approvalMode": mode, "model": "m" })));
        let policy = if mode == "autoAll" { "" } else { "--policy /tmp/private/policy.toml " };
        assert_eq!(args, format!("--model m --approval-mode {expected} {policy}--acp"));
        // A single process that signals reach; a directory without a trust prompt; no sandbox that consumes the input.
        for set in ["GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_SANDBOX=false"] {
            assert!(env.iter().any(|variable| variable == set), "{set}");
        }
    }
}

#[test]
fn it_debugs_if_a_variable_says_so() {
    let args = |value: &str| {
        launch_args_and_env(&LaunchFixture {
            machine: machine_with_session().with_env("GEMINI_DEBUG", value),
            ..LaunchFixture::default()
        })
        .0
    };
    assert!(args("1").split(' ').any(|arg| arg == "--debug"), "{}", args("1"));
    assert!(!args("0").contains("--debug") && !args("").contains("--debug"));
}

#[test]
fn one_answer_alone_needs_modes_that_come_nearest() {
    for (mode, expected) in
        [("ask", "default"), ("askDangerous", "auto_edit"), ("autoEdit", "auto_edit"), ("autoAll", "yolo")]
    {
        let prompt = AgentPrompt { text: "-h".to_owned(), ..AgentPrompt::default() };
        let wish = LaunchFixture { one_shot: true, prompt, ..wish_with_session(&json!({ "approvalMode": mode })) };
        let (args, _) = launch_args_and_env(&wish);
        assert!(args.starts_with(&format!("--approval-mode {expected}")), "{args}");
        assert!(args.ends_with("--output-format stream-json"), "{args}");
        let launch = wish.launch(&AGENT).unwrap();
        assert_eq!((launch.source, launch.input), ("gemini", StdinMode::Text("-h".to_owned())));
        assert!(launch.driver.is_none());
    }
}

#[test]
fn what_leaves_the_machine_is_asked_about() {
    let web = "decision = \"ask_user\"\npriority = 1\ntoolName = [\"web_fetch\", \"google_web_search\"]\n";
    assert!(policy_text(&json!({ "approvalMode": "autoEdit" })).contains(web));
    assert_eq!(policy_text(&json!({ "approvalMode": "autoAll" })), "");
}

#[test]
fn tools_are_allowed_and_blocked_by_kind_and_by_name() {
    let config = json!({ "approvalMode": "autoAll", "allowedTools": ["run_shell_command(git \"x\")"], "blockedTools": ["Edit", "glob"] });
    assert_eq!(
        policy_text(&config),
        r#"
[[rule]]
decision = "allow"
priority = 100
toolName = ["run_shell_command"]
commandPrefix = "git \"x\""
allowRedirection = true

[[rule]]
decision = "deny"
priority = 999
toolName = ["write_file", "replace"]

[[rule]]
decision = "deny"
priority = 999
toolName = ["glob"]
"#
    );
}

#[test]
fn edits_are_allowed_when_they_are_asked_for() {
    let config = json!({ "allowedTools": ["edit", "write_file", "glob"] });
    assert!(
        !policy_text(&config).contains("write_file") && policy_text(&config).contains("\"glob\""),
        "{}",
        policy_text(&config)
    );
    let once = LaunchFixture { one_shot: true, ..wish_with_session(&config) }.launch(&AGENT).unwrap();
    assert!(once.files.iter().any(|(_, text)| text.contains("write_file")), "a one-shot cannot ask");
}

#[test]
fn trust_and_lists_of_tools_of_a_server_are_rules() {
    let config = json!({ "approvalMode": "autoAll", "mcpServers": {
        "lab": { "command": "x", "includeTools": ["a", "b"], "excludeTools": ["b"] },
        "own": { "command": "y", "trust": true },
    } });
    assert_eq!(
        policy_text(&config),
        r#"
[[rule]]
decision = "deny"
priority = 990
mcpName = "lab"
toolName = ["*"]

[[rule]]
decision = "allow"
priority = 995
mcpName = "lab"
toolName = ["a", "b"]
allowRedirection = true

[[rule]]
decision = "deny"
priority = 999
mcpName = "lab"
toolName = ["b"]

[[rule]]
decision = "allow"
priority = 100
mcpName = "own"
toolName = ["*"]
allowRedirection = true
"#
    );
    let asked = policy_text(&json!({ "mcpServers": { "lab": { "command": "x", "includeTools": ["a"] } } }));
    assert!(asked.contains("decision = \"ask_user\"\npriority = 995\nmcpName = \"lab\""), "{asked}");
}

#[test]
fn the_users_own_rules_stay() {
    let machine = || machine_with_session().with_file("~/.gemini/policies/mine.toml", "");
    let (args, _) = launch_args_and_env(&LaunchFixture { machine: machine(), ..LaunchFixture::default() });
    assert!(args.contains("--policy /home/user/.gemini/policies --policy /tmp/private/policy.toml"), "{args}");
    let named = machine().with_file("~/.gemini/settings.json", r#"{"policyPaths":["/a.toml","/b"]} // mine"#);
    let (args, _) = launch_args_and_env(&LaunchFixture { machine: named, ..LaunchFixture::default() });
    assert!(args.contains("--policy /a.toml --policy /b --policy /tmp/private/policy.toml"), "{args}");
}

#[test]
fn a_session_is_loaded_under_an_id_that_does_no_harm() {
    let wish = LaunchFixture { resume: Some((SESSION_ID, false)), ..wish_with_session(&json!({})) };
    let load =
        json!({ "send": { "id": 1, "method": "session/load", "params": { "sessionId": format!(" {SESSION_ID}") } } });
    let prompt = json!({ "send": { "method": "session/prompt", "params": { "sessionId": format!(" {SESSION_ID}") } } });
    let (first, after) = (replayed_chunk("one"), replayed_chunk("two"));
    wish.check_script(
        &AGENT,
        &format!(
            r#"
            > {{"send":{{"method":"initialize"}}}}
            {{"in":{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":1,"agentCapabilities":{{"loadSession":true}}}}}}}}
            > {load}
            # The answer comes before all of the history: what follows is history until it is quiet.
            {first}
            {{"in":{{"jsonrpc":"2.0","id":1,"result":{{}}}}}}
            > {{"arm":"history"}}
            {after}
            > {{"arm":"history"}}
            = {{"kind":"notice","data":{{"topic":"echo"}}}}
            {{"timer":"history"}}
            > "ready"
            {{"cmd":{{"prompt":{{"text":"go"}}}}}}
            > {prompt}
            "#
        ),
    );
}

/// Returns a chunk of the session's history.
fn replayed_chunk(text: &str) -> Value {
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    let params = json!({ "sessionId": format!(" {SESSION_ID}"), "update": update });
    json!({ "in": { "jsonrpc": "2.0", "method": "session/update", "params": params } })
}

/// Returns the copies that are made before a session is resumed, as source and target.
fn session_copies(machine: FakeHost, one_shot: bool) -> Vec<(String, String)> {
    let launch = LaunchFixture { resume: Some((SESSION_ID, false)), one_shot, machine, ..LaunchFixture::default() }
        .launch(&AGENT)
        .unwrap();
    let text = |path: std::path::PathBuf| path.to_string_lossy().replace("/home/user/.gemini/tmp/project/chats/", "");
    launch.copies.into_iter().map(|(from, to)| (text(from), text(to))).collect()
}

#[test]
fn a_session_is_copied_once_to_a_name_that_nothing_deletes() {
    let file = "session-2026-11-16T00-31-e285d73f.jsonl".to_owned();
    let safe = "session-0-2026-11-16T00-31-bded20bc.jsonl".to_owned();
    for one_shot in [false, true] {
        assert_eq!(session_copies(machine_with_session(), one_shot), [(file.clone(), safe.clone())]);
        // A later start left an empty file with the same suffix.
        let stray = machine_with_session().with_file(&SESSION_FILE.replace("T00-31", "T00-32"), "{}");
        assert_eq!(session_copies(stray, one_shot), [(file.clone(), safe.clone())]);
        let copied = machine_with_session().with_file(&format!("~/.gemini/tmp/project/chats/{safe}"), "{}");
        assert_eq!(session_copies(copied, one_shot), []);
        assert_eq!(session_copies(FakeHost::default(), one_shot), []);
    }
}

#[test]
fn a_session_that_is_not_there_is_said_to_be_gone() {
    let data = json!({ "details": "No previous sessions found for this project." });
    let gone = json!({ "code": -32603, "message": "Internal error", "data": data });
    let gone = json!({ "in": { "jsonrpc": "2.0", "id": 1, "error": gone } });
    let met =
        r#"{"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1,"agentCapabilities":{"loadSession":true}}}}"#;
    let script = format!(
        "> {{\"send\":{{\"id\":0}}}}\n{met}\n> {{\"send\":{{\"id\":1}}}}\n{gone}\n> {{\"code\":\"session_not_found\"}}"
    );
    LaunchFixture { resume: Some((SESSION_ID, false)), ..wish_with_session(&json!({})) }.check_script(&AGENT, &script);
}

#[test]
fn a_copy_of_a_session_has_an_id_of_its_own() {
    let launch =
        LaunchFixture { resume: Some((SESSION_ID, true)), ..wish_with_session(&json!({})) }.launch(&AGENT).unwrap();
    let (made, text) = launch.files.iter().find(|(path, _)| path.ends_with("session.jsonl")).unwrap();
    let [(from, to)] = launch.copies.as_slice() else { panic!("one copy") };
    assert_eq!(from, made);
    let id = text.split('"').nth(3).unwrap();
    assert!(
        id != SESSION_ID && id.len() == SESSION_ID.len() && text.matches(id).count() == 2 && !text.contains(SESSION_ID),
        "{text}"
    );
    let short: String = id.chars().take(8).collect();
    assert!(to.to_string_lossy().ends_with(&format!("/chats/session-2026-11-16T00-31-{short}.jsonl")), "{to:?}");
    let gone = LaunchFixture { resume: Some(("00000000-x", true)), ..wish_with_session(&json!({})) };
    assert!(gone.launch(&AGENT).is_err());
    let (args, _) = launch_args_and_env(&LaunchFixture {
        resume: Some((SESSION_ID, true)),
        one_shot: true,
        ..wish_with_session(&json!({}))
    });
    assert!(args.contains("--session-file /home/user/.gemini/tmp/project/chats/"), "{args}");
}

#[test]
fn keys_have_two_names_and_old_sessions_need_an_address() {
    let variables = |machine: FakeHost, resume| {
        launch_args_and_env(&LaunchFixture { machine, resume, ..LaunchFixture::default() }).1
    };
    let usual = "GOOGLE_GEMINI_BASE_URL=https://generativelanguage.googleapis.com/".to_owned();
    let other = || FakeHost::default().with_env("GOOGLE_API_KEY", "g");
    let named = "GEMINI_API_KEY=g".to_owned();
    assert!(variables(other(), None).contains(&named));
    assert!(!variables(other().with_env("GEMINI_API_KEY", "k"), None).contains(&named));
    assert!(!variables(other().with_env("GOOGLE_GENAI_USE_VERTEXAI", "true"), None).contains(&named));
    // Without a chosen login method, it loads no session otherwise.
    assert!(variables(other(), Some((SESSION_ID, false))).contains(&usual));
    let chosen = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
    assert!(
        !variables(other().with_file("~/.gemini/settings.json", chosen), Some((SESSION_ID, false))).contains(&usual)
    );
}

#[test]
fn what_one_answer_alone_cannot_have_is_refused() {
    let one_shot =
        |wish: LaunchFixture| LaunchFixture { one_shot: true, ..wish }.launch(&AGENT).err().map(|refused| refused.what);
    let servers = one_shot(wish_with_session(&json!({ "mcpServers": { "x": { "command": "y" } } })));
    assert!(servers.unwrap().contains("MCP"));
    let address = machine_with_session().with_env("GOOGLE_GEMINI_BASE_URL", "http://x");
    assert!(
        one_shot(LaunchFixture { machine: address, ..LaunchFixture::default() }).unwrap().contains("way to log in")
    );
    assert_eq!(one_shot(wish_with_session(&json!({}))), None);
}

#[test]
fn it_is_ended_from_outside_where_it_would_wait_for_its_servers() {
    let ends = |wish: &LaunchFixture| {
        wish.check_script(
            &AGENT,
            "> {\"send\":{\"method\":\"initialize\"}}\n{\"cmd\":\"close\"}\n> \"close_input\"\n> \"done\"",
        );
    };
    ends(&wish_with_session(&json!({ "mcpServers": { "x": { "command": "y" } } })));
    let own = machine_with_session().with_file("~/.gemini/settings.json", r#"{"mcpServers":{"x":{"command":"y"}}}"#);
    ends(&LaunchFixture { machine: own, ..LaunchFixture::default() });
    let none = "> {\"send\":{\"method\":\"initialize\"}}\n{\"cmd\":\"close\"}\n> \"close_input\"";
    wish_with_session(&json!({})).check_script(&AGENT, none);
}

#[test]
fn a_dollar_in_a_servers_environment_is_an_ordinary_one() {
    let config = json!({ "mcpServers": { "x": { "command": "y", "env": { "A": "a$HOME" } } } });
    let env = json!([{ "name": "A", "value": "a\\$HOME" }]);
    let sent = json!({ "masked": { "params": { "mcpServers": [{ "env": env }] } } });
    let met = r#"{"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}"#;
    wish_with_session(&config)
        .check_script(&AGENT, &format!("> {{\"send\":{{\"method\":\"initialize\"}}}}\n{met}\n> {sent}"));
}

#[test]
fn its_own_sandbox_is_missed_only_where_it_was_on() {
    let on = || machine_with_session().with_file("~/.gemini/settings.json", r#"{"tools":{"sandbox":"docker"}}"#);
    let weaker = |wish: LaunchFixture| !wish.launch(&AGENT).unwrap().weaker.is_empty();
    assert!(weaker(LaunchFixture { machine: on(), ..LaunchFixture::default() }));
    assert!(!weaker(LaunchFixture { machine: on(), confined: true, ..LaunchFixture::default() }));
    assert!(!weaker(LaunchFixture {
        machine: on(),
        ..LaunchFixture::from_config(&json!({ "sandboxMode": "fullAccess" }))
    }));
    assert!(!weaker(wish_with_session(&json!({}))));
}

#[test]
fn its_settings_are_read_in_our_words() {
    let settings = r#"{
        // comments are allowed
        "general": { "defaultApprovalMode": "auto_edit" },
        "model": { "name": "gemini-2.5-pro", "maxSessionTurns": 9 },
        "tools": { "sandbox": true, "allowed": ["read_file"], "exclude": ["web_fetch"] },
        "mcpServers": {
            "files": { "command": "serve", "args": ["-x"], "env": { "A": "b" }, "trust": true, "includeTools": ["read"], "excludeTools": ["write"] },
            "far": { "httpUrl": "http://far/mcp", "headers": { "K": "v" } },
            "old": { "url": "http://old/sse" }
        }
    }"#;
    let machine = FakeHost::default()
        .with_file("~/.gemini/settings.json", settings)
        .with_file("/home/user/project/.gemini/settings.json", "{ not JSON")
        .with_file("~/.gemini/policies/a.toml", "");
    let found = settings::read_config(&machine, "/home/user/project".as_ref());
    let [user, project, policy] = found.as_slice() else { panic!("three files: {found:?}") };
    let told = serde_json::to_value(&user.config).unwrap();
    assert_eq!(
        told,
        json!({
            "model": "gemini-2.5-pro", "approvalMode": ApprovalMode::AutoEdit, "sandboxMode": SandboxMode::WorkspaceWrite,
            "allowedTools": ["read_file"], "blockedTools": ["web_fetch"], "maxTurns": 9,
            "mcpServers": {
                "files": { "command": "serve", "args": ["-x"], "env": { "A": "b" }, "trust": true, "includeTools": ["read"], "excludeTools": ["write"] },
                "far": { "url": "http://far/mcp", "type": "http", "headers": { "K": "v" } },
                "old": { "url": "http://old/sse", "type": "sse" },
            },
        })
    );
    assert!(project.remarks[0].contains("not JSON") && policy.remarks[0].contains("rules"), "{found:?}");
}

#[test]
fn who_is_logged_in_is_told_from_files_and_variables() {
    let login = |machine: FakeHost| settings::check_login(&machine);
    let settings = |kind: &str| {
        FakeHost::default()
            .with_file("~/.gemini/settings.json", &format!(r#"{{"security":{{"auth":{{"selectedType":"{kind}"}}}}}}"#))
    };
    assert!(matches!(login(FakeHost::default()), Login::No(_)));
    assert_eq!(login(FakeHost::default().with_env("GOOGLE_API_KEY", "k")), Login::Yes("GOOGLE_API_KEY".to_owned()));
    assert_eq!(login(settings("gemini-api-key")), Login::Unknown, "the key may be in the keyring");
    assert!(matches!(login(settings("oauth-personal")), Login::No(_)));
    let account = settings("oauth-personal").with_file("~/.gemini/oauth_creds.json", "{}");
    assert!(matches!(login(account), Login::Yes(_)));
    assert!(matches!(login(FakeHost::default().with_file("~/.gemini/.env", "GEMINI_API_KEY=k")), Login::Yes(_)));
}
