//! Launch of Codex, by example.

use serde_json::{Value, json};

use super::AGENT;
use crate::{
    AgentLaunch, AgentPrompt, Login, StdinMode,
    driver_tests::{FakeHost, LaunchFixture},
};

const THREAD_ID: &str = "01a1e1cb-c170-7201-89c4-afed9d9065ec";

fn launch_wish(wish: &LaunchFixture) -> AgentLaunch {
    wish.launch(&AGENT).unwrap()
}

fn launch_error(wish: &LaunchFixture) -> String {
    wish.launch(&AGENT).map(|_| ()).unwrap_err().what
}

/// Checks the parameters with which the two-way form opens its thread.
fn check_thread_params(wish: &LaunchFixture, params: &Value) {
    let script = format!(
        r#"
        > {{"send":{{"id":1,"method":"initialize"}}}}
        {{"in":{{"id":1,"result":{{}}}}}}
        > {{"send":{{"method":"initialized"}}}}
        > {{"send":{{"method":"thread/start","params":{params}}}}}
        "#
    );
    wish.check_script(&AGENT, &script);
}

#[test]
fn the_two_way_form_has_no_arguments() {
    let launch =
        launch_wish(&LaunchFixture::from_config(&json!({ "model": "m", "mcpServers": { "a": { "command": "x" } } })));
    assert_eq!((launch.program.as_str(), launch.args.as_slice()), ("codex", ["app-server".to_owned()].as_slice()));
    assert_eq!((launch.source, launch.input), ("codex:app-server", StdinMode::Open));
    let paths = |state: Vec<crate::StateDirectory>| state.into_iter().map(|state| state.path).collect::<Vec<_>>();
    assert_eq!(paths(launch.state), [std::path::PathBuf::from("/home/user/.codex")]);
    let elsewhere = LaunchFixture {
        machine: FakeHost::default().with_env("CODEX_HOME", "/data/codex"),
        ..LaunchFixture::default()
    };
    assert_eq!(paths(launch_wish(&elsewhere).state), [std::path::PathBuf::from("/data/codex")]);
}

#[test]
fn everything_is_asked_but_where_nothing_is() {
    for mode in ["ask", "askDangerous", "autoEdit"] {
        let asks =
            json!({ "approvalPolicy": "untrusted", "sandbox": "danger-full-access", "approvalsReviewer": "user" });
        check_thread_params(&LaunchFixture::from_config(&json!({ "approvalMode": mode })), &asks);
    }
    let free = json!({ "approvalPolicy": "never", "sandbox": "danger-full-access", "config": null });
    check_thread_params(
        &LaunchFixture { root: true, ..LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" })) },
        &free,
    );
    let blocked = LaunchFixture::from_config(&json!({ "approvalMode": "autoAll", "blockedTools": ["apply_patch"] }));
    check_thread_params(&blocked, &json!({ "approvalPolicy": "untrusted" }));
}

#[test]
fn tools_are_taken_away() {
    let off = |blocked: &str, config: Value| {
        let wish = LaunchFixture::from_config(&json!({ "approvalMode": "autoAll", "blockedTools": [blocked] }));
        check_thread_params(&wish, &json!({ "config": config }));
    };
    off("command", json!({ "features": { "shell_tool": false } }));
    off("exec_command", json!({ "features": { "shell_tool": false } }));
    off("Web", json!({ "web_search": "disabled" }));
    off("view_image", json!({ "features": { "view_image": false } }));
    off("spawn_agent", json!({ "features": { "multi_agent": false } }));
    off("mcp", json!({ "features": { "apps": false, "plugins": false } }));
    assert!(
        launch_error(&LaunchFixture::from_config(&json!({ "blockedTools": ["read"] }))).contains("by running commands")
    );
    off("command", json!({ "features": { "view_image": null } }));
    check_thread_params(
        &LaunchFixture::from_config(&json!({ "blockedTools": ["read", "command"] })),
        &json!({ "config": { "features": { "view_image": false } } }),
    );
}

#[test]
fn the_web_is_not_searched_unasked() {
    let asking = LaunchFixture::default();
    check_thread_params(&asking, &json!({ "config": { "web_search": "disabled" } }));
    assert!(launch_wish(&asking).weaker.iter().any(|weaker| weaker.contains("web search is off")));
    let allowed = LaunchFixture::from_config(&json!({ "allowedTools": ["web"] }));
    check_thread_params(&allowed, &json!({ "config": null }));
    assert!(launch_wish(&allowed).weaker.is_empty());
    let machine = FakeHost::default().with_file("~/.codex/config.toml", "web_search = \"disabled\"");
    assert!(launch_wish(&LaunchFixture { machine, ..LaunchFixture::default() }).weaker.is_empty(), "it was off anyway");
}

#[test]
fn mcp_servers_get_their_secrets_by_name() {
    let config = json!({ "mcpServers": {
        "a": { "command": "serve", "args": ["x"], "env": { "TOKEN": "one" }, "includeTools": ["read"] },
        "b": { "command": "serve", "env": { "TOKEN": "two", "PATH": "/bin" }, "excludeTools": ["drop"], "trust": true },
        "c": { "url": "https://c", "headers": { "Authorization": "three" } },
    } });
    let wish = LaunchFixture {
        machine: FakeHost::default().with_env("PATH", "/usr/bin"),
        ..LaunchFixture::from_config(&config)
    };
    let launch = launch_wish(&wish);
    let env: Vec<_> = launch.env.iter().map(|(name, value)| format!("{name}={value}")).collect();
    assert_eq!(env, ["TOKEN=one", "SB_MCP_1=/bin", "SB_MCP_2=two", "SB_MCP_3=three"]);
    let wrapped = "export PATH=\"$SB_MCP_1\"; export TOKEN=\"$SB_MCP_2\"; exec \"$@\"";
    let servers = json!({
        "a": { "command": "serve", "args": ["x"], "env_vars": ["TOKEN"], "env": null, "enabled_tools": ["read"], "default_tools_approval_mode": "prompt" },
        "b": { "command": "sh", "args": ["-c", wrapped, "sh", "serve"], "env_vars": ["SB_MCP_1", "SB_MCP_2"], "disabled_tools": ["drop"], "default_tools_approval_mode": "approve" },
        "c": { "url": "https://c", "env_http_headers": { "Authorization": "SB_MCP_3" }, "http_headers": null },
    });
    check_thread_params(&wish, &json!({ "config": { "mcp_servers": servers } }));
    let sse = json!({ "mcpServers": { "d": { "url": "https://d", "type": "sse" } } });
    assert!(launch_error(&LaunchFixture::from_config(&sse)).contains("server-sent events"));
    assert!(
        launch_error(&LaunchFixture::from_config(&json!({ "mcpServers": { "e": {} } })))
            .contains("no command and no url")
    );
}

#[test]
fn blocked_tools_of_the_users_own_servers_are_off() {
    let file = "[mcp_servers.own]\ncommand = \"x\"\ndisabled_tools = [\"old\"]\n";
    let blocked = |tool: &str, server: Value| {
        let machine = FakeHost::default().with_file("~/.codex/config.toml", file);
        let wish = LaunchFixture { machine, ..LaunchFixture::from_config(&json!({ "blockedTools": [tool] })) };
        check_thread_params(&wish, &json!({ "config": { "mcp_servers": { "own": server } } }));
    };
    blocked("mcp", json!({ "enabled": false }));
    blocked("mcp__own__drop", json!({ "disabled_tools": ["old", "drop"] }));
    blocked("drop", json!({ "disabled_tools": ["old", "drop"] }));
}

/// Checks the arguments of the one-shot form.
fn check_one_shot_args(config: &Value, expected: &str) {
    let prompt = AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() };
    let launch = launch_wish(&LaunchFixture { one_shot: true, prompt, ..LaunchFixture::from_config(config) });
    assert_eq!(launch.args.join(" "), expected, "{config}");
    assert_eq!((launch.source, launch.input), ("codex", StdinMode::Text("go".to_owned())));
}

const UNTRUSTED_FLAG: &str = r#"-c projects={"/home/user/project"={"trust_level"="untrusted"}}"#;

#[test]
fn the_one_shot_form_keeps_itself_from_what_it_cannot_ask() {
    let all = json!({ "approvalMode": "autoAll", "model": "m" });
    let start = "exec --json --skip-git-repo-check -s";
    check_one_shot_args(&all, &format!("{start} danger-full-access -C /home/user/project -m m {UNTRUSTED_FLAG} -"));
    let ask = json!({ "allowedTools": ["web"] });
    check_one_shot_args(&ask, &format!("{start} read-only -C /home/user/project {UNTRUSTED_FLAG} -"));
    let edit = json!({ "approvalMode": "autoEdit", "allowedTools": ["web"] });
    let no_shell = r#"-c features={"shell_tool"=false}"#;
    check_one_shot_args(&edit, &format!("{start} workspace-write -C /home/user/project {no_shell} {UNTRUSTED_FLAG} -"));
}

#[test]
fn the_one_shot_form_inside_our_sandbox_has_none_of_its_own() {
    let prompt = || AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() };
    let wish = |mode: &str, sandbox: &str| LaunchFixture {
        one_shot: true,
        confined: true,
        prompt: prompt(),
        ..LaunchFixture::from_config(&json!({ "approvalMode": mode, "sandboxMode": sandbox }))
    };
    for (mode, sandbox) in [("autoAll", "readOnly"), ("autoEdit", "workspaceWrite"), ("ask", "readOnly")] {
        let args = launch_wish(&wish(mode, sandbox)).args.join(" ");
        assert!(args.contains("-s danger-full-access"), "{args}");
        assert_eq!(args.contains("\"shell_tool\"=false"), mode != "autoAll", "{args}");
    }
    assert!(launch_error(&wish("ask", "workspaceWrite")).contains("does not ask before it changes files"));
}

#[test]
fn the_one_shot_form_refuses_what_it_cannot_do() {
    let refused = |config: Value| {
        let prompt = AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() };
        launch_error(&LaunchFixture { one_shot: true, prompt, ..LaunchFixture::from_config(&config) })
    };
    assert!(refused(json!({ "maxTurns": 3 })).contains("cannot be limited"));
    assert!(refused(json!({ "approvalMode": "autoAll", "blockedTools": ["edit"] })).contains("cannot be blocked"));
}

#[test]
fn the_one_shot_form_continues_a_thread_with_all_flags_before() {
    let schema = serde_json::value::RawValue::from_string("{\"type\":\"object\"}".to_owned()).unwrap();
    let image = crate::PromptImage { path: Some("a.png".into()), ..crate::PromptImage::default() };
    let prompt = AgentPrompt { text: "go".to_owned(), images: vec![image], output_schema: Some(schema) };
    let machine =
        FakeHost::default().with_file("~/.codex/config.toml", "[projects.\"/home/user\"]\ntrust_level=\"trusted\"");
    let wish = LaunchFixture {
        one_shot: true,
        prompt,
        machine,
        resume: Some((THREAD_ID, true)),
        ..LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" }))
    };
    let launch = launch_wish(&wish);
    let flags = "-s danger-full-access -C /home/user/project --output-schema /tmp/private/output-schema.json --image=/home/user/project/a.png";
    assert_eq!(launch.args.join(" "), format!("exec --json --skip-git-repo-check {flags} fork {THREAD_ID} -"));
    assert_eq!(launch.files, [("/tmp/private/output-schema.json".into(), "{\"type\":\"object\"}".to_owned())]);
    let bytes =
        AgentPrompt { text: "go".to_owned(), images: vec![crate::PromptImage::default()], ..AgentPrompt::default() };
    assert!(
        launch_error(&LaunchFixture { one_shot: true, prompt: bytes, ..LaunchFixture::default() })
            .contains("only as files")
    );
}

#[test]
fn a_linked_worktree_is_trusted_like_its_repository() {
    let prompt = AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() };
    let machine = FakeHost::default()
        .with_file("~/.codex/config.toml", "[projects.\"/home/user/main\"]\ntrust_level=\"trusted\"")
        .with_file("~/project/.git", "gitdir: /home/user/main/.git/worktrees/project\n");
    let wish = LaunchFixture {
        one_shot: true,
        prompt,
        machine,
        ..LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" }))
    };
    assert!(!launch_wish(&wish).args.join(" ").contains("projects="));
}

fn login_and_key(machine: FakeHost) -> (Login, Option<String>, bool) {
    let login = (AGENT.login)(&machine);
    let prompt = AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() };
    let mut wish =
        LaunchFixture { prompt, machine, ..LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" })) };
    let server = launch_wish(&wish).args.len() > 1;
    wish.one_shot = true;
    (login, launch_wish(&wish).env.pop().map(|(name, value)| format!("{name}={value}")), server)
}

#[test]
fn a_key_of_the_environment_works_in_both_forms() {
    let yes = |how: &str| Login::Yes(how.to_owned());
    let given = |key_: &str| Some(format!("CODEX_API_KEY={key_}"));
    let auth = r#"{"OPENAI_API_KEY":null,"tokens":{}}"#;
    let provider = "model_provider = \"p\"\n[model_providers.p]\nenv_key = \"P_KEY\"\n";
    let openai = || FakeHost::default().with_env("OPENAI_API_KEY", "o");
    assert_eq!(login_and_key(openai()), (yes("OPENAI_API_KEY"), given("o"), true));
    assert_eq!(login_and_key(openai().with_env("CODEX_API_KEY", "c")), (yes("CODEX_API_KEY"), given("c"), true));
    let logged_in = openai().with_file("~/.codex/auth.json", auth);
    assert_eq!(login_and_key(logged_in), (yes("ChatGPT login in auth.json"), None, false));
    let keyring = openai().with_file("~/.codex/config.toml", "cli_auth_credentials_store = \"keyring\"");
    assert_eq!(login_and_key(keyring), (Login::Unknown, None, false));
    let other = openai().with_file("~/.codex/config.toml", provider);
    let missing = Login::No("set P_KEY, which the provider `p` needs".to_owned());
    assert_eq!(login_and_key(other), (missing, None, false));
    let (none, ..) = login_and_key(FakeHost::default());
    assert!(matches!(none, Login::No(hint) if hint.contains("codex login")));
}

#[test]
fn configuration_files_are_read_back() {
    let file = r#"
        model = "gpt-5.5"
        approval_policy = "never"
        sandbox_mode = "workspace-write"
        model_provider = "x"
        [mcp_servers.docs]
        command = "npx"
        args = ["-y", "docs"]
        env = { KEY = "secret" }
        enabled_tools = ["search"]
        startup_timeout_sec = 5
        [mcp_servers.web]
        url = "https://web"
        http_headers = { A = "b" }
        default_tools_approval_mode = "approve"
        [projects."/home/user/project"]
        trust_level = "trusted"
    "#;
    let machine = FakeHost::default()
        .with_file("~/.codex/config.toml", file)
        .with_file("~/project/.codex/config.toml", "model = ");
    let found = (AGENT.config)(&machine, std::path::Path::new("/home/user/project"));
    let config = serde_json::to_value(&found[0].config).unwrap();
    let expected = json!({
        "model": "gpt-5.5", "approvalMode": "autoAll", "sandboxMode": "workspaceWrite",
        "mcpServers": {
            "docs": { "command": "npx", "args": ["-y", "docs"], "env": { "KEY": "secret" }, "includeTools": ["search"] },
            "web": { "url": "https://web", "type": "http", "headers": { "A": "b" }, "trust": true },
        },
    });
    assert_eq!(config, expected);
    let remarks = found[0].remarks.join("\n");
    for said in
        ["fail without a request", "`docs` also sets: startup_timeout_sec", "is trusted", "also sets: model_provider"]
    {
        assert!(remarks.contains(said), "{said} in {remarks}");
    }
    assert!(found[1].remarks[0].starts_with("cannot be read"), "{:?}", found[1].remarks);
}

#[test]
fn settings_of_the_core_and_workspace_tables_are_read() {
    let read = |file: &str| {
        let machine = FakeHost::default().with_file("~/.codex/config.toml", file);
        let found = (AGENT.config)(&machine, std::path::Path::new("/home/user/project"));
        (serde_json::to_value(&found[0].config).unwrap(), found[0].remarks.join("\n"))
    };
    let core = "[core]\napproval_policy = \"on-request\"\nsandbox_mode = \"workspace-write\"\nmood = \"fine\"\n\
                [sandbox_workspace_write]\nnetwork_access = false\nwritable_roots = [\"/extra/path\"]\nexclude_slash_tmp = true\n";
    let (config, remarks) = read(core);
    let expected = json!({ "approvalMode": "askDangerous", "sandboxMode": "workspaceWrite",
        "writableRoots": ["/extra/path"], "networkAccess": false });
    assert_eq!(config, expected);
    for remark in ["Codex itself ignores [core]", "[core] also sets: mood", "also sets: exclude_slash_tmp"] {
        assert!(remarks.contains(remark), "{remark} in {remarks}");
    }
    let (config, _) = read(&format!("sandbox_mode = \"read-only\"\n{core}"));
    assert_eq!(config["sandboxMode"], "readOnly", "what Codex reads comes first");
}

#[test]
fn commands_keep_the_proxy_of_the_sandbox() {
    let launch = |path: &str, text: &str| LaunchFixture {
        confined: true,
        one_shot: true,
        proxy_env: vec![("HTTPS_PROXY".to_owned(), "http://127.0.0.1:3128".to_owned())],
        prompt: AgentPrompt { text: "go".to_owned(), ..AgentPrompt::default() },
        machine: FakeHost::default().with_file(path, text),
        ..LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" }))
    };
    let setting = r#"shell_environment_policy={"set"={"HTTPS_PROXY"="http://127.0.0.1:3128"}}"#;
    let with_policy = launch("~/.codex/config.toml", "[shell_environment_policy]\ninherit = \"core\"\n");
    assert!(launch_wish(&with_policy).args.contains(&setting.to_owned()), "{:?}", launch_wish(&with_policy).args);
    let without = launch_wish(&launch("~/.codex/config.toml", "model = \"m\"\n"));
    assert!(!without.args.iter().any(|arg| arg.starts_with("shell_environment_policy")));
    let dotenv = launch_wish(&launch("~/.codex/.env", "export HTTPS_PROXY=http://outside:1\n"));
    assert!(dotenv.weaker.iter().any(|text| text.contains("sets a proxy")), "{:?}", dotenv.weaker);
}
