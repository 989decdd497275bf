//! Whether Codex is logged in, and with which key from the environment it is if not.

use super::config_file::{self, ConfigFile};
use crate::{Host, Json, Login};

/// The variables that may have a key, the first that is set counts.
const CODEX_KEY: &str = "CODEX_API_KEY";
const OPENAI_KEY: &str = "OPENAI_API_KEY";

/// The key from the environment that Codex must be given, if it is not logged in otherwise. `codex exec` takes only
/// `CODEX_API_KEY`, and `codex app-server` none at all (0.166).
pub fn given(host: &dyn Host) -> Option<String> {
    let config = config_file::of_user(host);
    if provider(&config).is_some() {
        return None;
    }
    let logged_in = host.read(&config_file::home(host).join("auth.json")).is_some() || keeps_elsewhere(&config);
    host.env(CODEX_KEY).or_else(|| host.env(OPENAI_KEY).filter(|_| !logged_in))
}

/// Whether Codex is logged in.
pub fn login(host: &dyn Host) -> Login {
    let config = config_file::of_user(host);
    if let Some(name) = provider(&config) {
        return login_of_provider(host, &config, name);
    }
    if host.env(CODEX_KEY).is_some() {
        return Login::Yes(CODEX_KEY.to_owned());
    }
    if let Some(text) = host.read(&config_file::home(host).join("auth.json")) {
        let key = Json::parse(&text).and_then(|auth| auth.object().filled(OPENAI_KEY));
        return Login::Yes(
            if key.is_some() { "API key in auth.json" } else { "ChatGPT login in auth.json" }.to_owned(),
        );
    }
    if keeps_elsewhere(&config) {
        return Login::Unknown;
    }
    match host.env(OPENAI_KEY) {
        Some(_) => Login::Yes(OPENAI_KEY.to_owned()),
        None => Login::No(format!("run `codex login`, or set {OPENAI_KEY}")),
    }
}

fn login_of_provider(host: &dyn Host, config: &ConfigFile, name: &str) -> Login {
    let table = config.tables("model_providers").find(|(known, _)| *known == name);
    let key = table.and_then(|(_, provider)| provider.get("env_key")).and_then(toml::Value::as_str);
    match key {
        Some(key) if host.env(key).is_none() => Login::No(format!("set {key}, which the provider `{name}` needs")),
        Some(key) => Login::Yes(format!("{key} for the provider `{name}`")),
        None => Login::Yes(format!("the provider `{name}`")),
    }
}

/// The provider that the user configured in place of OpenAI.
fn provider(config: &ConfigFile) -> Option<&str> {
    config.text("model_provider").filter(|name| *name != "openai")
}

/// The login lies in the system's keyring, where it cannot be seen.
fn keeps_elsewhere(config: &ConfigFile) -> bool {
    let store = config.text("cli_auth_credentials_store");
    matches!(store, Some("keyring" | "auto"))
}
