//! Whether OpenCode is logged in anywhere, as far as that can be told without asking it.

use super::{folders, jsonc, settings};
use crate::{Host, Login};

/// Variables with the keys of providers that OpenCode looks for by itself.
const KEYS: [&str; 14] = [
    "OPENCODE_API_KEY",
    "ANTHROPIC_API_KEY",
    "OPENAI_API_KEY",
    // The name of a model, and of another program too.
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

/// By a login, by a key in the environment, or by one in the configuration.
pub fn login(host: &dyn Host) -> Login {
    let stored = || {
        let file = folders::data(host).join("auth.json");
        let logins = host.read(&file).and_then(|text| jsonc::parse(&text));
        let names: Vec<_> = logins.iter().filter_map(|logins| logins.as_object()).flat_map(|map| map.keys()).collect();
        (!names.is_empty()).then(|| format!("logged in to {}", join(&names)))
    };
    let key = || KEYS.into_iter().find(|key| host.env(key).is_some_and(|value| !value.is_empty())).map(str::to_owned);
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
