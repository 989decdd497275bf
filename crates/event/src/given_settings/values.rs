//! Values of settings: what the words of the protocols mean, in any spelling.

use std::borrow::Cow;

use serde_json::{Value, json, value::RawValue};

use super::{APPROVAL_MODE, Entries, NETWORK_ACCESS, SANDBOX_MODE, SettingsError, WRITABLE_ROOTS, join, names::fold};
use crate::SessionConfig;

/// What a word means here.
pub type Words = &'static [(&'static str, &'static str)];

pub const APPROVAL_MODES: Words =
    &[("ask", "ask"), ("askDangerous", "askDangerous"), ("autoEdit", "autoEdit"), ("autoAll", "autoAll")];
pub const APPROVAL_POLICIES: Words = &[("never", "autoAll"), ("unlessTrusted", "askDangerous"), ("always", "ask")];
pub const SANDBOX_MODES: Words =
    &[("none", "none"), ("readOnly", "readOnly"), ("workspaceWrite", "workspaceWrite"), ("fullAccess", "fullAccess")];
const SANDBOX_POLICIES: Words = &[
    ("dangerFullAccess", "fullAccess"),
    ("readOnly", "readOnly"),
    ("workspaceWrite", "workspaceWrite"),
    ("externalSandbox", "none"),
];

/// Returns what a word means, in any spelling.
pub fn word(value: &Value, words: Words, at: &str) -> Result<Value, SettingsError> {
    let given = value.as_str().unwrap_or_default();
    match words.iter().find(|(word, _)| fold(word) == fold(given)) {
        Some((_, meaning)) => Ok(json!(meaning)),
        None => {
            let known = words.iter().map(|(word, _)| *word).collect::<Vec<_>>().join(", ");
            Err(SettingsError { field: at.to_owned(), reason: format!("{value} is not one of {known}") })
        }
    }
}

/// Returns the settings that a sandbox policy means: a word, or an object with a `type`.
pub fn sandbox_policy(value: &Value, at: &str) -> Result<Vec<(&'static str, Value)>, SettingsError> {
    let Some(fields) = value.as_object() else {
        return Ok(vec![(SANDBOX_MODE, word(value, SANDBOX_POLICIES, at)?)]);
    };
    let mut settings = Vec::new();
    for (name, value) in fields.iter().filter(|(_, value)| !value.is_null()) {
        let at = join(at, name);
        match fold(name).as_str() {
            "type" => settings.push((SANDBOX_MODE, word(value, SANDBOX_POLICIES, &at)?)),
            "writableroots" => settings.push((WRITABLE_ROOTS, value.clone())),
            "networkaccess" => settings.push((NETWORK_ACCESS, network_access(value))),
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
    Err(SettingsError { field: join(at, "type"), reason: "which sandbox?".to_owned() })
}

fn network_access(value: &Value) -> Value {
    match value.as_str().map(fold).as_deref() {
        Some("enabled") => json!(true),
        Some("restricted") => json!(false),
        _ => value.clone(),
    }
}

/// Checks that a setting has a value that it can have.
pub fn check_setting(field: &str, value: &Value) -> Result<(), String> {
    let alone = json!({ field: value });
    serde_json::from_value::<SessionConfig>(alone).map(drop).map_err(|error| error.to_string())
}

/// Returns whether a setting is about what an agent may do.
pub fn limits_agent(setting: &str) -> bool {
    !matches!(setting, "agentType" | "projectId" | "workingDirectory" | "cwd" | "model" | "mode" | "options")
}

/// Settings whose values may be written in several ways.
pub fn is_limit(field: &str) -> bool {
    matches!(field, APPROVAL_MODE | SANDBOX_MODE | "approvalPolicy" | "sandbox" | "sandboxPolicy")
}

/// Returns whether a setting is written as its protocol has it, so that nothing has to be taken for anything.
pub fn is_canonical(field: &str, json: &str) -> bool {
    let is_word = |words: Words| {
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
    let Ok(Entries(fields)) = serde_json::from_str(json) else { return false };
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
