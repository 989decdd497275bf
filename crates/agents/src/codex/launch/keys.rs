//! Login status of Codex, and the API key from the environment if it is not logged in.

use super::config_file::{self, CodexConfigFile};
use crate::{HostAccess, JsonView, Login};

/// Variables that may hold a key, in order of precedence.
const CODEX_KEY_VARIABLE: &str = "CODEX_API_KEY";

const OPENAI_KEY_VARIABLE: &str = "OPENAI_API_KEY";

/// Returns the key from the environment that Codex needs if it is not logged in otherwise. `codex exec` takes only
/// `CODEX_API_KEY`, and `codex app-server` none at all (0.166).
pub fn find_api_key(host: &dyn HostAccess) -> Option<String> {
    let config = config_file::read_user_config(host);
    if custom_provider(&config).is_some() {
        return None;
    }
    let logged_in = host.read_file(&config_file::codex_home(host).join("auth.json")).is_some() || uses_keyring(&config);
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
    if let Some(text) = host.read_file(&config_file::codex_home(host).join("auth.json")) {
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
