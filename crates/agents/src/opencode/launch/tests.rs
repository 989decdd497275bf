//! Launches with various settings.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, to_raw_json};

use super::{
    AGENT, ModelName, model,
    rules::{self, RulesByPermission},
};
use crate::{
    AgentConfigFile, AgentLaunch, AgentPrompt, JsonView, Login, PromptImage, StdinMode,
    driver_tests::{FakeHost, LaunchFixture},
};

fn launch(config: &Value) -> AgentLaunch {
    LaunchFixture::from_config(config).launch(&AGENT).unwrap()
}

fn env<'a>(launch: &'a AgentLaunch, name: &str) -> Option<&'a str> {
    launch.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str())
}

fn parsed(launch: &AgentLaunch, name: &str) -> Value {
    serde_json::from_str(env(launch, name).unwrap()).unwrap()
}

#[test]
fn a_server_of_its_own_with_a_password_that_is_no_argument() {
    let launch = launch(&json!({}));
    assert_eq!(launch.args, ["serve", "--port", "0", "--hostname", "127.0.0.1"]);
    assert_eq!((launch.source, launch.input), ("opencode", StdinMode::Closed));
    let env = |name| launch.env.iter().find(|(key, _)| key == name).map(|(_, value)| value.as_str());
    assert_eq!(env("OPENCODE_SERVER_PASSWORD"), Some("0123456789abcdef"));
    assert_eq!(env("OPENCODE_SERVER_USERNAME"), Some("opencode"));
    assert_eq!(env("PWD"), Some("/home/user/project"));
}

#[test]
fn its_folders_can_be_written() {
    let plain = launch(&json!({}));
    assert_eq!(plain.writable, [Path::new("/home/user/.local/share/opencode")]);
    let discarded: Vec<_> = plain.state.iter().map(|state| state.path.as_path()).collect();
    for directory in [".local/share/opencode/snapshot", ".cache/opencode", ".config/opencode"] {
        assert!(discarded.contains(&Path::new("/home/user").join(directory).as_path()), "{directory}");
    }
    assert!(plain.state.iter().all(|state| state.kept_directories.is_empty() && state.kept_files.is_empty()));
    let machine = FakeHost::default().with_env("XDG_DATA_HOME", "/data");
    let wish = LaunchFixture { machine, ..LaunchFixture::default() };
    assert_eq!(wish.launch(&AGENT).unwrap().writable.first(), Some(&PathBuf::from("/data/opencode")));
}

#[test]
fn a_model_has_a_provider() {
    let check = |text, provider: &str, name: &str| {
        assert_eq!(model(text), Ok(ModelName { provider: provider.to_owned(), name: name.to_owned() }));
    };
    check("openai/gpt-5", "openai", "gpt-5");
    check("openrouter/meta/llama", "openrouter", "meta/llama");
    for bad in ["sonnet", "/x", "x/", ""] {
        assert!(model(bad).unwrap_err().hint.unwrap().contains("opencode models"), "{bad}");
    }
    assert!(LaunchFixture::from_config(&json!({ "model": "sonnet" })).launch(&AGENT).is_err());
}

/// Returns OpenCode's decision about a call, given the rules in a variable. The last matching rule decides.
fn decided(rules: &str, permission: &str, pattern: &str) -> Option<String> {
    let tools = JsonView::parse(rules).unwrap().as_object();
    let mut action = None;
    for (tool, patterns) in tools.iter().filter(|(tool, _)| fits(tool, permission)) {
        let fitting =
            patterns.as_object().iter().filter(|(p, _)| fits(p, pattern)).last().and_then(|(_, a)| a.as_str());
        action = fitting.or_else(|| patterns.as_str()).map(|action| action.into_owned()).or(action);
        assert!(!tool.is_empty());
    }
    action
}

/// Matches OpenCode's wildcards: `*` any characters, `?` one character.
fn fits(pattern: &str, text: &str) -> bool {
    let mut letters = pattern.chars();
    match letters.next() {
        None => text.is_empty(),
        Some('*') => text
            .char_indices()
            .map(|(at, _)| at)
            .chain([text.len()])
            .any(|at| text.get(at..).is_some_and(|rest| fits(letters.as_str(), rest))),
        Some(c) => {
            let mut rest = text.chars();
            rest.next().is_some_and(|t| c == '?' || c == t) && fits(letters.as_str(), rest.as_str())
        }
    }
}

/// Checks the decisions about calls in every agent of OpenCode, independent of the user's own rules.
fn check(wish: &LaunchFixture, expected: &[(&str, &str, &str)]) {
    let launch = wish.launch(&AGENT).unwrap();
    let rules = env(&launch, "OPENCODE_PERMISSION").unwrap_or("{}");
    for (permission, pattern, action) in expected {
        assert_eq!(decided(rules, permission, pattern).as_deref().unwrap_or("own"), *action, "{permission} {pattern}");
    }
}

#[test]
fn everything_is_asked_but_looking() {
    let wish = LaunchFixture::from_config(&json!({}));
    let expected = [
        ("bash", "ls", "ask"),
        ("edit", "a.rs", "ask"),
        ("webfetch", "https://a", "ask"),
        ("task", "general", "ask"),
        ("docs_search", "*", "ask"),
        ("custom", "*", "ask"),
        ("external_directory", "/etc/*", "ask"),
        ("external_directory", "/home/user/.local/share/opencode/tool-output/x", "allow"),
        ("doom_loop", "bash", "ask"),
        ("read", "src/a.rs", "allow"),
        ("read", "a/.env", "ask"),
        ("read", ".env.example", "allow"),
        ("grep", "x", "allow"),
        ("todowrite", "*", "allow"),
        ("question", "*", "allow"),
    ];
    check(&wish, &expected);
    for mode in ["askDangerous", "autoEdit"] {
        check(&LaunchFixture::from_config(&json!({ "approvalMode": mode })), &expected);
    }
    check(
        &LaunchFixture::from_config(&json!({ "approvalMode": "autoAll" })),
        &[("bash", "ls", "own"), ("read", ".env", "own")],
    );
}

#[test]
fn the_users_own_rules_come_before() {
    let mut wish = LaunchFixture::from_config(&json!({ "blockedTools": ["web"] }));
    let own = r#"{"bash":"allow","webfetch":"allow","*":"allow","mine_*":{"*":"allow"}}"#;
    wish.machine = FakeHost::default().with_env("OPENCODE_PERMISSION", own);
    check(&wish, &[("bash", "ls", "ask"), ("mine_tool", "*", "ask"), ("webfetch", "https://a", "deny")]);
    let launch = wish.launch(&AGENT).unwrap();
    assert!(
        env(&launch, "OPENCODE_PERMISSION").unwrap().starts_with(r#"{"bash":"allow","webfetch":"allow","*":"allow""#)
    );
    wish.machine = FakeHost::default().with_env("OPENCODE_PERMISSION", "no JSON");
    assert_eq!(wish.launch(&AGENT).unwrap().weaker, ["OPENCODE_PERMISSION is not JSON, so it is left out"]);
}

#[test]
fn what_is_blocked_never_runs() {
    for mode in ["ask", "autoAll"] {
        let blocked =
            |tools: Value| LaunchFixture::from_config(&json!({ "approvalMode": mode, "blockedTools": tools }));
        check(&blocked(json!(["Command"])), &[("bash", "ls", "deny")]);
        check(&blocked(json!(["write"])), &[("edit", "a", "deny")]);
        check(&blocked(json!(["read"])), &[("read", "a", "deny"), ("grep", "a", "deny"), ("glob", "a", "deny")]);
        check(&blocked(json!(["web", "custom"])), &[("websearch", "a", "deny"), ("custom", "*", "deny")]);
        check(
            &blocked(json!(["mcp"])),
            &[("docs_search", "*", "deny"), ("external_directory", "/etc/*", "ask"), ("doom_loop", "bash", "ask")],
        );
    }
}

#[test]
fn servers_may_be_trusted_and_have_fewer_tools() {
    let server = |more: Value| {
        let mut server = json!({ "command": "docs" });
        server.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        LaunchFixture::from_config(&json!({ "mcpServers": { "my.docs": server } }))
    };
    check(&server(json!({ "trust": true })), &[("my_docs_search", "*", "allow"), ("other_search", "*", "ask")]);
    let only = server(json!({ "includeTools": ["search"] }));
    check(&only, &[("my_docs_search", "*", "ask"), ("my_docs_delete", "*", "deny")]);
    let but = server(json!({ "trust": true, "excludeTools": ["delete it"] }));
    check(&but, &[("my_docs_search", "*", "allow"), ("my_docs_delete_it", "*", "deny")]);
}

#[test]
fn servers_are_configured_without_their_secrets() {
    let launch = launch(&json!({ "mcpServers": {
        "docs": { "command": "docs", "args": ["--all"], "env": { "TOKEN": "s3cret" } },
        "far": { "url": "https://far", "headers": { "Authorization": "Bearer s3cret" } },
    }}));
    let content = parsed(&launch, "OPENCODE_CONFIG_CONTENT");
    assert_eq!(content["mcp"]["docs"]["command"], json!(["docs", "--all"]));
    assert_eq!(content["mcp"]["docs"]["environment"]["TOKEN"], "{file:/tmp/private/opencode-secret-0}");
    assert_eq!(content["mcp"]["docs"]["environment"]["OPENCODE_SERVER_PASSWORD"], "");
    assert_eq!(content["mcp"]["far"]["headers"]["Authorization"], "{file:/tmp/private/opencode-secret-1}");
    assert_eq!(launch.files.first(), Some(&(PathBuf::from("/tmp/private/opencode-secret-0"), "s3cret".to_owned())));
    assert!(launch.env.iter().all(|(_, value)| !value.contains("s3cret")));
    assert!(LaunchFixture::from_config(&json!({ "mcpServers": { "none": {} } })).launch(&AGENT).is_err());
}

#[test]
fn a_refusal_does_not_end_the_turn_and_the_users_content_is_kept() {
    let machine =
        FakeHost::default().with_env("OPENCODE_CONFIG_CONTENT", r#"{"model":"a/b",/* why */"experimental":{"x":1}}"#);
    let wish = LaunchFixture { machine, ..LaunchFixture::default() };
    let content = parsed(&wish.launch(&AGENT).unwrap(), "OPENCODE_CONFIG_CONTENT");
    assert_eq!(content["experimental"], json!({ "x": 1, "continue_loop_on_deny": true }));
    assert_eq!(content["model"], "a/b");
}

#[test]
fn the_subagent_that_only_looks_still_does() {
    let launch = launch(&json!({ "blockedTools": ["web"] }));
    let content = JsonView::parse(env(&launch, "OPENCODE_CONFIG_CONTENT").unwrap()).unwrap().as_object();
    let rules = content.get_object("agent").get_object("explore").get_raw("permission").unwrap();
    for (permission, action) in
        [("edit", "deny"), ("task", "deny"), ("grep", "allow"), ("bash", "ask"), ("webfetch", "deny")]
    {
        assert_eq!(decided(rules.get(), permission, "x").as_deref(), Some(action), "{permission}");
    }
}

#[test]
fn a_mode_keeps_what_it_forbids() {
    let agents = r#"[
        {"name":"build","mode":"primary","permission":[
            {"permission":"*","pattern":"*","action":"allow"},
            {"permission":"question","pattern":"*","action":"deny"},
            {"permission":"question","pattern":"*","action":"allow"},
            {"permission":"bash","pattern":"rm *","action":"deny"}]},
        {"name":"plan","mode":"primary","permission":[
            {"permission":"edit","pattern":"*","action":"deny"},
            {"permission":"edit","pattern":"plans/*.md","action":"allow"},
            {"permission":"**","pattern":"*","action":"ask"}]}]"#;
    let check = |name, expected: &str| {
        let rules = rules::restrictions(JsonView::parse(agents).unwrap(), name);
        assert_eq!(to_raw_json(&RulesByPermission(&rules)).get(), expected);
    };
    let build = r#"{"questio?":{"*":"allow"},"bas?":{"rm *":"deny"}}"#;
    check(None, build);
    check(Some("build"), build);
    check(Some("plan"), r#"{"edi?":{"*":"deny","plans/*.md":"allow"}}"#);
    check(Some("none"), "{}");
}

#[test]
fn one_prompt_goes_through_the_standard_input() {
    let mut wish = LaunchFixture::from_config(&json!({ "model": "a/b", "approvalMode": "autoAll" }));
    wish.one_shot = true;
    wish.prompt = AgentPrompt { text: "two words".to_owned(), ..AgentPrompt::default() };
    wish.resume = Some(("ses_1", true));
    let launch = wish.launch(&AGENT).unwrap();
    let expected = "run --format json --thinking --auto --model a/b --session ses_1 --fork";
    assert_eq!(launch.args.join(" "), expected);
    assert_eq!((launch.source, launch.input), ("opencode:run", StdinMode::Text("two words".to_owned())));
    assert!(launch.driver.is_none());
}

#[test]
fn where_nobody_can_be_asked_what_is_allowed_is_allowed_beforehand() {
    let once = |config: Value| LaunchFixture { one_shot: true, ..LaunchFixture::from_config(&config) };
    check(&once(json!({ "approvalMode": "ask" })), &[("edit", "a", "ask"), ("bash", "ls", "ask")]);
    check(&once(json!({ "approvalMode": "autoEdit" })), &[("edit", "a", "allow"), ("bash", "ls", "ask")]);
    check(&once(json!({ "allowedTools": ["command"] })), &[("edit", "a", "ask"), ("bash", "ls", "allow")]);
    check(&once(json!({ "allowedTools": ["command"], "blockedTools": ["bash"] })), &[("bash", "ls", "deny")]);
    let weaker = once(json!({ "approvalMode": "askDangerous" })).launch(&AGENT).unwrap().weaker;
    assert!(weaker[0].contains("refused"), "{weaker:?}");
}

#[test]
fn one_prompt_cannot_have_everything() {
    let once = |prompt| LaunchFixture { one_shot: true, prompt, ..LaunchFixture::default() }.launch(&AGENT);
    let schema = AgentPrompt { output_schema: Some(to_raw_json(&json!({}))), ..AgentPrompt::default() };
    assert!(once(schema).is_err());
    let image = |path: Option<&str>| AgentPrompt {
        images: vec![PromptImage { path: path.map(PathBuf::from), ..PromptImage::default() }],
        ..AgentPrompt::default()
    };
    assert!(once(image(None)).is_err());
    assert!(once(image(Some("/a.png"))).unwrap().args.join(" ").ends_with("--file /a.png"));
}

#[test]
fn a_login_is_found_where_it_is() {
    let check = |machine: FakeHost, expected: Login| assert_eq!((AGENT.login)(&machine), expected);
    let none = || FakeHost::default();
    check(none(), Login::No("opencode auth login".to_owned()));
    check(none().with_env("OPENAI_API_KEY", "k"), Login::Yes("OPENAI_API_KEY".to_owned()));
    let auth = none().with_file("~/.local/share/opencode/auth.json", r#"{"anthropic":{"type":"oauth"}}"#);
    check(auth, Login::Yes("logged in to anthropic".to_owned()));
    let own =
        none().with_file("~/.config/opencode/opencode.jsonc", r#"{"provider":{"x":{"options":{"apiKey":"k"}}},}"#);
    check(own, Login::Yes("a key for x in the configuration".to_owned()));
    check(none().with_file("~/.local/share/opencode/auth.json", "{}"), Login::No("opencode auth login".to_owned()));
}

fn found(machine: &FakeHost) -> Vec<AgentConfigFile> {
    (AGENT.config)(machine, Path::new("/home/user/project/sub"))
}

#[test]
fn its_own_files_are_read_as_settings() {
    let machine = FakeHost::default()
        .with_file(
            "~/.config/opencode/opencode.json",
            r#"{"model":"a/b","permission":{"bash":"ask","webfetch":"deny"}}"#,
        )
        .with_file("/home/user/project/.git", "")
        .with_file(
            "/home/user/project/opencode.jsonc",
            r#"{"tools":{"write":false,"read":true},"theme":"dark", // why
            "mcp":{"d":{"type":"local","command":["docs","-x"],"environment":{"A":"b"}},"off":{"enabled":false}}}"#,
        )
        .with_file("/home/user/project/.opencode/opencode.json", r#"{"permission":{"bash":{"*":"ask"},"edit":"ask"}}"#)
        .with_file("/home/user/opencode.json", r#"{"model":"not/this"}"#);
    let found = found(&machine);
    let files: Vec<_> = found.iter().map(|found| found.file.display().to_string()).collect();
    assert_eq!(
        files,
        [
            "/home/user/.config/opencode/opencode.json",
            "/home/user/project/opencode.jsonc",
            "/home/user/project/.opencode/opencode.json",
        ]
    );
    let [global, project, hidden] = found.as_slice() else { panic!("{files:?}") };
    assert_eq!(global.config.model.as_deref(), Some("a/b"));
    assert_eq!(global.config.approval_mode, Some(ApprovalMode::AutoEdit));
    assert_eq!(global.config.blocked_tools, Some(vec!["webfetch".to_owned()]));
    assert_eq!(project.config.blocked_tools, Some(vec!["write".to_owned()]));
    let server = &project.config.mcp_servers["d"];
    assert_eq!((server.command.as_deref(), server.args.as_slice()), (Some("docs"), ["-x".to_owned()].as_slice()));
    assert_eq!(project.remarks, ["`theme` has no setting here", "the MCP server `off` is switched off"]);
    assert_eq!(hidden.config.approval_mode, Some(ApprovalMode::Ask));
    assert_eq!(hidden.remarks, ["`permission.bash` has patterns, which have no setting here"]);
}

#[test]
fn a_file_that_cannot_be_read_is_said() {
    let machine = FakeHost::default().with_file("~/.config/opencode/config.json", "{");
    assert_eq!(found(&machine)[0].remarks, ["not JSON, so nothing was read"]);
}
