//! Tests of the launch of Claude Code and of reading its configuration files.

use std::path::Path;

use serde_json::{Value, json};

use super::{AGENT, launch::login_state, settings};
use crate::{
    AgentLaunch, AgentPrompt, Login, PromptImage, StdinMode, UnsupportedOperation,
    driver_tests::{FakeHost, LaunchFixture},
};

fn launch_config(config: &Value) -> AgentLaunch {
    LaunchFixture::from_config(config).launch(&AGENT).unwrap()
}

fn launch_error(config: &Value) -> UnsupportedOperation {
    LaunchFixture::from_config(config).launch(&AGENT).err().unwrap()
}

/// Checks the flags beyond those that every session has.
#[track_caller]
fn check_flags(config: &Value, expected: &[&str]) {
    let launch = launch_config(config);
    assert_eq!(launch.args[7..], *expected, "{config}");
}

fn launch_file(launch: &AgentLaunch, name: &str) -> Value {
    let (_, text) = launch.files.iter().find(|(path, _)| *path == Path::new("/tmp/private").join(name)).unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn two_way_is_spoken_over_its_input() {
    let launch = launch_config(&json!({}));
    let flags = [
        "-p",
        "--output-format=stream-json",
        "--verbose",
        "--include-partial-messages",
        "--input-format=stream-json",
        "--permission-prompt-tool=stdio",
        "--permission-mode=default",
        "--settings=/tmp/private/settings.json",
    ];
    assert_eq!((launch.program.as_str(), launch.source), ("claude", "claude"));
    assert_eq!(launch.args, flags);
    assert_eq!(launch.input, StdinMode::Open);
    // A separate value could be swallowed by the flag before it.
    assert!(launch.args.iter().all(|arg| arg.starts_with('-')));
    assert!(launch.driver.is_some() && launch.counts_turns && launch.weaker.is_empty());
    assert_eq!(launch.env, [("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS".to_owned(), "1".to_owned())]);
    assert!(launch.unset.contains(&"CLAUDECODE") && launch.unset.contains(&"CLAUDE_CODE_CHILD_SESSION"));
    assert_eq!(launch.state.first().map(|state| state.path.as_path()), Some(Path::new("/home/user/.claude")));
    assert_eq!(launch.writable, Vec::<std::path::PathBuf>::new());
}

#[test]
fn settings_are_flags() {
    let settings = "--settings=/tmp/private/settings.json";
    check_flags(&json!({ "model": "opus", "maxTurns": 3 }), &["--model=opus", "--max-turns=3", settings]);
    let lists = json!({ "allowedTools": ["Command", "Bash(git *)", " "], "blockedTools": ["web", "mcp"] });
    check_flags(&lists, &["--allowedTools=Bash,Bash(git *)", "--disallowedTools=WebFetch,WebSearch,mcp__*", settings]);
    check_flags(
        // Edits are approved on the approval channel, which still asks about protected files.
        &json!({ "allowedTools": ["edit", "Write", "Edit(src/**)", "read"], "blockedTools": ["command", "Task"] }),
        &[
            "--allowedTools=Edit(src/**),Read,Glob,Grep",
            "--disallowedTools=Bash,PowerShell,Monitor,REPL,Task",
            settings,
        ],
    );
    // Everything is approved on the approval channel: no mode that root could not use, and no ask rules.
    check_flags(&json!({ "approvalMode": "autoAll" }), &[]);
    for mode in ["ask", "askDangerous", "autoEdit"] {
        check_flags(&json!({ "approvalMode": mode }), &[settings]);
    }
}

#[test]
fn what_claude_code_does_silently_is_asked_for() {
    let asked = |config: &Value| launch_file(&launch_config(config), "settings.json")["permissions"]["ask"].clone();
    assert_eq!(asked(&json!({})), json!(["EnterWorktree", "ExitWorktree", "CronCreate"]));
    // An ask rule would override the allow rule.
    assert_eq!(asked(&json!({ "allowedTools": ["croncreate"] })), json!(["EnterWorktree", "ExitWorktree"]));
}

#[test]
fn what_cannot_be_is_an_error_before_the_start() {
    assert!(launch_error(&json!({ "maxTurns": 0 })).what.contains("0 turns"));
    let nothing = launch_error(&json!({ "mcpServers": { "empty": {} } }));
    assert!(nothing.what.contains("`empty`") && nothing.hint.is_some());
    let silent = LaunchFixture { one_shot: true, ..LaunchFixture::default() };
    assert!(silent.launch(&AGENT).err().unwrap().what.contains("needs a prompt"));
}

#[test]
fn a_hook_that_claude_code_ignores_is_refused() {
    let hook = r#"{"hooks":{"beforeToolCall":"./scripts/approve-tool.sh"}}"#;
    for file in ["~/.claude/settings.json", "/home/user/project/.claude/settings.json"] {
        let machine = FakeHost::default().with_file(file, hook);
        let refused = LaunchFixture { machine, ..LaunchFixture::default() }.launch(&AGENT).err().unwrap();
        assert!(refused.what.contains("hooks.beforeToolCall"), "{}", refused.what);
        assert!(refused.hint.unwrap().contains("hooks.PreToolUse"));
    }
    let real = FakeHost::default().with_file("~/.claude/settings.json", r#"{"hooks":{"PreToolUse":[]}}"#);
    assert!(LaunchFixture { machine: real, ..LaunchFixture::default() }.launch(&AGENT).is_ok());
}

#[test]
fn a_session_is_continued_or_copied() {
    let args =
        |fork| LaunchFixture { resume: Some(("an-id", fork)), ..LaunchFixture::default() }.launch(&AGENT).unwrap().args;
    assert!(args(false).contains(&"--resume=an-id".to_owned()) && !args(false).contains(&"--fork-session".to_owned()));
    assert!(args(true).contains(&"--resume=an-id".to_owned()) && args(true).contains(&"--fork-session".to_owned()));
}

#[test]
fn variables_of_the_user_count() {
    let with = |machine: FakeHost| LaunchFixture { machine, ..LaunchFixture::default() }.launch(&AGENT).unwrap().args;
    assert!(with(FakeHost::default().with_env("CLAUDE_MODEL", "haiku")).contains(&"--model=haiku".to_owned()));
    assert!(with(FakeHost::default().with_env("CLAUDE_DEBUG", "1")).contains(&"--debug".to_owned()));
    assert!(with(FakeHost::default().with_env("CLAUDE_DEBUG", "api")).contains(&"--debug=api".to_owned()));
    assert!(!with(FakeHost::default().with_env("CLAUDE_DEBUG", "0")).iter().any(|arg| arg.starts_with("--debug")));
    let machine = FakeHost::default().with_env("CLAUDE_MODEL", "haiku");
    let both =
        LaunchFixture { machine, ..LaunchFixture::from_config(&json!({ "model": "opus" })) }.launch(&AGENT).unwrap();
    assert!(both.args.contains(&"--model=opus".to_owned()), "what is configured is stronger");
}

#[test]
fn servers_and_their_secrets_are_in_a_file() {
    let config = json!({ "mcpServers": {
        "my db": { "command": "db", "args": ["-x"], "env": { "KEY": "secret" }, "trust": true, "excludeTools": ["drop"] },
        "web": { "url": "https://example.com", "headers": { "Authorization": "secret" }, "includeTools": ["a", "b.c"] },
        "old": { "url": "https://example.com/sse", "type": "sse", "trust": true, "includeTools": ["only"] },
    }, "allowedTools": ["mcp"] });
    let launch = launch_config(&config);
    assert!(!launch.args.iter().any(|arg| arg.contains("secret")), "{:?}", launch.args);
    assert!(launch.args.contains(&"--mcp-config=/tmp/private/mcp.json".to_owned()));
    let allowed = "--allowedTools=mcp__my_db,mcp__old,mcp__web,mcp__my_db,mcp__old__only";
    assert!(launch.args.contains(&allowed.to_owned()), "{:?}", launch.args);
    assert!(launch.args.contains(&"--disallowedTools=mcp__my_db__drop".to_owned()));
    let servers = &launch_file(&launch, "mcp.json")["mcpServers"];
    assert_eq!(
        servers["my db"],
        json!({ "type": "stdio", "command": "db", "args": ["-x"], "env": { "KEY": "secret" } })
    );
    assert_eq!((&servers["web"]["type"], &servers["old"]["type"]), (&json!("http"), &json!("sse")));
    let hooks = &launch_file(&launch, "settings.json")["hooks"]["PreToolUse"];
    let matchers: Vec<_> = hooks.as_array().unwrap().iter().map(|hook| hook["matcher"].as_str().unwrap()).collect();
    assert_eq!(matchers, ["^mcp__old__(?!(?:only)$)", "^mcp__web__(?!(?:a|b_c)$)"]);
}

#[test]
fn in_our_sandbox_its_own_is_off() {
    let wish = LaunchFixture { confined: true, ..LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" })) };
    let launch = wish.launch(&AGENT).unwrap();
    assert_eq!(launch_file(&launch, "settings.json"), json!({ "sandbox": { "enabled": false } }));
    assert!(launch.env.contains(&("CLAUDE_CODE_TMPDIR".to_owned(), "/tmp/private".to_owned())));
    let free = LaunchFixture::from_config(&json!({ "approvalMode": "autoAll", "sandboxMode": "fullAccess" }))
        .launch(&AGENT)
        .unwrap();
    assert_eq!(launch_file(&free, "settings.json"), json!({ "sandbox": { "enabled": false } }));
}

fn launch_one_shot(config: &Value, root: bool, prompt: AgentPrompt) -> AgentLaunch {
    LaunchFixture { one_shot: true, root, prompt, ..LaunchFixture::from_config(config) }.launch(&AGENT).unwrap()
}

#[test]
fn a_one_shot_is_told_its_prompt_and_nothing_else() {
    let prompt = || AgentPrompt { text: "--fix it".to_owned(), ..AgentPrompt::default() };
    let launch = launch_one_shot(&json!({}), false, prompt());
    assert_eq!(launch.input, StdinMode::Text("--fix it".to_owned()));
    assert!(launch.driver.is_none() && !launch.args.iter().any(|arg| arg.contains("stdio") || arg.contains("input")));
    assert!(launch.weaker[0].contains("cannot ask"));

    let image = PromptImage { media_type: "image/png".to_owned(), data: "AAAA".to_owned(), path: None };
    let looking = launch_one_shot(&json!({}), false, AgentPrompt { images: vec![image], ..prompt() });
    let StdinMode::Text(line) = looking.input else { panic!("its input must end") };
    let message: Value = serde_json::from_str(&line).unwrap();
    assert_eq!(message["message"]["content"][1]["source"]["data"], "AAAA");
    assert!(looking.args.contains(&"--input-format=stream-json".to_owned()) && line.ends_with('\n'));

    let schema = switchboard_event::to_raw_json(&json!({ "type": "object" }));
    let shaped = launch_one_shot(&json!({}), false, AgentPrompt { output_schema: Some(schema), ..prompt() });
    assert!(shaped.args.contains(&"--json-schema={\"type\":\"object\"}".to_owned()));
}

#[test]
fn a_one_shot_cannot_ask_and_so_must_be_allowed() {
    let prompt = || AgentPrompt { text: "x".to_owned(), ..AgentPrompt::default() };
    let has = |launch: &AgentLaunch, arg: &str| launch.args.iter().any(|known| known.starts_with(arg));
    for mode in ["askDangerous", "autoEdit"] {
        let launch = launch_one_shot(&json!({ "approvalMode": mode }), false, prompt());
        assert!(has(&launch, "--allowedTools=Edit(./**)") && has(&launch, "--permission-mode=default"), "{mode}");
    }
    let all = json!({ "approvalMode": "autoAll" });
    let user = launch_one_shot(&all, false, prompt());
    assert!(has(&user, "--permission-mode=bypassPermissions") && user.weaker.is_empty());
    let root = launch_one_shot(&all, true, prompt());
    assert!(has(&root, "--permission-mode=default") && has(&root, "--allowedTools=Bash,") && root.weaker.len() == 1);
    let wish = LaunchFixture {
        one_shot: true,
        root: true,
        confined: true,
        prompt: prompt(),
        ..LaunchFixture::from_config(&all)
    };
    let confined = wish.launch(&AGENT).unwrap();
    assert!(has(&confined, "--permission-mode=bypassPermissions"));
    assert!(confined.env.contains(&("IS_SANDBOX".to_owned(), "1".to_owned())));
}

#[test]
fn rules_of_the_user_make_asking_weaker() {
    let machine =
        || FakeHost::default().with_file("~/.claude/settings.json", r#"{"permissions":{"allow":["Bash(ls *)"]}}"#);
    let weaker = |config: &Value| {
        LaunchFixture { machine: machine(), ..LaunchFixture::from_config(config) }.launch(&AGENT).unwrap().weaker
    };
    assert!(weaker(&json!({}))[0].contains("/home/user/.claude/settings.json"));
    assert!(weaker(&json!({ "approvalMode": "autoAll" })).is_empty());
}

#[test]
fn logged_in_or_not() {
    let yes = |machine: FakeHost, how: &str| match login_state(&machine) {
        Login::Yes(said) => assert!(said.contains(how), "{said}"),
        other => panic!("{other:?} is not {how}"),
    };
    yes(FakeHost::default().with_env("ANTHROPIC_API_KEY", "x"), "ANTHROPIC_API_KEY");
    yes(FakeHost::default().with_env("CLAUDE_CODE_OAUTH_TOKEN", "x"), "CLAUDE_CODE_OAUTH_TOKEN");
    yes(FakeHost::default().with_env("CLAUDE_CODE_USE_BEDROCK", "1"), "Bedrock");
    let token = r#"{"claudeAiOauth":{"accessToken":"x","refreshToken":"y"}}"#;
    yes(FakeHost::default().with_file("~/.claude/.credentials.json", token), ".credentials.json");
    let moved = FakeHost::default().with_env("CLAUDE_CONFIG_DIR", "/elsewhere");
    yes(moved.with_file("/elsewhere/.credentials.json", token), ".credentials.json");
    yes(FakeHost::default().with_file("~/.claude.json", r#"{"primaryApiKey":"x"}"#), "console");
    yes(FakeHost::default().with_file("~/.claude/settings.json", r#"{"apiKeyHelper":"/bin/key"}"#), "apiKeyHelper");
    for nothing in [FakeHost::default(), FakeHost::default().with_env("CLAUDE_CODE_USE_VERTEX", "0")] {
        assert!(matches!(login_state(&nothing), Login::No(hint) if hint.contains("/login")));
    }
}

#[test]
fn its_own_files_are_understood() {
    let machine = FakeHost::default()
        .with_file(
            "~/.claude/settings.json",
            r#"{"model":"opus","env":{"A":"secret"},"sandbox":{"enabled":true},
            "permissions":{"defaultMode":"acceptEdits","allow":["Bash(ls *)"],"deny":["WebFetch"],"ask":["Edit"]}}"#,
        )
        .with_file(
            "~/.claude.json",
            r#"{"mcpServers":{"a":{"command":"a-server"}},
            "projects":{"/home/user/project":{"mcpServers":{"b":{"type":"http","url":"https://b"}}},"/other":{}}}"#,
        )
        .with_file("/home/user/project/.mcp.json", r#"{"mcpServers":{"c":{"type":"sse","url":"https://c"},"d":7}}"#)
        .with_file("/home/user/project/.claude/settings.json", r#"{"permissions":{"defaultMode":"plan"}}"#)
        .with_file("/home/user/project/.claude/settings.local.json", "not json");
    let found = settings::read_config(&machine, Path::new("/home/user/project"));
    let told: Vec<_> = found
        .iter()
        .map(|found| {
            let config = serde_json::to_value(&found.config).unwrap();
            json!([found.file, config, found.remarks])
        })
        .collect();
    assert_eq!(
        json!(told),
        json!([
            ["/home/user/.claude.json", { "mcpServers": { "a": { "command": "a-server" },
                "b": { "type": "http", "url": "https://b" } } }, []],
            ["/home/user/project/.mcp.json", { "mcpServers": { "c": { "type": "sse", "url": "https://c" } } }, []],
            ["/home/user/.claude/settings.json", { "model": "opus", "approvalMode": "autoEdit",
                "allowedTools": ["Bash(ls *)"], "blockedTools": ["WebFetch"] }, [
                "acceptEdits also moves and deletes files in the folder without asking",
                "Claude Code's own sandbox is on; it is off in a sandbox of ours",
                "has no word here: env",
                "has no word here: permissions.ask"]],
            ["/home/user/project/.claude/settings.json", {}, ["the mode `plan` has no word here; set it in the session"]],
            ["/home/user/project/.claude/settings.local.json", {},
                ["this is no JSON object, and Claude Code ignores it"]],
        ])
    );
}

#[test]
fn a_proxy_of_its_settings_does_not_replace_that_of_the_sandbox() {
    let proxy_env = vec![("HTTPS_PROXY".to_owned(), "http://127.0.0.1:3128".to_owned())];
    let launch = |path: &str, variable: &str, proxy_env: &[(String, String)]| {
        let text = format!(r#"{{"env":{{"{variable}":"http://outside:1"}}}}"#);
        let machine = FakeHost::default().with_file(path, &text);
        let fixture =
            LaunchFixture { confined: true, proxy_env: proxy_env.to_vec(), machine, ..LaunchFixture::default() };
        fixture.launch(&AGENT).unwrap()
    };
    for path in ["~/.claude/settings.json", "~/project/.claude/settings.json"] {
        for variable in ["HTTPS_PROXY", "http_proxy"] {
            let launch = launch(path, variable, &proxy_env);
            assert_eq!(launch_file(&launch, "settings.json")["env"], json!({ "HTTPS_PROXY": "http://127.0.0.1:3128" }));
            assert_eq!(launch.weaker, Vec::<String>::new());
        }
    }
    assert_eq!(
        launch_file(&launch("~/.claude/settings.json", "OTHER", &proxy_env), "settings.json")["env"],
        json!(null)
    );
    assert_eq!(
        launch_file(&launch("~/.claude/settings.json", "HTTPS_PROXY", &[]), "settings.json")["env"],
        json!(null)
    );
    let managed = launch("/etc/claude-code/managed-settings.json", "HTTPS_PROXY", &proxy_env);
    assert!(
        managed.weaker.iter().any(|text| text.contains("managed-settings.json sets a proxy")),
        "{:?}",
        managed.weaker
    );
}
