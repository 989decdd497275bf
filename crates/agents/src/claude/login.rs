//! Whether Claude Code is logged in, as far as its environment and its files tell. No secret is looked at closer
//! than to see that it is there.

use std::path::Path;

use super::settings;
use crate::{Host, Json, Login};

/// Other providers than Anthropic, by the variable that chooses them.
const PROVIDERS: &[(&str, &str)] = &[
    ("CLAUDE_CODE_USE_BEDROCK", "Amazon Bedrock"),
    ("CLAUDE_CODE_USE_VERTEX", "Google Vertex AI"),
    ("CLAUDE_CODE_USE_FOUNDRY", "Microsoft Foundry"),
];

/// Variables that hold a key or a token, the strongest first.
const KEYS: &[&str] = &["ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"];

/// Whether it is logged in.
pub fn login(host: &dyn Host) -> Login {
    let provider = PROVIDERS.iter().find(|(name, _)| host.env(name).is_some_and(|value| is_yes(&value)));
    if let Some((name, provider)) = provider {
        return Login::Yes(format!("{provider} ({name})"));
    }
    if let Some(name) = KEYS.iter().find(|name| host.env(name).is_some_and(|value| !value.is_empty())) {
        return Login::Yes((*name).to_owned());
    }
    in_files(host).map_or_else(
        || Login::No("run `claude` and type /login, or set ANTHROPIC_API_KEY".to_owned()),
        |how| Login::Yes(how.to_owned()),
    )
}

fn is_yes(value: &str) -> bool {
    !matches!(value.to_lowercase().as_str(), "" | "0" | "false" | "no" | "off")
}

fn in_files(host: &dyn Host) -> Option<&'static str> {
    let (folder, state) = (settings::folder(host), settings::state(host));
    if has(host, &folder.join(".credentials.json"), "claudeAiOauth", "accessToken") {
        return Some("a Claude account (.credentials.json)");
    }
    if has(host, &folder.join("settings.json"), "", "apiKeyHelper") {
        return Some("apiKeyHelper (settings.json)");
    }
    if has(host, &state, "", "primaryApiKey") {
        return Some("a key of the Anthropic console (.claude.json)");
    }
    // On macOS the token itself is in the keychain.
    has(host, &state, "oauthAccount", "accountUuid").then_some("a Claude account (.claude.json)")
}

/// A file has a field with something in it: itself, or one of its objects.
fn has(host: &dyn Host, file: &Path, object: &str, key: &str) -> bool {
    let text = host.read(file).unwrap_or_default();
    let fields = Json::parse(&text).map(Json::object).unwrap_or_default();
    let fields = if object.is_empty() { fields } else { fields.object(object) };
    fields.filled(key).is_some()
}
