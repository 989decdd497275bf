//! Detects logins of OpenCode without running it.

use super::{folders, jsonc, settings};
use crate::{HostAccess, Login};

/// Variables with provider keys that OpenCode recognizes.
const KEYS: [&str; 14] = [
    "OPENCODE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    // Contains the name of another agent.
    concat!("GEM", "INI_API_KEY"),
    "GOOGLE_GENERATIVE_AI_API_KEY",
    "OPENROUTER_API_KEY",
    "GROQ_API_KEY",
    "MISTRAL_API_KEY",
    "XAI_API_KEY",
    "DEEPSEEK_API_KEY",
    "AZURE_API_KEY",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_PROFILE",
    "GOOGLE_APPLICATION_CREDENTIALS",
];

/// Looks for a login, a key in the environment, or a key in the configuration.
pub fn login(host: &dyn HostAccess) -> Login {
    let stored = || {
        let file = folders::data(host).join("auth.json");
        let logins = host.read_file(&file).and_then(|text| jsonc::parse(&text));
        let names: Vec<_> = logins.iter().filter_map(|logins| logins.as_object()).flat_map(|map| map.keys()).collect();
        (!names.is_empty()).then(|| format!("logged in to {}", join(&names)))
    };
    let key =
        || KEYS.into_iter().find(|key| host.env_var(key).is_some_and(|value| !value.is_empty())).map(str::to_owned);
    let configured =
        || settings::provider_with_key(host).map(|provider| format!("a key for {provider} in the configuration"));
    match stored().or_else(key).or_else(configured) {
        Some(how) => Login::Yes(how),
        None => Login::No("opencode auth login".to_owned()),
    }
}

fn join(names: &[&String]) -> String {
    names.iter().map(|name| name.as_str()).collect::<Vec<_>>().join(", ")
}
