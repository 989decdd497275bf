//! The launch of Claude Code: its login state, and flags, environment and files from the settings of a session.

use std::path::Path;

use serde_json::{Value, json};
use switchboard_event::{ApprovalMode, SandboxMode};

use super::{
    driver::{
        ClaudeDriver, {self},
    },
    offers, rules, settings,
};
use crate::{
    Abilities, Agent, AgentEndpoint, AgentLaunch, HostAccess, JsonView, LaunchRequest, Login, StateDirectory,
    StdinMode, UnsupportedOperation, Versions, WhileRunning,
    launch::{bedrock_endpoints, is_host_label, public_endpoints, vertex_endpoints},
};

/// Variables that an outer Claude Code sets for its commands. They describe the outer session. `CLAUDECODE` makes
/// versions before 2.1.97 refuse to start; `CLAUDE_CODE_CHILD_SESSION` can keep a session from being written to disk.
const OUTER_SESSION_VARIABLES: &[&str] = &[
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SESSION_ID",
    "CLAUDE_CODE_CHILD_SESSION",
    "CLAUDE_CODE_EXECPATH",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_EFFORT",
    "CLAUDE_PROJECT_DIR",
    "AI_AGENT",
];

/// Variables that redirect Claude Code to another server.
const BASE_URL_VARIABLES: &[&str] =
    &["ANTHROPIC_BASE_URL", "ANTHROPIC_BEDROCK_BASE_URL", "ANTHROPIC_VERTEX_BASE_URL", "ANTHROPIC_FOUNDRY_BASE_URL"];

/// Providers other than Anthropic, by the variable that selects them.
const PROVIDER_VARIABLES: &[(&str, &str)] = &[
    ("CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"),
];

/// Variables that hold a key or a token, in order of precedence.
const API_KEY_VARIABLES: &[&str] = &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

pub const AGENT: Agent = Agent {
    name: "claude",
    title: "Claude Code",
    provider: "anthropic",
    program: Some("claude"),
    install: Some("npm install -g @anthropic-ai/claude-code"),
    versions: Some(Versions { args: &["--version"], oldest: "2.1.0", tested: "2.1.326" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: true,
        questions: true,
        interrupt: true,
        while_running: WhileRunning::Steer,
        resume: true,
        fork: true,
        set_model: true,
        set_mode: true,
        images: true,
        mcp: true,
        output_schema: true,
        one_shot: true,
        detailed_one_shot: false,
    },
    launch,
    login: login_state,
    config: settings::read_config,
    endpoints,
    protected_paths: &[
        ".claude/settings*.json",
        ".claude/hooks/**",
        ".claude/commands/**",
        ".claude/agents/**",
        ".claude/skills/**",
        ".claude/plugins/**",
        ".claude/output-styles/**",
        ".claude/workflows/**",
        ".claude/launch.json",
        ".claude-plugin/**",
        "~/.claude.json",
        "/etc/claude-code/**",
    ],
};

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    check_request(order)?;
    let mut launch = AgentLaunch {
        program: "claude".to_owned(),
        env: launch_env(order),
        unset: OUTER_SESSION_VARIABLES.to_vec(),
        source: "claude",
        state: vec![state_directory(order.host)],
        weaker: weaker_guarantees(order),
        counts_turns: true,
        ..AgentLaunch::default()
    };
    configure_io(order, &mut launch);
    launch.args.extend(session_args(order));
    launch.args.extend(rules::tool_flags(order));
    for (flag, name, content) in [
        ("--mcp-config", "mcp.json", rules::mcp_config_file(order)),
        ("--settings", "settings.json", rules::session_settings(order)),
    ] {
        if let Some(content) = content {
            let path = order.private.join(name);
            launch.args.push(format!("{flag}={}", path.display()));
            launch.files.push((path, content.to_string()));
        }
    }
    Ok(launch)
}

/// Shell snapshots and hooks run later, so only transcripts, their companions and the login are kept. `~/.claude.json`
/// lies outside and is read-only, which Claude Code 2.1.197 and 2.1.326 tolerate.
pub fn state_directory(host: &dyn HostAccess) -> StateDirectory {
    StateDirectory {
        path: settings::config_directory(host),
        kept_directories: &["projects", "todos", "tasks", "plans", "file-history"],
        kept_files: &[".credentials.json"],
    }
}

/// The API, and the logins of Claude accounts and of the console. Variables may also be set in the user's settings.
pub fn endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let mut endpoints = public_endpoints(&[
        "api.anthropic.com",
        "claude.ai",
        "platform.claude.com",
        "console.anthropic.com",
        "mcp-proxy.anthropic.com",
    ]);
    // A base URL of the environment also counts: other versions may give it precedence.
    endpoints.extend(AgentEndpoint::from_env(host, BASE_URL_VARIABLES));
    let host = &settings::HostWithUserSettings::new(host);
    endpoints.extend(AgentEndpoint::from_env(host, BASE_URL_VARIABLES));
    if is_provider_enabled(host, "CLAUDE_CODE_USE_BEDROCK") {
        endpoints.extend(bedrock_endpoints(host));
    }
    if is_provider_enabled(host, "CLAUDE_CODE_USE_VERTEX") {
        endpoints.extend(vertex_endpoints(host, &["CLOUD_ML_REGION"]));
    }
    if is_provider_enabled(host, "CLAUDE_CODE_USE_FOUNDRY") {
        endpoints.extend(foundry_endpoints(host));
    }
    endpoints
}

fn is_provider_enabled(host: &dyn HostAccess, variable: &str) -> bool {
    host.env_var(variable).is_some_and(|value| is_yes(&value))
}

/// Microsoft Foundry's server for a resource, and the login of Entra ID.
fn foundry_endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let resource = host.env_var("ANTHROPIC_FOUNDRY_RESOURCE").map(|name| name.to_ascii_lowercase());
    let resource = resource.filter(|name| is_host_label(name)).map(|name| format!("{name}.services.ai.azure.com"));
    let login = "login.microsoftonline.com";
    resource.as_deref().into_iter().chain([login]).map(AgentEndpoint::public_https).collect()
}

fn check_request(order: &LaunchRequest<'_>) -> Result<(), UnsupportedOperation> {
    // Claude Code 2.1.197 takes 0 for no limit.
    if order.config.max_turns == Some(0) {
        return Err(
            UnsupportedOperation::new("Claude Code cannot take 0 turns").with_hint("leave maxTurns out for no limit")
        );
    }
    if order.one_shot && order.prompt.text.trim().is_empty() && order.prompt.images.is_empty() {
        return Err(UnsupportedOperation::new("Claude Code needs a prompt to run once"));
    }
    settings::check_hooks(order.host, order.cwd)?;
    rules::check_servers(order.config)
}

/// Configures input and output. In two-way mode everything goes through standard input, including the prompt: many
/// flags would swallow a prompt that follows them. In a one-shot, the prompt is the whole input, which is then closed:
/// Claude Code waits three seconds for an open one.
fn configure_io(order: &LaunchRequest<'_>, launch: &mut AgentLaunch) {
    let schema = order.prompt.output_schema.clone();
    let mut args = vec!["-p", "--output-format=stream-json", "--verbose", "--include-partial-messages"];
    if order.one_shot {
        if order.prompt.images.is_empty() {
            launch.input = StdinMode::Text(order.prompt.text.clone());
        } else {
            args.push("--input-format=stream-json");
            launch.input = StdinMode::Text(driver::prompt_message(order.prompt, None).to_string() + "\n");
        }
    } else {
        args.extend(["--input-format=stream-json", "--permission-prompt-tool=stdio"]);
        launch.driver = Some(Box::new(ClaudeDriver::new(order)));
    }
    launch.args.extend(args.into_iter().map(str::to_owned));
    // In two-way mode the schema is part of the handshake, where its length is not limited.
    launch.args.extend(schema.filter(|_| order.one_shot).map(|schema| format!("--json-schema={}", schema.get())));
}

fn session_args(order: &LaunchRequest<'_>) -> Vec<String> {
    let mut args = vec![format!("--permission-mode={}", rules::permission_mode(order))];
    args.extend(initial_model(order).map(|model| format!("--model={model}")));
    args.extend(thinking_args(order));
    args.extend(order.config.max_turns.map(|turns| format!("--max-turns={turns}")));
    if let Some(resume) = order.resume {
        args.push(format!("--resume={}", resume.session));
        args.extend(resume.fork.then(|| "--fork-session".to_owned()));
    }
    args.extend(debug_arg(order));
    args
}

pub fn initial_model(order: &LaunchRequest<'_>) -> Option<String> {
    order.config.model.clone().or_else(|| order.host.env_var("CLAUDE_MODEL"))
}

/// In two-way mode these options are set after the start, where unsupported values can be reported.
fn thinking_args(order: &LaunchRequest<'_>) -> Vec<String> {
    let chosen = |id| order.config.options.get(id).filter(|value| order.one_shot && *value != offers::DEFAULT);
    let effort = chosen(offers::EFFORT_OPTION_ID).map(|effort| format!("--effort={effort}"));
    let budget = chosen(offers::THINKING_BUDGET_OPTION_ID).map(|tokens| format!("--max-thinking-tokens={tokens}"));
    effort.into_iter().chain(budget).collect()
}

/// `CLAUDE_DEBUG` is a variable of Switchboard: a boolean or a filter. ClaudeDriver Code writes to `debug/` in its directory.
fn debug_arg(order: &LaunchRequest<'_>) -> Option<String> {
    match order.host.env_var("CLAUDE_DEBUG")?.as_str() {
        "" | "0" | "false" => None,
        "1" | "true" => Some("--debug".to_owned()),
        filter => Some(format!("--debug={filter}")),
    }
}

fn launch_env(order: &LaunchRequest<'_>) -> Vec<(String, String)> {
    let mut env = vec![("CLAUDE_CODE_EMIT_SESSION_STATE_EVENTS".to_owned(), "1".to_owned())];
    if order.confined {
        // The output of its commands goes to `claude-UID` in this directory; no other place is writable.
        env.push(("CLAUDE_CODE_TMPDIR".to_owned(), order.private.display().to_string()));
    }
    if rules::permission_mode(order) == "bypassPermissions" && order.root {
        // As root, Claude Code accepts this mode only in a sandbox, and there is one.
        env.push(("IS_SANDBOX".to_owned(), "1".to_owned()));
    }
    env
}

fn weaker_guarantees(order: &LaunchRequest<'_>) -> Vec<String> {
    let mut weaker = Vec::new();
    if !order.proxy_env.is_empty()
        && let Some(file) =
            settings::files_with_proxy(order.host, order.cwd).iter().find(|file| settings::is_managed(file))
    {
        let file = file.display();
        weaker
            .push(format!("{file} sets a proxy, so Claude Code does not use that of the sandbox and reaches no host"));
    }
    let asks = rules::approval_mode(order) != ApprovalMode::AutoAll;
    let allowing = settings::files_with_allow_rules(order.host, order.cwd);
    if asks && !allowing.is_empty() {
        weaker.push(format!("rules of the user let Claude Code do more without asking: {}", allowing.join(", ")));
    }
    if order.one_shot && asks {
        weaker.push("a one-shot run cannot ask: Claude Code declines calls that need an approval".to_owned());
    } else if order.one_shot && rules::permission_mode(order) != "bypassPermissions" {
        weaker
            .push("as root, Claude Code does in a one-shot only what its usual tools do, and declines the rest".into());
    }
    weaker
}

/// Turns off Claude Code's own sandbox inside Switchboard's, and where the user wants none.
pub fn sandbox_override(order: &LaunchRequest<'_>) -> Option<Value> {
    let off = order.confined || order.config.sandbox_mode == Some(SandboxMode::FullAccess);
    off.then(|| json!({ "enabled": false }))
}

pub fn login_state(host: &dyn HostAccess) -> Login {
    let provider =
        PROVIDER_VARIABLES.iter().find(|(name, _)| host.env_var(name).is_some_and(|to_value| is_yes(&to_value)));
    if let Some((name, provider)) = provider {
        return Login::Yes(format!("{provider} ({name})"));
    }
    if let Some(name) = API_KEY_VARIABLES.iter().find(|name| host.env_var(name).is_some_and(|value| !value.is_empty()))
    {
        return Login::Yes((*name).to_owned());
    }
    login_from_files(host).map_or_else(
        || Login::No("run `claude` and type /login, or set ANTHROPIC_API_KEY".to_owned()),
        |how| Login::Yes(how.to_owned()),
    )
}

fn is_yes(value: &str) -> bool {
    !matches!(value.to_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

fn login_from_files(host: &dyn HostAccess) -> Option<&'static str> {
    let (folder, state) = (settings::config_directory(host), settings::state_file_path(host));
    if has_non_empty_field(host, &folder.join(".credentials.json"), "claudeAiOauth", "accessToken") {
        return Some("a Claude account (.credentials.json)");
    }
    if has_non_empty_field(host, &folder.join("settings.json"), "", "apiKeyHelper") {
        return Some("apiKeyHelper (settings.json)");
    }
    if has_non_empty_field(host, &state, "", "primaryApiKey") {
        return Some("a key of the Anthropic console (.claude.json)");
    }
    // On macOS the token itself is in the keychain.
    has_non_empty_field(host, &state, "oauthAccount", "accountUuid").then_some("a Claude account (.claude.json)")
}

/// Returns whether a file, or one of its objects, has a non-empty field.
fn has_non_empty_field(host: &dyn HostAccess, file: &Path, object: &str, key: &str) -> bool {
    let text = host.read_file(file).unwrap_or_default();
    let fields = JsonView::parse(&text).map(JsonView::as_object).unwrap_or_default();
    let fields = if object.is_empty() { fields } else { fields.get_object(object) };
    fields.get_non_empty(key).is_some()
}
