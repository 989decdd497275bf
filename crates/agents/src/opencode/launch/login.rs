//! Detects logins of OpenCode without running it, and the servers that it must reach for them.

use serde_json::Value;

use super::{data, settings};
use crate::{
    AgentEndpoint, HostAccess, Login,
    launch::{bedrock_endpoints, public_endpoints, vertex_endpoints},
};

/// The model catalog and OpenCode's own provider.
const ALWAYS: &[&str] = &["models.dev", "opencode.ai", "api.opencode.ai"];

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
        let file = data(host).join("auth.json");
        let logins = host.read_file(&file).and_then(|text| settings::parse(&text));
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

/// A provider: its id, the variable with its key, and its hosts. Some hosts contain the name of another agent.
const PROVIDERS: &[(&str, &str, &[&str])] = &[
    (
        "anthropic",
        "ANTHROPIC_API_KEY",
        &["api.anthropic.com", "console.anthropic.com", concat!("platform.cla", "ude.com"), concat!("cla", "ude.ai")],
    ),
    ("openai", "OPENAI_API_KEY", &["api.openai.com", "auth.openai.com", "chatgpt.com"]),
    ("google", "GOOGLE_GENERATIVE_AI_API_KEY", &["generativelanguage.googleapis.com"]),
    ("google", concat!("GEM", "INI_API_KEY"), &["generativelanguage.googleapis.com"]),
    (
        "github-copilot",
        "",
        &["api.githubcopilot.com", "api.individual.githubcopilot.com", "api.github.com", "github.com"],
    ),
    ("openrouter", "OPENROUTER_API_KEY", &["openrouter.ai"]),
    ("groq", "GROQ_API_KEY", &["api.groq.com"]),
    ("mistral", "MISTRAL_API_KEY", &["api.mistral.ai"]),
    ("xai", "XAI_API_KEY", &["api.x.ai"]),
    ("deepseek", "DEEPSEEK_API_KEY", &["api.deepseek.com"]),
];

/// Returns the servers of the models and logins.
pub fn endpoints(host: &dyn HostAccess) -> Vec<AgentEndpoint> {
    let logins = logins(host);
    let is_used = |id: &str, variable: &str| {
        logins.iter().any(|login| login == id) || !variable.is_empty() && host.env_var(variable).is_some()
    };
    let used = PROVIDERS.iter().filter(|(id, variable, _)| is_used(id, variable)).flat_map(|(_, _, hosts)| *hosts);
    let mut endpoints = public_endpoints(ALWAYS);
    endpoints.extend(used.map(|name| AgentEndpoint::public_https(name)));
    if is_used("amazon-bedrock", "AWS_BEARER_TOKEN_BEDROCK") || host.env_var("AWS_PROFILE").is_some() {
        endpoints.extend(bedrock_endpoints(host));
    }
    if is_used("google-vertex", "GOOGLE_APPLICATION_CREDENTIALS") {
        endpoints
            .extend(vertex_endpoints(host, &["GOOGLE_CLOUD_LOCATION", "GOOGLE_VERTEX_LOCATION", "VERTEX_LOCATION"]));
    }
    let configured = settings::of_user(host).into_iter().flat_map(|config| base_urls(&config));
    endpoints.extend(configured.filter_map(|url| AgentEndpoint::from_configured_url(&url)));
    endpoints
}

/// Returns the ids of the providers that the user has logged in to.
fn logins(host: &dyn HostAccess) -> Vec<String> {
    let stored = host.read_file(&data(host).join("auth.json")).and_then(|text| settings::parse(&text));
    stored.iter().filter_map(Value::as_object).flat_map(|logins| logins.keys().cloned()).collect()
}

fn base_urls(config: &Value) -> Vec<String> {
    let providers = config.get("provider").and_then(Value::as_object);
    let urls = providers.into_iter().flatten().flat_map(|(_, provider)| {
        [provider.pointer("/options/baseURL"), provider.get("api")].map(|url| url.and_then(Value::as_str))
    });
    urls.flatten().map(str::to_owned).collect()
}
