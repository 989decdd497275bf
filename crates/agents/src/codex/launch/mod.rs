//! Launch of Codex: its description and login state, and the arguments and configuration for a session.

mod config_file;
mod exec;
mod rules;

#[cfg(test)]
mod tests;

use std::path::{Path, PathBuf};

use config_file::CodexConfigFile;
pub use config_file::codex_home;
use rules::CodexSessionRules;
use serde_json::{Map, Value, json};

use super::driver::{CodexDriver, ThreadOpening};
use crate::{
    Abilities, Agent, AgentEndpoint, AgentLaunch, HostAccess, JsonView, LaunchRequest, Login, StateDirectory,
    UnsupportedOperation, Versions, WhileRunning, launch::public_endpoints,
};

/// Variables that may hold a key, in order of precedence.
const CODEX_KEY_VARIABLE: &str = "CODEX_API_KEY";

const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

pub const AGENT: Agent = Agent {
    name: "codex",
    title: "Codex",
    provider: "openai",
    program: Some("codex"),
    install: Some("npm install -g @openai/codex"),
    versions: Some(Versions { args: &["--version"], oldest: "0.150.0", tested: "0.169.0" }),
    abilities: Abilities {
        streaming: true,
        reasoning: true,
        plans: true,
        approvals: true,
        changed_input: false,
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
    login: check_login,
    config: config_file::find_settings,
    endpoints,
    protected_paths: &[
        ".codex/config.toml",
        ".codex/*.config.toml",
        ".codex/hooks.json",
        ".codex/hooks/**",
        ".codex/rules/**",
        ".codex/prompts/**",
        ".codex/skills/**",
        ".codex/agents/**",
        ".codex/plugins/**",
        ".codex/environments/**",
        "/etc/codex/**",
    ],
};

/// The API, ChatGPT accounts and their login, and the providers of the user's configuration.
pub fn endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let mut endpoints = public_endpoints(&["api.openai.com", "chatgpt.com", "auth.openai.com"]);
    endpoints.extend(AgentEndpoint::from_env(host, &["OPENAI_BASE_URL", "CODEX_OSS_BASE_URL"]));
    let urls = config_file::read_machine_and_user_configs(host).into_iter().flat_map(|file| file.base_urls());
    endpoints.extend(urls.filter_map(|url| AgentEndpoint::from_configured_url(&url)));
    endpoints
}

fn launch(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    if let Some(resume) = order.resume {
        // `codex exec resume` with an unknown name silently starts a new thread (0.166).
        check_thread_id(resume.session)?;
    }
    let mut launch = if order.one_shot { exec::launch_exec(order)? } else { launch_app_server(order)? };
    launch.program = "codex".to_owned();
    launch.state = vec![state_directory(order.host)];
    if order.confined {
        // The databases only repeat the rollouts. A copy taken while another process writes may be corrupt.
        launch.env.push(("CODEX_SQLITE_HOME".to_owned(), order.private.display().to_string()));
    }
    Ok(launch)
}

/// Shell snapshots and the programs in `tmp` run later, so only threads, their locks and the login are kept.
pub fn state_directory(host: &dyn HostAccess) -> StateDirectory {
    StateDirectory {
        path: codex_home(host),
        kept_directories: &["sessions", "archived_sessions", "thread-writer-locks"],
        kept_files: &["auth.json"],
    }
}

fn check_thread_id(id: &str) -> Result<(), UnsupportedOperation> {
    let parts: Vec<_> = id.split('-').map(str::len).collect();
    let hex = id.chars().all(|c| c == '-' || c.is_ascii_hexdigit());
    if hex && parts == [8, 4, 4, 4, 12] {
        return Ok(());
    }
    Err(UnsupportedOperation::new(format!("`{id}` is not the id of a Codex thread"))
        .with_hint("a thread's id is a UUID"))
}

fn launch_app_server(order: &LaunchRequest<'_>) -> Result<AgentLaunch, UnsupportedOperation> {
    let rules = CodexSessionRules::from_order(order)?;
    let key = find_api_key(order.host);
    let mut args = Vec::new();
    if key.is_some() {
        // The key is given to the running server; this setting prevents it from being stored.
        args.extend(["-c".to_owned(), "cli_auth_credentials_store=\"ephemeral\"".to_owned()]);
    }
    args.push("app-server".to_owned());
    let opening = thread_opening(order, &rules);
    Ok(AgentLaunch {
        args,
        source: "codex:app-server",
        driver: Some(Box::new(CodexDriver::new(opening, key))),
        env: rules.env,
        weaker: rules.weaker,
        ..AgentLaunch::default()
    })
}

/// Returns the request that opens the thread.
///
/// Codex's own sandbox is always off. The agent runs in Switchboard's sandbox or, if none is wanted, in none: a command
/// that Codex's own sandbox stops would leave no trace (0.166), and an approved one runs outside of it anyway. With
/// `untrusted`, which only the app-server accepts, Codex asks about everything, including commands that only read.
fn thread_opening(order: &LaunchRequest<'_>, rules: &CodexSessionRules) -> ThreadOpening {
    let mut params = Map::new();
    let approval = if rules.must_ask() { "untrusted" } else { "never" };
    params.insert("approvalPolicy".to_owned(), json!(approval));
    // Never an automatic reviewer, regardless of the user's configuration.
    params.insert("approvalsReviewer".to_owned(), json!("user"));
    params.insert("sandbox".to_owned(), json!("danger-full-access"));
    if let Some(model) = &order.config.model {
        params.insert("model".to_owned(), json!(model));
    }
    if !rules.config.is_empty() {
        params.insert("config".to_owned(), Value::Object(rules.config.clone()));
    }
    let Some(resume) = order.resume else {
        // The default is the directory of the process. If one is given, Codex stores that it is trusted (0.166).
        return ThreadOpening { method: "thread/start", params };
    };
    params.insert("threadId".to_owned(), json!(resume.session));
    params.insert("cwd".to_owned(), json!(order.cwd));
    params.insert("excludeTurns".to_owned(), json!(true));
    ThreadOpening { method: if resume.fork { "thread/fork" } else { "thread/resume" }, params }
}

/// Returns the key from the environment that Codex needs if it is not logged in otherwise. `codex exec` takes only
/// `CODEX_API_KEY`, and `codex app-server` none at all (0.166).
pub fn find_api_key(host: &dyn HostAccess) -> Option<String> {
    let config = config_file::read_user_config(host);
    if custom_provider(&config).is_some() {
        return None;
    }
    let logged_in = host.read_file(&codex_home(host).join("auth.json")).is_some() || uses_keyring(&config);
    host.env_var(CODEX_KEY_VARIABLE).or_else(|| host.env_var(OPENAI_KEY_VARIABLE).filter(|_| !logged_in))
}

pub fn check_login(host: &dyn HostAccess) -> Login {
    let config = config_file::read_user_config(host);
    if let Some(name) = custom_provider(&config) {
        return check_provider_login(host, &config, name);
    }
    if host.env_var(CODEX_KEY_VARIABLE).is_some() {
        return Login::Yes(CODEX_KEY_VARIABLE.to_owned());
    }
    if let Some(text) = host.read_file(&codex_home(host).join("auth.json")) {
        let key = JsonView::parse(&text).and_then(|auth| auth.as_object().get_non_empty(OPENAI_KEY_VARIABLE));
        return Login::Yes(
            if key.is_some() { "API key in auth.json" } else { "ChatGPT login in auth.json" }.to_owned(),
        );
    }
    if uses_keyring(&config) {
        return Login::Unknown;
    }
    match host.env_var(OPENAI_KEY_VARIABLE) {
        Some(_) => Login::Yes(OPENAI_KEY_VARIABLE.to_owned()),
        None => Login::No(format!("run `codex login`, or set {OPENAI_KEY_VARIABLE}")),
    }
}

fn check_provider_login(host: &dyn HostAccess, config: &CodexConfigFile, name: &str) -> Login {
    let table = config.named_tables("model_providers").find(|(known, _)| *known == name);
    let key = table.and_then(|(_, provider)| provider.get("env_key")).and_then(toml::Value::as_str);
    match key {
        Some(key) if host.env_var(key).is_none() => Login::No(format!("set {key}, which the provider `{name}` needs")),
        Some(key) => Login::Yes(format!("{key} for the provider `{name}`")),
        None => Login::Yes(format!("the provider `{name}`")),
    }
}

/// Returns the provider that the user configured in place of OpenAI.
fn custom_provider(config: &CodexConfigFile) -> Option<&str> {
    config.string_setting("model_provider").filter(|name| *name != "openai")
}

/// Returns whether the login may be in the system's keyring, which cannot be inspected.
fn uses_keyring(config: &CodexConfigFile) -> bool {
    let store = config.string_setting("cli_auth_credentials_store");
    matches!(store, Some("keyring" | "auto"))
}

/// Returns the setting that prevents Codex from storing trust, for this process alone.
pub fn untrusted_setting(order: &LaunchRequest<'_>) -> Option<Value> {
    let config = config_file::read_user_config(order.host);
    let places = trust_roots(order);
    let known = config.named_tables("projects").any(|(path, _)| places.contains(&PathBuf::from(path)));
    let folder = order.cwd.to_string_lossy();
    (!known).then(|| json!({ folder: { "trust_level": "untrusted" } }))
}

/// Returns the directories whose trust applies to this one: itself, its ancestors, and the repository of a linked
/// worktree.
fn trust_roots(order: &LaunchRequest<'_>) -> Vec<PathBuf> {
    let mut places: Vec<PathBuf> = order.cwd.ancestors().map(Path::to_owned).collect();
    let linked = order.cwd.ancestors().find_map(|folder| order.host.read_file(&folder.join(".git")));
    let repository = linked.as_deref().and_then(|text| text.strip_prefix("gitdir: ")).and_then(|text| {
        // `/repository/.git/worktrees/NAME`
        Path::new(text.trim()).ancestors().nth(3)
    });
    places.extend(repository.map(Path::to_owned));
    places
}
