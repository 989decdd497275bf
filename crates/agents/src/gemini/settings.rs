//! Gemini CLI's settings: `~/.gemini/settings.json`, the project's `.gemini/settings.json`, and the administrator's.
//! They are only read, and converted to Switchboard's.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use switchboard_event::{ApprovalMode, McpServerConfig, McpTransport, SandboxMode, SessionConfig};

use crate::{AgentConfigFile, HostAccess, JsonObject, JsonView, Login};

pub struct GeminiSettingsFile {
    pub file: PathBuf,
    /// Content without comments.
    pub text: String,
}

impl GeminiSettingsFile {
    /// Parses the file; `None` if it is not a JSON object.
    pub fn parse_json(&self) -> Option<JsonView<'_>> {
        JsonView::parse(&self.text).filter(|json| json.is_object())
    }
}

/// Returns Gemini CLI's home directory.
pub fn gemini_home(host: &dyn HostAccess) -> PathBuf {
    host.env_var("GEMINI_CLI_HOME").map_or_else(|| host.home_dir(), PathBuf::from).join(".gemini")
}

/// Reads the user's settings and the project's, in ascending order of precedence.
pub fn read_settings(host: &dyn HostAccess, cwd: &Path) -> Vec<GeminiSettingsFile> {
    let user = gemini_home(host).join("settings.json");
    let project = cwd.join(".gemini").join("settings.json");
    let same = user == project;
    [Some(user), Some(project).filter(|_| !same)]
        .into_iter()
        .flatten()
        .filter_map(|file| read_settings_file(host, file))
        .collect()
}

/// Also reads the administrator's, which have the highest precedence.
fn read_all_settings(host: &dyn HostAccess, cwd: &Path) -> Vec<GeminiSettingsFile> {
    let named = host.env_var("GEMINI_CLI_SYSTEM_SETTINGS_PATH").map(PathBuf::from);
    let system = named.unwrap_or_else(|| PathBuf::from("/etc/gemini-cli/settings.json"));
    read_settings(host, cwd).into_iter().chain(read_settings_file(host, system)).collect()
}

fn read_settings_file(host: &dyn HostAccess, file: PathBuf) -> Option<GeminiSettingsFile> {
    let text = strip_comments(&host.read_file(&file)?);
    Some(GeminiSettingsFile { file, text })
}

/// Returns the values of variables in the user's `.env` file.
pub fn read_user_variables(host: &dyn HostAccess, names: &[&str]) -> Vec<String> {
    let text = host.read_file(&gemini_home(host).join(".env")).unwrap_or_default();
    let variables = text.lines().filter_map(|line| line.trim().trim_start_matches("export ").split_once('='));
    let named = variables.filter(|(name, _)| names.contains(&name.trim()));
    named.map(|(_, value)| value.trim().trim_matches(['"', '\'']).to_owned()).collect()
}

/// Returns the chosen login method.
pub fn login_method(host: &dyn HostAccess, cwd: &Path) -> Option<String> {
    read_all_settings(host, cwd).iter().rev().find_map(|settings| {
        let security = settings.parse_json()?.as_object().get_object("security");
        security.get_object("auth").get_non_empty("selectedType")
    })
}

/// Returns the paths of the user's policies: a `--policy` argument replaces them unless it names them too.
pub fn policy_paths(host: &dyn HostAccess, cwd: &Path) -> Vec<String> {
    let named: Vec<String> = read_all_settings(host, cwd)
        .iter()
        .filter_map(GeminiSettingsFile::parse_json)
        .flat_map(|settings| settings.as_object().get_strings("policyPaths"))
        .collect();
    let usual = gemini_home(host).join("policies");
    if named.is_empty() && !host.list_dir(&usual).is_empty() {
        return vec![usual.to_string_lossy().into_owned()];
    }
    named
}

/// Returns whether the settings have MCP servers.
pub fn has_mcp_servers(host: &dyn HostAccess, cwd: &Path) -> bool {
    let named = |settings: &GeminiSettingsFile| {
        settings.parse_json().is_some_and(|all| !all.as_object().get_object("mcpServers").is_empty())
    };
    read_all_settings(host, cwd).iter().any(named)
}

/// Returns whether Gemini CLI's own sandbox is on.
pub fn is_sandbox_enabled(host: &dyn HostAccess, cwd: &Path) -> bool {
    let is_on = |word: &str| !matches!(word, "" | "false" | "0" | "null");
    if let Some(word) = host.env_var("GEMINI_SANDBOX") {
        return is_on(&word);
    }
    let told = read_all_settings(host, cwd).iter().rev().find_map(|settings| {
        let sandbox = settings.parse_json()?.as_object().get_object("tools").get("sandbox")?;
        Some(if sandbox.is_object() { sandbox.as_object().is_true("enabled") } else { is_on(&sandbox.display_text()) })
    });
    told.unwrap_or(false)
}

/// Removes `//` and `/* */` comments, which these files may have.
fn strip_comments(text: &str) -> String {
    let (mut out, mut rest, mut quoted) = (String::with_capacity(text.len()), text.chars().peekable(), false);
    while let Some(c) = rest.next() {
        match (quoted, c, rest.peek()) {
            (true, '\\', Some(_)) => {
                out.push(c);
                out.extend(rest.next());
                continue;
            }
            (false, '/', Some('/')) => {
                while rest.peek().is_some_and(|c| *c != '\n') {
                    rest.next();
                }
                continue;
            }
            (false, '/', Some('*')) => {
                let mut before = ' ';
                rest.next();
                for c in rest.by_ref() {
                    if (before, c) == ('*', '/') {
                        break;
                    }
                    before = c;
                }
                continue;
            }
            (_, '"', _) => quoted = !quoted,
            _ => {}
        }
        out.push(c);
    }
    out
}

/// Reads the settings files.
pub fn read_config(host: &dyn HostAccess, cwd: &Path) -> Vec<AgentConfigFile> {
    let mut found: Vec<AgentConfigFile> =
        read_settings(host, cwd).into_iter().map(|file| convert_settings(&file)).collect();
    let folder = gemini_home(host).join("policies");
    for file in host.list_dir(&folder).into_iter().filter(|file| file.extension().is_some_and(|ext| ext == "toml")) {
        let remarks = vec!["rules for tools, which apply as they are".to_owned()];
        found.push(AgentConfigFile { file, config: SessionConfig::default(), remarks });
    }
    found
}

fn convert_settings(settings: &GeminiSettingsFile) -> AgentConfigFile {
    let (config, remarks) = match settings.parse_json() {
        Some(json) => to_session_config(&json.as_object()),
        None => (SessionConfig::default(), vec!["it is not JSON, and the agent will not start with it".to_owned()]),
    };
    AgentConfigFile { file: settings.file.clone(), config, remarks }
}

fn to_session_config(all: &JsonObject<'_>) -> (SessionConfig, Vec<String>) {
    let (general, tools, model) = (all.get_object("general"), all.get_object("tools"), all.get_object("model"));
    let mode = general.get_non_empty("defaultApprovalMode").or_else(|| tools.get_non_empty("approvalMode"));
    let list = |key: &str| Some(tools.get_strings(key)).filter(|list| !list.is_empty());
    let config = SessionConfig {
        model: model.get_non_empty("name"),
        approval_mode: mode.as_deref().and_then(parse_approval_mode),
        sandbox_mode: tools.get("sandbox").map(parse_sandbox_mode),
        writable_roots: list("sandboxAllowedPaths"),
        network_access: tools.get("sandboxNetworkAccess").map(|access| access.display_text() == "true"),
        allowed_tools: list("allowed"),
        blocked_tools: list("exclude"),
        max_turns: model.get_u64("maxSessionTurns").and_then(|turns| turns.try_into().ok()),
        mcp_servers: parse_mcp_servers(&all.get_object("mcpServers")),
        ..SessionConfig::default()
    };
    let mut remarks = Vec::new();
    if let Some(mode) = mode.filter(|_| config.approval_mode.is_none()) {
        remarks.push(format!("the approval mode {mode} has no word here"));
    }
    for (key, what) in [("core", "only the tools in tools.core are offered"), ("sandbox", "the sandbox is its own")] {
        let said = tools.get(key).is_some_and(|value| !matches!(value.raw_text(), "[]" | "false" | "\"\""));
        remarks.extend(said.then(|| what.to_owned()));
    }
    (config, remarks)
}

fn parse_approval_mode(mode: &str) -> Option<ApprovalMode> {
    match mode {
        "default" => Some(ApprovalMode::Ask),
        "auto_edit" | "autoEdit" => Some(ApprovalMode::AutoEdit),
        "yolo" => Some(ApprovalMode::AutoAll),
        _ => None,
    }
}

/// Gemini CLI's sandbox is a container that includes the workspace.
fn parse_sandbox_mode(sandbox: JsonView<'_>) -> SandboxMode {
    let off = if sandbox.is_object() {
        !sandbox.as_object().is_true("enabled")
    } else {
        matches!(&*sandbox.display_text(), "" | "false" | "0")
    };
    if off { SandboxMode::None } else { SandboxMode::WorkspaceWrite }
}

fn parse_mcp_servers(servers: &JsonObject<'_>) -> BTreeMap<String, McpServerConfig> {
    servers.iter().map(|(name, server)| (name.to_owned(), parse_mcp_server(&server.as_object()))).collect()
}

fn parse_mcp_server(fields: &JsonObject<'_>) -> McpServerConfig {
    let pairs = |key: &str| {
        let fields = fields.get_object(key);
        fields.iter().map(|(name, value)| (name.to_owned(), value.display_text().into_owned())).collect()
    };
    let http = fields.get_non_empty("httpUrl");
    let transport = match (fields.get_str("type").as_deref(), &http, fields.contains_key("url")) {
        (Some("http"), ..) | (None, Some(_), _) => Some(McpTransport::Http),
        (Some("sse"), ..) | (None, None, true) => Some(McpTransport::Sse),
        _ => None,
    };
    McpServerConfig {
        command: fields.get_non_empty("command"),
        args: fields.get_strings("args"),
        env: pairs("env"),
        url: http.or_else(|| fields.get_non_empty("url")),
        transport,
        headers: pairs("headers"),
        trust: fields.is_true("trust"),
        include_tools: fields.get("includeTools").map(|_| fields.get_strings("includeTools")),
        exclude_tools: fields.get_strings("excludeTools"),
    }
}

/// Determines the login status from files and the environment. A key may also be in the system's keyring.
pub fn check_login(host: &dyn HostAccess) -> Login {
    let folder = gemini_home(host);
    let set = |name: &str| host.env_var(name).is_some_and(|value| !value.is_empty());
    let in_file = || host.read_file(&folder.join(".env")).is_some_and(|text| text.contains("GEMINI_API_KEY="));
    let key = ["GEMINI_API_KEY", "GOOGLE_API_KEY"].into_iter().find(|name| set(name));
    match login_method(host, &host.home_dir()).as_deref() {
        Some("oauth-personal") => match host.read_file(&folder.join("oauth_creds.json")) {
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
            None if login_method(host, &host.home_dir()).is_some() => Login::Unknown,
            None => Login::No("set GEMINI_API_KEY, or run `gemini` and choose how to log in".to_owned()),
        },
        Some(_) => Login::Unknown,
    }
}

#[cfg(test)]
mod tests {

    use super::strip_comments;

    #[test]
    fn comments_are_left_out_and_texts_are_not() {
        for (text, expected) in [
            ("{\"a\":1} // b", "{\"a\":1} "),
            ("{/* x */\"a\":\"http://y\"}", "{\"a\":\"http://y\"}"),
            (r#"{"a":"\"// no"}"#, r#"{"a":"\"// no"}"#),
            ("{/* never closed", "{"),
            ("{}//\n1", "{}\n1"),
        ] {
            assert_eq!(strip_comments(text), expected);
        }
    }
}
