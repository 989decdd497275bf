//! The servers that each agent may reach from a sandbox.

use crate::{AGENTS, AgentEndpoint, driver_tests::FakeHost, find_agent};

/// Returns the endpoints of an agent as `HOST:PORT`, sorted, with a star after those that the user has configured.
fn endpoints(agent: &str, host: &FakeHost) -> Vec<String> {
    let endpoints = (find_agent(agent).unwrap().endpoints)(host);
    let text = |endpoint: AgentEndpoint| {
        let mark = if endpoint.is_configured { "*" } else { "" };
        format!("{}:{}{mark}", endpoint.host, endpoint.port)
    };
    let mut texts: Vec<_> = endpoints.into_iter().map(text).collect();
    texts.sort();
    texts.dedup();
    texts
}

#[track_caller]
fn check_defaults(agent: &str, hosts: &[&str]) {
    let expected: Vec<_> = hosts.iter().map(|host| format!("{host}:443")).collect();
    assert_eq!(endpoints(agent, &FakeHost::default()), expected, "{agent}");
}

#[test]
fn each_agent_has_its_usual_servers() {
    let claude =
        ["api.anthropic.com", "claude.ai", "console.anthropic.com", "mcp-proxy.anthropic.com", "platform.claude.com"];
    let codex = ["api.openai.com", "auth.openai.com", "chatgpt.com"];
    check_defaults("claude", &claude);
    check_defaults("claude-acp", &claude);
    check_defaults("codex", &codex);
    check_defaults("codex-acp", &codex);
    #[rustfmt::skip]
    check_defaults("gemini", &[
        "accounts.google.com", "aiplatform.googleapis.com", "cloudcode-pa.googleapis.com",
        "generativelanguage.googleapis.com", "oauth2.googleapis.com", "sts.googleapis.com", "www.googleapis.com",
    ]);
    check_defaults("opencode", &["api.opencode.ai", "models.dev", "opencode.ai"]);
    #[rustfmt::skip]
    check_defaults("qwen", &[
        "chat.qwen.ai", "dashscope-intl.aliyuncs.com", "dashscope.aliyuncs.com", "portal.qwen.ai",
    ]);
    #[rustfmt::skip]
    check_defaults("copilot", &[
        "api.business.githubcopilot.com", "api.enterprise.githubcopilot.com", "api.github.com",
        "api.githubcopilot.com", "api.individual.githubcopilot.com", "github.com",
    ]);
    check_defaults("auggie", &["*.api.augmentcode.com", "auth.augmentcode.com"]);
    for agent in ["pi", "acp", "board", "echo", "script"] {
        check_defaults(agent, &[]);
    }
    assert_eq!(AGENTS.len(), 14, "a new agent needs a line above");
}

#[test]
fn base_urls_come_from_the_environment() {
    for (agent, variable) in [
        ("claude", "ANTHROPIC_BASE_URL"),
        ("claude", "ANTHROPIC_FOUNDRY_BASE_URL"),
        ("claude-acp", "ANTHROPIC_BASE_URL"),
        ("codex", "OPENAI_BASE_URL"),
        ("codex-acp", "CODEX_OSS_BASE_URL"),
        ("gemini", "GOOGLE_GEMINI_BASE_URL"),
        ("gemini", "CODE_ASSIST_ENDPOINT"),
        ("qwen", "DASHSCOPE_BASE_URL"),
        ("auggie", "AUGMENT_API_URL"),
    ] {
        let host = FakeHost::default().with_env(variable, "http://gateway.example:8080/v1");
        assert!(endpoints(agent, &host).contains(&"gateway.example:8080*".to_owned()), "{agent} {variable}");
    }
}

#[test]
fn base_urls_come_from_files_of_the_user_and_never_from_the_workspace() {
    let claude = r#"{"env":{"ANTHROPIC_BASE_URL":"https://gateway.example"}}"#;
    let codex = "openai_base_url = \"https://gateway.example\"\n";
    let provider = "[model_providers.x]\nbase_url = \"https://gateway.example/v1\"\n";
    let gemini = "export GOOGLE_GEMINI_BASE_URL=\"https://gateway.example\"\n";
    let opencode = r#"{"provider":{"x":{"options":{"baseURL":"https://gateway.example"}}}} // mine"#;
    for (agent, path, text) in [
        ("claude", "~/.claude/settings.json", claude),
        ("claude", "/etc/claude-code/managed-settings.json", claude),
        ("codex", "~/.codex/config.toml", codex),
        ("codex", "~/.codex/config.toml", provider),
        ("codex", "/etc/codex/config.toml", codex),
        ("gemini", "~/.gemini/.env", gemini),
        ("opencode", "~/.config/opencode/opencode.json", opencode),
        ("opencode", "~/.config/opencode/opencode.jsonc", opencode),
    ] {
        let host = FakeHost::default().with_file(path, text);
        assert!(endpoints(agent, &host).contains(&"gateway.example:443*".to_owned()), "{agent} {path}");
    }
    for (agent, path, text) in [
        ("claude", "~/project/.claude/settings.json", claude),
        ("claude", "~/project/.claude/settings.local.json", claude),
        ("codex", "~/project/.codex/config.toml", codex),
        ("gemini", "~/project/.gemini/.env", gemini),
        ("gemini", "~/project/.env", gemini),
        ("opencode", "~/project/opencode.json", opencode),
        ("opencode", "~/project/.opencode/opencode.json", opencode),
    ] {
        let host = FakeHost::default().with_file(path, text);
        assert_eq!(endpoints(agent, &host), endpoints(agent, &FakeHost::default()), "{agent} {path}");
    }
}

#[test]
fn claude_finds_its_providers_in_the_environment_and_in_its_settings() {
    for (variables, host) in [
        (
            &[("CLAUDE_CODE_USE_BEDROCK", "1"), ("AWS_REGION", "eu-west-1")][..],
            "bedrock-runtime.eu-west-1.amazonaws.com",
        ),
        (&[("CLAUDE_CODE_USE_VERTEX", "true"), ("CLOUD_ML_REGION", "us-east5")], "us-east5-aiplatform.googleapis.com"),
        (&[("CLAUDE_CODE_USE_FOUNDRY", "1"), ("ANTHROPIC_FOUNDRY_RESOURCE", "Corp-1")], "corp-1.services.ai.azure.com"),
    ] {
        let wanted = format!("{host}:443");
        let in_environment =
            variables.iter().fold(FakeHost::default(), |host, (name, value)| host.with_env(name, value));
        assert!(endpoints("claude", &in_environment).contains(&wanted), "{variables:?}");
        let env: serde_json::Map<_, _> =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).into())).collect();
        let settings = serde_json::json!({ "env": env }).to_string();
        let in_settings = FakeHost::default().with_file("~/.claude/settings.json", &settings);
        assert!(endpoints("claude", &in_settings).contains(&wanted), "{settings}");
        let off = variables.iter().skip(1).fold(FakeHost::default(), |host, (name, value)| host.with_env(name, value));
        assert!(!endpoints("claude", &off).contains(&wanted), "it is turned off: {variables:?}");
    }
    let odd = FakeHost::default()
        .with_env("CLAUDE_CODE_USE_FOUNDRY", "1")
        .with_env("ANTHROPIC_FOUNDRY_RESOURCE", "evil.example/");
    assert!(!endpoints("claude", &odd).iter().any(|host| host.contains("evil")));
}

#[test]
fn opencode_reaches_the_providers_with_a_login_or_a_key() {
    let login =
        FakeHost::default().with_file("~/.local/share/opencode/auth.json", r#"{"groq":{"type":"api","key":"x"}}"#);
    assert!(endpoints("opencode", &login).contains(&"api.groq.com:443".to_owned()));
    let key = FakeHost::default().with_env("OPENROUTER_API_KEY", "x");
    assert!(endpoints("opencode", &key).contains(&"openrouter.ai:443".to_owned()));
}
