//! Names of settings: spellings, and the likely meaning of unknown names.

use std::borrow::Cow;

use serde_json::value::RawValue;
use serde_json::{Value, json};

use super::{
    ALLOWED_DOMAINS, APPROVAL_MODE, NETWORK_ACCESS, RawObject, SANDBOX_MODE, SESSION_CONFIG_FORM, SETTING_ALIASES,
    SettingsError, WRITABLE_ROOTS, join_path,
};
use crate::SessionConfig;

/// Fields of an MCP server in other programs that limit its use, and the field to write here.
pub const MCP_LIMIT_ALIASES: &[(&str, &str)] = &[
    ("enabledtools", "includeTools"),
    ("allowedtools", "includeTools"),
    ("disabledtools", "excludeTools"),
    ("blockedtools", "excludeTools"),
    ("disallowedtools", "excludeTools"),
    ("alwaysallow", "trust"),
    ("autoapprove", "trust"),
    ("trusted", "trust"),
    ("tools", "includeTools"),
    ("disabled", "no such server"),
    ("enabled", "no such server"),
];

/// Parts of names that concern an agent's permissions, and the corresponding setting.
const LIMIT_NAME_PARTS: &[(&str, &str)] = &[
    ("approvaltimeout", "approvalTimeoutSeconds, next to config"),
    ("approv", APPROVAL_MODE),
    ("permission", APPROVAL_MODE),
    ("dangerous", APPROVAL_MODE),
    ("yolo", APPROVAL_MODE),
    ("fullauto", APPROVAL_MODE),
    ("autoall", APPROVAL_MODE),
    ("autoedit", APPROVAL_MODE),
    ("autoaccept", APPROVAL_MODE),
    ("hook", "approvalMode, allowedTools and blockedTools"),
    ("sandbox", SANDBOX_MODE),
    ("readonly", SANDBOX_MODE),
    ("writable", WRITABLE_ROOTS),
    ("network", NETWORK_ACCESS),
    ("domain", ALLOWED_DOMAINS),
    ("allowedhosts", ALLOWED_DOMAINS),
    ("trust", "mcpServers.NAME.trust"),
    ("disallow", "blockedTools"),
    ("tool", "allowedTools or blockedTools"),
    ("maxturn", "maxTurns"),
    ("turnlimit", "maxTurns"),
];

/// A name close to one of these is taken for a typo.
const TYPO_CANDIDATES: &[&str] = &[
    APPROVAL_MODE,
    SANDBOX_MODE,
    "allowedTools",
    "blockedTools",
    "maxTurns",
    WRITABLE_ROOTS,
    "writablePaths",
    NETWORK_ACCESS,
    ALLOWED_DOMAINS,
];

/// Returns the setting that an unknown name is likely to mean, if it is one that limits an agent.
pub fn suggest_setting(folded: &str) -> Option<&'static str> {
    // Webhooks run elsewhere, after the fact.
    let folded = folded.replace("webhook", "");
    let limit = LIMIT_NAME_PARTS.iter().find(|(part, _)| folded.contains(part)).map(|(_, right)| *right);
    let is_close = |name: &&str| folded.len() < 32 && edit_distance(&folded, &fold_name(name)) <= 2;
    limit.or_else(|| TYPO_CANDIDATES.iter().copied().find(is_close))
}

/// Normalizes a name: without separators and case.
pub fn fold_name(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns the Levenshtein distance of two names.
fn edit_distance(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.chars().count()).collect();
    for (i, c) in a.chars().enumerate() {
        let (mut diagonal, mut left) = (i, i + 1);
        let mut next = vec![left];
        for (d, above) in b.chars().zip(row.iter().skip(1)) {
            left = (diagonal + usize::from(c != d)).min(left + 1).min(above + 1);
            diagonal = *above;
            next.push(left);
        }
        row = next;
    }
    row.last().copied().unwrap_or_default()
}

/// Pairs of an accepted word and the canonical value.
pub type SettingSynonyms = &'static [(&'static str, &'static str)];

pub const APPROVAL_MODES: SettingSynonyms =
    &[("ask", "ask"), ("askDangerous", "askDangerous"), ("autoEdit", "autoEdit"), ("autoAll", "autoAll")];
pub const APPROVAL_POLICIES: SettingSynonyms =
    &[("never", "autoAll"), ("unlessTrusted", "askDangerous"), ("always", "ask")];
pub const SANDBOX_MODES: SettingSynonyms =
    &[("none", "none"), ("readOnly", "readOnly"), ("workspaceWrite", "workspaceWrite"), ("fullAccess", "fullAccess")];
const SANDBOX_POLICIES: SettingSynonyms = &[
    ("dangerFullAccess", "fullAccess"),
    ("readOnly", "readOnly"),
    ("workspaceWrite", "workspaceWrite"),
    ("externalSandbox", "none"),
];

/// Returns the canonical value of a word, in any spelling.
pub fn resolve_synonym(value: &Value, words: SettingSynonyms, at: &str) -> Result<Value, SettingsError> {
    let given = value.as_str().unwrap_or_default();
    match words.iter().find(|(word, _)| fold_name(word) == fold_name(given)) {
        Some((_, meaning)) => Ok(json!(meaning)),
        None => {
            let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            Err(SettingsError { field: at.to_owned(), reason: format!("{value} is not one of {known}") })
        }
    }
}

/// Returns the settings of a sandbox policy, which is a word or an object with a `type`.
pub fn parse_sandbox_policy(value: &Value, at: &str) -> Result<Vec<(&'static str, Value)>, SettingsError> {
    let Some(fields) = value.as_object() else {
        return Ok(vec![(SANDBOX_MODE, resolve_synonym(value, SANDBOX_POLICIES, at)?)]);
    };
    let mut settings = Vec::new();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let at = join_path(at, name);
        match fold_name(name).as_str() {
            "type" => settings.push((SANDBOX_MODE, resolve_synonym(value, SANDBOX_POLICIES, &at)?)),
            "writableroots" => settings.push((WRITABLE_ROOTS, value.clone())),
            "networkaccess" => settings.push((NETWORK_ACCESS, parse_network_access(value))),
            "_meta" | "meta" => {}
            _ => {
                let reason = "a sandbox has type, writableRoots and networkAccess".to_owned();
                return Err(SettingsError { field: at, reason });
            }
        }
    }
    if settings.iter().any(|(field, _)| *field == SANDBOX_MODE) {
        return Ok(settings);
    }
    Err(SettingsError { field: join_path(at, "type"), reason: "which sandbox?".to_owned() })
}

fn parse_network_access(value: &Value) -> Value {
    match value.as_str().map(fold_name).as_deref() {
        Some("enabled") => json!(true),
        Some("restricted") => json!(false),
        _ => value.clone(),
    }
}

/// Checks that a value is valid for a setting.
pub fn check_setting(field: &str, value: &Value) -> Result<(), String> {
    let alone = json!({ field: value });
    serde_json::from_value::<SessionConfig>(alone).map(drop).map_err(|error| error.to_string())
}

/// Returns whether a setting limits what an agent may do.
pub fn limits_agent(setting: &str) -> bool {
    !matches!(setting, "agentType" | "projectId" | "workingDirectory" | "cwd" | "model" | "mode" | "options")
}

/// Returns whether a name, in any spelling, is that of a setting that limits what an agent may do.
#[must_use]
pub fn limits_agent_by_name(name: &str) -> bool {
    let folded = fold_name(name);
    let known = SESSION_CONFIG_FORM.fields.iter().chain(SETTING_ALIASES);
    known.copied().any(|setting| fold_name(setting) == folded && limits_agent(setting))
}

/// Returns whether the value of a setting can be written in several ways.
pub fn has_synonyms(field: &str) -> bool {
    matches!(field, APPROVAL_MODE | SANDBOX_MODE | "approvalPolicy" | "sandbox" | "sandboxPolicy")
}

/// Returns whether a value is already in the protocol's own form and needs no conversion.
pub fn is_canonical(field: &str, json: &str) -> bool {
    let is_word = |words: SettingSynonyms| {
        let value = serde_json::from_str::<Cow<'_, str>>(json).unwrap_or_default();
        words.iter().any(|(word, _)| *word == value)
    };
    json == "null"
        || match field {
            APPROVAL_MODE => is_word(APPROVAL_MODES),
            SANDBOX_MODE => is_word(SANDBOX_MODES),
            "approvalPolicy" => is_word(APPROVAL_POLICIES),
            _ => is_canonical_policy(json),
        }
}

fn is_canonical_policy(json: &str) -> bool {
    let Ok(RawObject(fields)) = serde_json::from_str(json) else { return false };
    let is_word = |value: &RawValue| {
        let value = serde_json::from_str::<Cow<'_, str>>(value.get()).unwrap_or_default();
        SANDBOX_POLICIES.iter().any(|(word, _)| *word == value)
    };
    fields.iter().all(|(name, value)| match name.as_str() {
        "type" => is_word(value),
        WRITABLE_ROOTS | NETWORK_ACCESS | "_meta" => true,
        _ => false,
    })
}
