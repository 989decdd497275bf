//! Gemini CLI's own settings in our words, and whether it is logged in.

use std::{collections::BTreeMap, path::Path};

use switchboard_event::{ApprovalMode, McpServerConfig, McpTransport, SandboxMode, SessionConfig};

use super::settings::{self, Settings};
use crate::{Found, Host, Json, Login, Object};

/// What its settings files say.
pub fn config(host: &dyn Host, cwd: &Path) -> Vec<Found> {
    let mut found: Vec<Found> = settings::files(host, cwd).into_iter().map(|file| told(&file)).collect();
    let folder = settings::folder(host).join("policies");
    for file in host.list(&folder).into_iter().filter(|file| file.extension().is_some_and(|ext| ext == "toml")) {
        let remarks = vec!["rules for tools, which apply as they are".to_owned()];
        found.push(Found { file, config: SessionConfig::default(), remarks });
    }
    found
}

fn told(settings: &Settings) -> Found {
    let (config, remarks) = match settings.json() {
        Some(json) => in_our_words(&json.object()),
        None => (SessionConfig::default(), vec!["it is not JSON, and the agent will not start with it".to_owned()]),
    };
    Found { file: settings.file.clone(), config, remarks }
}

fn in_our_words(all: &Object<'_>) -> (SessionConfig, Vec<String>) {
    let (general, tools, model) = (all.object("general"), all.object("tools"), all.object("model"));
    let mode = general.filled("defaultApprovalMode").or_else(|| tools.filled("approvalMode"));
    let list = |key: &str| Some(tools.strings(key)).filter(|list| !list.is_empty());
    let config = SessionConfig {
        model: model.filled("name"),
        approval_mode: mode.as_deref().and_then(approval),
        sandbox_mode: tools.get("sandbox").map(sandbox),
        allowed_tools: list("allowed"),
        blocked_tools: list("exclude"),
        max_turns: model.u64("maxSessionTurns").and_then(|turns| turns.try_into().ok()),
        mcp_servers: servers(&all.object("mcpServers")),
        ..SessionConfig::default()
    };
    let mut remarks = Vec::new();
    if let Some(mode) = mode.filter(|_| config.approval_mode.is_none()) {
        remarks.push(format!("the approval mode {mode} has no word here"));
    }
    for (key, what) in [("core", "only the tools in tools.core are offered"), ("sandbox", "the sandbox is its own")] {
        let said = tools.get(key).is_some_and(|value| !matches!(value.text(), "[]" | "false" | "\"\""));
        remarks.extend(said.then(|| what.to_owned()));
    }
    (config, remarks)
}

fn approval(mode: &str) -> Option<ApprovalMode> {
    match mode {
        "default" => Some(ApprovalMode::Ask),
        "auto_edit" | "autoEdit" => Some(ApprovalMode::AutoEdit),
        "yolo" => Some(ApprovalMode::AutoAll),
        _ => None,
    }
}

/// Its sandbox is a container with the workspace in it.
fn sandbox(sandbox: Json<'_>) -> SandboxMode {
    let off = if sandbox.is_object() {
        !sandbox.object().is_true("enabled")
    } else {
        matches!(&*sandbox.display(), "" | "false" | "0")
    };
    if off { SandboxMode::None } else { SandboxMode::WorkspaceWrite }
}

fn servers(servers: &Object<'_>) -> BTreeMap<String, McpServerConfig> {
    servers.iter().map(|(name, server)| (name.to_owned(), self::server(&server.object()))).collect()
}

fn server(fields: &Object<'_>) -> McpServerConfig {
    let pairs = |key: &str| {
        let fields = fields.object(key);
        fields.iter().map(|(name, value)| (name.to_owned(), value.display().into_owned())).collect()
    };
    let http = fields.filled("httpUrl");
    let transport = match (fields.str("type").as_deref(), &http, fields.has("url")) {
        (Some("http"), ..) | (None, Some(_), _) => Some(McpTransport::Http),
        (Some("sse"), ..) | (None, None, true) => Some(McpTransport::Sse),
        _ => None,
    };
    McpServerConfig {
        command: fields.filled("command"),
        args: fields.strings("args"),
        env: pairs("env"),
        url: http.or_else(|| fields.filled("url")),
        transport,
        headers: pairs("headers"),
        trust: fields.is_true("trust"),
        include_tools: fields.get("includeTools").map(|_| fields.strings("includeTools")),
        exclude_tools: fields.strings("excludeTools"),
    }
}

/// Whether it is logged in, as far as its files and the environment tell. A key may also lie in the system's keyring.
pub fn login(host: &dyn Host) -> Login {
    let folder = settings::folder(host);
    let set = |name: &str| host.env(name).is_some_and(|value| !value.is_empty());
    let in_file = || host.read(&folder.join(".env")).is_some_and(|text| text.contains("GEMINI_API_KEY="));
    let key = ["GEMINI_API_KEY", "GOOGLE_API_KEY"].into_iter().find(|name| set(name));
    match settings::login_method(host, &host.home()).as_deref() {
        Some("oauth-personal") => match host.read(&folder.join("oauth_creds.json")) {
            Some(_) => Login::Yes("a Google account".to_owned()),
            None => Login::No("run `gemini` and log in with Google".to_owned()),
        },
        Some("vertex-ai") => match set("GOOGLE_API_KEY") || set("GOOGLE_CLOUD_PROJECT") {
            true => Login::Yes("Vertex AI".to_owned()),
            false => Login::No("set GOOGLE_API_KEY, or GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION".to_owned()),
        },
        Some("gemini-api-key") | None => match key {
            Some(name) => Login::Yes(name.to_owned()),
            None if in_file() => Login::Yes("GEMINI_API_KEY in .gemini/.env".to_owned()),
            None if settings::login_method(host, &host.home()).is_some() => Login::Unknown,
            None => Login::No("set GEMINI_API_KEY, or run `gemini` and choose how to log in".to_owned()),
        },
        Some(_) => Login::Unknown,
    }
}
