//! The login state of Claude Code, from its environment and files. Secrets are only checked for presence.

use std::path::Path;

use super::settings;
use crate::{HostAccess, JsonView, Login};

/// Providers other than Anthropic, by the variable that selects them.
const PROVIDER_VARIABLES: &[(&str, &str)] = &[
    ("CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"),
];

/// Variables that hold a key or a token, in order of precedence.
const API_KEY_VARIABLES: &[&str] = &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

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
