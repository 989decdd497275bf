//! What Gemini CLI is started with, and what is said to it, for what is wanted.

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};

use super::{config, launch::AGENT};
use crate::{
    Input, Login, Prompt,
    driver_tests::{Machine, Wish},
};

const ID: &str = "e285d73f-2cc0-45ae-adb5-7ddebded20bc";
const FILE: &str = "~/.gemini/tmp/project/chats/session-2026-11-16T00-31-e285d73f.jsonl";

/// A machine on which the session was held.
fn machine() -> Machine {
    Machine::default()
        .with_env("GEMINI_API_KEY", "k")
        .with_file("~/.gemini/projects.json", r#"{"projects":{"/home/user/project":"project"}}"#)
        .with_file(FILE, &format!("{{\"sessionId\":\"{ID}\"}}\n{{\"id\":\"1\",\"content\":\"of {ID}\"}}\n"))
}

fn wish(config: &Value) -> Wish {
    Wish { machine: machine(), ..Wish::of(config) }
}

/// The arguments and the variables, each joined.
fn started(wish: &Wish) -> (String, Vec<String>) {
    let launch = wish.launch(&AGENT).unwrap();
    let env = launch.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    (launch.args.join(" "), env)
}

fn rules(config: &Value) -> String {
    wish(config).launch(&AGENT).unwrap().files.into_iter().map(|(_, text)| text).collect()
}

#[test]
fn it_asks_in_every_mode_but_the_last() {
    for (mode, expected) in
        [("ask", "default"), ("askDangerous", "default"), ("autoEdit", "default"), ("autoAll", "yolo")]
    {
        let (args, env) = started(&wish(&json!({ "approvalMode": mode, "model": "m" })));
        let policy = if mode == "autoAll" { "" } else { "--policy /tmp/private/policy.toml " };
        assert_eq!(args, format!("--model m --approval-mode {expected} {policy}--acp"));
        // One process, which signals reach; a folder that nobody has to trust first; no sandbox that eats the input.
        for set in ["GEMINI_CLI_NO_RELAUNCH=true", "GEMINI_CLI_TRUST_WORKSPACE=true", "GEMINI_SANDBOX=false"] {
            assert!(env.iter().any(|variable| variable == set), "{set}");
        }
    }
}

#[test]
fn it_debugs_if_a_variable_says_so() {
    let args = |value: &str| started(&Wish { machine: machine().with_env("GEMINI_DEBUG", value), ..Wish::default() }).0;
    assert!(args("1").split(' ').any(|arg| arg == "--debug"), "{}", args("1"));
    assert!(!args("0").contains("--debug") && !args("").contains("--debug"));
}

#[test]
fn one_answer_alone_needs_modes_that_come_nearest() {
    for (mode, expected) in
        [("ask", "default"), ("askDangerous", "auto_edit"), ("autoEdit", "auto_edit"), ("autoAll", "yolo")]
    {
        let prompt = Prompt { text: "-h".to_owned(), ..Prompt::default() };
        let wish = Wish { one_shot: true, prompt, ..wish(&json!({ "approvalMode": mode })) };
        let (args, _) = started(&wish);
        assert!(args.starts_with(&format!("--approval-mode {expected}")), "{args}");
        assert!(args.ends_with("--output-format stream-json"), "{args}");
        let launch = wish.launch(&AGENT).unwrap();
        assert_eq!((launch.source, launch.input), ("gemini", Input::Text("-h".to_owned())));
        assert!(launch.driver.is_none());
    }
}

#[test]
fn what_leaves_the_machine_is_asked_about() {
    let web = "decision = \"ask_user\"\npriority = 1\ntoolName = [\"web_fetch\", \"google_web_search\"]\n";
    assert!(rules(&json!({ "approvalMode": "autoEdit" })).contains(web));
    assert_eq!(rules(&json!({ "approvalMode": "autoAll" })), "");
}

#[test]
fn tools_are_allowed_and_blocked_by_kind_and_by_name() {
    let config = json!({ "approvalMode": "autoAll", "allowedTools": ["run_shell_command(git \"x\")"], "blockedTools": ["Edit", "glob"] });
    assert_eq!(
        rules(&config),
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
    assert!(!rules(&config).contains("write_file") && rules(&config).contains("\"glob\""), "{}", rules(&config));
    let once = Wish { one_shot: true, ..wish(&config) }.launch(&AGENT).unwrap();
    assert!(once.files.iter().any(|(_, text)| text.contains("write_file")), "a one-shot cannot ask");
}

#[test]
fn trust_and_lists_of_tools_of_a_server_are_rules() {
    let config = json!({ "approvalMode": "autoAll", "mcpServers": {
        "lab": { "command": "x", "includeTools": ["a", "b"], "excludeTools": ["b"] },
        "own": { "command": "y", "trust": true },
    } });
    assert_eq!(
        rules(&config),
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
    let asked = rules(&json!({ "mcpServers": { "lab": { "command": "x", "includeTools": ["a"] } } }));
    assert!(asked.contains("decision = \"ask_user\"\npriority = 995\nmcpName = \"lab\""), "{asked}");
}

#[test]
fn the_users_own_rules_stay() {
    let machine = || machine().with_file("~/.gemini/policies/mine.toml", "");
    let (args, _) = started(&Wish { machine: machine(), ..Wish::default() });
    assert!(args.contains("--policy /home/user/.gemini/policies --policy /tmp/private/policy.toml"), "{args}");
    let named = machine().with_file("~/.gemini/settings.json", r#"{"policyPaths":["/a.toml","/b"]} // mine"#);
    let (args, _) = started(&Wish { machine: named, ..Wish::default() });
    assert!(args.contains("--policy /a.toml --policy /b --policy /tmp/private/policy.toml"), "{args}");
}

#[test]
fn a_session_is_loaded_under_an_id_that_does_no_harm() {
    let wish = Wish { resume: Some((ID, false)), ..wish(&json!({})) };
    let load = json!({ "send": { "id": 1, "method": "session/load", "params": { "sessionId": format!(" {ID}") } } });
    let prompt = json!({ "send": { "method": "session/prompt", "params": { "sessionId": format!(" {ID}") } } });
    let (first, after) = (replayed("one"), replayed("two"));
    wish.check(
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

/// A piece of the history of the session.
fn replayed(text: &str) -> Value {
    let update = json!({ "sessionUpdate": "agent_message_chunk", "content": { "type": "text", "text": text } });
    let params = json!({ "sessionId": format!(" {ID}"), "update": update });
    json!({ "in": { "jsonrpc": "2.0", "method": "session/update", "params": params } })
}

/// The copy that is made before a session is continued, from and to.
fn copies(machine: Machine, one_shot: bool) -> Vec<(String, String)> {
    let launch = Wish { resume: Some((ID, false)), one_shot, machine, ..Wish::default() }.launch(&AGENT).unwrap();
    let text = |path: std::path::PathBuf| path.to_string_lossy().replace("/home/user/.gemini/tmp/project/chats/", "");
    launch.copies.into_iter().map(|(from, to)| (text(from), text(to))).collect()
}

#[test]
fn a_session_is_copied_once_to_a_name_that_nothing_deletes() {
    let file = "session-2026-11-16T00-31-e285d73f.jsonl".to_owned();
    let safe = "session-0-2026-11-16T00-31-bded20bc.jsonl".to_owned();
    for one_shot in [false, true] {
        assert_eq!(copies(machine(), one_shot), [(file.clone(), safe.clone())]);
        // A later start left an empty file under the same name.
        let stray = machine().with_file(&FILE.replace("T00-31", "T00-32"), "{}");
        assert_eq!(copies(stray, one_shot), [(file.clone(), safe.clone())]);
        let copied = machine().with_file(&format!("~/.gemini/tmp/project/chats/{safe}"), "{}");
        assert_eq!(copies(copied, one_shot), []);
        assert_eq!(copies(Machine::default(), one_shot), []);
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
    Wish { resume: Some((ID, false)), ..wish(&json!({})) }.check(&AGENT, &script);
}

#[test]
fn a_copy_of_a_session_has_an_id_of_its_own() {
    let launch = Wish { resume: Some((ID, true)), ..wish(&json!({})) }.launch(&AGENT).unwrap();
    let (made, text) = launch.files.iter().find(|(path, _)| path.ends_with("session.jsonl")).unwrap();
    let [(from, to)] = launch.copies.as_slice() else { panic!("one copy") };
    assert_eq!(from, made);
    let id = text.split('"').nth(3).unwrap();
    assert!(id != ID && id.len() == ID.len() && text.matches(id).count() == 2 && !text.contains(ID), "{text}");
    let short: String = id.chars().take(8).collect();
    assert!(to.to_string_lossy().ends_with(&format!("/chats/session-2026-11-16T00-31-{short}.jsonl")), "{to:?}");
    let gone = Wish { resume: Some(("00000000-x", true)), ..wish(&json!({})) };
    assert!(gone.launch(&AGENT).is_err());
    let (args, _) = started(&Wish { resume: Some((ID, true)), one_shot: true, ..wish(&json!({})) });
    assert!(args.contains("--session-file /home/user/.gemini/tmp/project/chats/"), "{args}");
}

#[test]
fn keys_have_two_names_and_old_sessions_need_an_address() {
    let variables = |machine: Machine, resume| started(&Wish { machine, resume, ..Wish::default() }).1;
    let usual = "GOOGLE_GEMINI_BASE_URL=https://generativelanguage.googleapis.com/".to_owned();
    let other = || Machine::default().with_env("GOOGLE_API_KEY", "g");
    let named = "GEMINI_API_KEY=g".to_owned();
    assert!(variables(other(), None).contains(&named));
    assert!(!variables(other().with_env("GEMINI_API_KEY", "k"), None).contains(&named));
    assert!(!variables(other().with_env("GOOGLE_GENAI_USE_VERTEXAI", "true"), None).contains(&named));
    // Without a chosen way to log in, it loads no session otherwise.
    assert!(variables(other(), Some((ID, false))).contains(&usual));
    let chosen = r#"{"security":{"auth":{"selectedType":"gemini-api-key"}}}"#;
    assert!(!variables(other().with_file("~/.gemini/settings.json", chosen), Some((ID, false))).contains(&usual));
}

#[test]
fn what_one_answer_alone_cannot_have_is_refused() {
    let one_shot = |wish: Wish| Wish { one_shot: true, ..wish }.launch(&AGENT).err().map(|refused| refused.what);
    let servers = one_shot(wish(&json!({ "mcpServers": { "x": { "command": "y" } } })));
    assert!(servers.unwrap().contains("MCP"));
    let address = machine().with_env("GOOGLE_GEMINI_BASE_URL", "http://x");
    assert!(one_shot(Wish { machine: address, ..Wish::default() }).unwrap().contains("way to log in"));
    assert_eq!(one_shot(wish(&json!({}))), None);
}

#[test]
fn it_is_ended_from_outside_where_it_would_wait_for_its_servers() {
    let ends = |wish: &Wish| {
        wish.check(
            &AGENT,
            "> {\"send\":{\"method\":\"initialize\"}}\n{\"cmd\":\"close\"}\n> \"close_input\"\n> \"done\"",
        );
    };
    ends(&wish(&json!({ "mcpServers": { "x": { "command": "y" } } })));
    let own = machine().with_file("~/.gemini/settings.json", r#"{"mcpServers":{"x":{"command":"y"}}}"#);
    ends(&Wish { machine: own, ..Wish::default() });
    let none = "> {\"send\":{\"method\":\"initialize\"}}\n{\"cmd\":\"close\"}\n> \"close_input\"";
    wish(&json!({})).check(&AGENT, none);
}

#[test]
fn a_dollar_in_a_servers_environment_is_an_ordinary_one() {
    let config = json!({ "mcpServers": { "x": { "command": "y", "env": { "A": "a$HOME" } } } });
    let env = json!([{ "name": "A", "value": "a\\$HOME" }]);
    let sent = json!({ "masked": { "params": { "mcpServers": [{ "env": env }] } } });
    let met = r#"{"in":{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":1}}}"#;
    wish(&config).check(&AGENT, &format!("> {{\"send\":{{\"method\":\"initialize\"}}}}\n{met}\n> {sent}"));
}

#[test]
fn its_own_sandbox_is_missed_only_where_it_was_on() {
    let on = || machine().with_file("~/.gemini/settings.json", r#"{"tools":{"sandbox":"docker"}}"#);
    let weaker = |wish: Wish| !wish.launch(&AGENT).unwrap().weaker.is_empty();
    assert!(weaker(Wish { machine: on(), ..Wish::default() }));
    assert!(!weaker(Wish { machine: on(), confined: true, ..Wish::default() }));
    assert!(!weaker(Wish { machine: on(), ..Wish::of(&json!({ "sandboxMode": "fullAccess" })) }));
    assert!(!weaker(wish(&json!({}))));
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
    let machine = Machine::default()
        .with_file("~/.gemini/settings.json", settings)
        .with_file("/home/user/project/.gemini/settings.json", "{ not JSON")
        .with_file("~/.gemini/policies/a.toml", "");
    let found = config::config(&machine, "/home/user/project".as_ref());
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
    let login = |machine: Machine| config::login(&machine);
    let settings = |kind: &str| {
        Machine::default()
            .with_file("~/.gemini/settings.json", &format!(r#"{{"security":{{"auth":{{"selectedType":"{kind}"}}}}}}"#))
    };
    assert!(matches!(login(Machine::default()), Login::No(_)));
    assert_eq!(login(Machine::default().with_env("GOOGLE_API_KEY", "k")), Login::Yes("GOOGLE_API_KEY".to_owned()));
    assert_eq!(login(settings("gemini-api-key")), Login::Unknown, "the key may be in the keyring");
    assert!(matches!(login(settings("oauth-personal")), Login::No(_)));
    let account = settings("oauth-personal").with_file("~/.gemini/oauth_creds.json", "{}");
    assert!(matches!(login(account), Login::Yes(_)));
    assert!(matches!(login(Machine::default().with_file("~/.gemini/.env", "GEMINI_API_KEY=k")), Login::Yes(_)));
}
