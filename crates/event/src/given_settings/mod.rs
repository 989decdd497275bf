//! Settings as clients write them. One rule for every protocol and file: a misplaced or differently spelled setting is
//! accepted where its meaning is clear, and refused with the right name where it is not. A setting that limits an agent
//! is never ignored. Other unknown fields are ignored and listed.

mod spellings;
#[cfg(test)]
mod tests;

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

pub use spellings::limits_agent_by_name;

use spellings::{
    APPROVAL_MODES, APPROVAL_POLICIES, MCP_LIMIT_ALIASES, SANDBOX_MODES, check_setting, fold_name, has_synonyms,
    is_canonical, limits_agent, parse_sandbox_policy, resolve_synonym, suggest_setting,
};

use crate::SessionConfig;

/// The settings of an object besides its own fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ClientSettings {
    /// Settings of the session found under another name, or where the protocol has none.
    pub config: SessionConfig,
    /// The paths of fields without a meaning.
    pub ignored: Vec<String>,
}

/// The maximum number of fields that are listed; further ones are only counted.
const MAX_LISTED_FIELDS: usize = 20;

/// The maximum length of a listed name; longer names are cut.
const MAX_FIELD_NAME_CHARS: usize = 60;

/// Returns a message about ignored fields; `None` if there are none.
#[must_use]
pub fn describe_ignored(fields: &[String]) -> Option<String> {
    let named =
        fields.iter().take(MAX_LISTED_FIELDS).map(|field| field.chars().take(MAX_FIELD_NAME_CHARS).collect::<String>());
    let names = named.collect::<Vec<_>>().join(", ");
    match fields.len() {
        0 => None,
        many if many > MAX_LISTED_FIELDS => {
            Some(format!("ignored unknown fields: {names} and {} more", many - MAX_LISTED_FIELDS))
        }
        _ => Some(format!("ignored unknown fields: {names}")),
    }
}

/// A setting that can be neither accepted nor ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// The path of the setting.
    pub field: String,
    /// The problem, and what to write instead.
    pub reason: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for SettingsError {}

/// The shape of an object that clients write.
#[derive(Clone, Copy, Debug)]
pub struct SettingsForm {
    /// The fields of the object.
    pub fields: &'static [&'static str],
    /// The field `config` holds settings of the session.
    pub has_config: bool,
    /// The handling of settings that are not fields of the object.
    pub settings: MisplacedSettings,
}

/// The handling of settings that are not fields of an object.
#[derive(Clone, Copy, Debug)]
pub enum MisplacedSettings {
    /// They are accepted. The names of the approval mode and the sandbox in this object are used in suggestions.
    Taken {
        /// The name of the approval mode.
        approval: &'static str,
        /// The name of the sandbox setting.
        sandbox: &'static str,
    },
    /// They are refused with a note on where they belong.
    Refused(&'static str),
}

/// The form of a session's settings.
const SESSION_CONFIG_FORM: SettingsForm = SettingsForm {
    fields: &[
        "agentType",
        "projectId",
        "workingDirectory",
        "model",
        APPROVAL_MODE,
        SANDBOX_MODE,
        "allowedTools",
        "blockedTools",
        "maxTurns",
        MCP_SERVERS,
        "mode",
        "options",
        WRITABLE_ROOTS,
        "writablePaths",
        NETWORK_ACCESS,
        ALLOWED_DOMAINS,
        "publishedPorts",
        "node",
        "labels",
    ],
    has_config: false,
    settings: MisplacedSettings::Taken { approval: "config.approvalMode", sandbox: "config.sandboxMode" },
};

const APPROVAL_MODE: &str = "approvalMode";
const SANDBOX_MODE: &str = "sandboxMode";
const MCP_SERVERS: &str = "mcpServers";
const WRITABLE_ROOTS: &str = "writableRoots";
const NETWORK_ACCESS: &str = "networkAccess";
const ALLOWED_DOMAINS: &str = "allowedDomains";

/// The fields of an MCP server.
const MCP_FIELDS: &[&str] =
    &["command", "args", "env", "url", "type", "headers", "trust", "includeTools", "excludeTools"];

/// Reads an object that a client wrote. Returns it with canonical names, and the settings found elsewhere in it. Text
/// that is not an object is returned unchanged.
///
/// # Errors
/// Fails if a setting can be neither accepted nor ignored.
pub fn read_settings<'a>(json: &'a str, form: &SettingsForm) -> Result<(Cow<'a, str>, ClientSettings), SettingsError> {
    let mut reading = SettingsReader::default();
    let object = reading.read_object(json, form, "")?;
    let config = serde_json::from_value(Value::Object(reading.taken))
        .map_err(|error| SettingsError { field: "config".to_owned(), reason: error.to_string() })?;
    Ok((object, ClientSettings { config, ignored: reading.ignored }))
}

/// Reads MCP servers by name. Returns them with canonical field names, and the fields that were ignored.
///
/// # Errors
/// Fails if a server has a limit that can be neither accepted nor ignored.
pub fn read_mcp_servers(json: &str) -> Result<(Cow<'_, str>, Vec<String>), SettingsError> {
    let mut reading = SettingsReader::default();
    let servers = reading.read_servers(json, MCP_SERVERS)?;
    Ok((servers, reading.ignored))
}

impl SessionConfig {
    /// Adds settings that were given elsewhere.
    ///
    /// # Errors
    /// Fails if one of them is already set to a different value.
    pub fn add_given(&mut self, given: &Self) -> Result<(), SettingsError> {
        let fields = |config: &Self| match serde_json::to_value(config) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let mut own = fields(self);
        for (name, value) in fields(given) {
            if own.insert(name.clone(), value.clone()).is_some_and(|before| before != value) {
                return Err(conflict_error(name));
            }
        }
        // Both were valid settings, so their union is too.
        *self = serde_json::from_value(Value::Object(own)).unwrap_or_default();
        Ok(())
    }
}

fn conflict_error(field: String) -> SettingsError {
    SettingsError { field, reason: "given twice, with different values".to_owned() }
}

/// Collects the settings found so far.
#[derive(Default)]
struct SettingsReader {
    taken: Map<String, Value>,
    ignored: Vec<String>,
}

impl SettingsReader {
    fn read_object<'a>(
        &mut self,
        json: &'a str,
        form: &SettingsForm,
        path: &str,
    ) -> Result<Cow<'a, str>, SettingsError> {
        let Ok(RawObject(entries)) = serde_json::from_str(json) else { return Ok(Cow::Borrowed(json)) };
        let mut kept = CanonicalFields::default();
        for (name, value) in &entries {
            let at = join_path(path, name);
            let fields = form.fields.iter().find(|field| **field == name || fold_name(field) == fold_name(name));
            match fields {
                Some(field) => self.read_field(field, name, value, form, &at, &mut kept)?,
                None if name == "_meta" => {}
                None => self.read_unknown_field(name, value, form, at)?,
            }
        }
        Ok(kept.finish(json, entries.len()))
    }

    /// Reads a field of the object, perhaps in another spelling.
    fn read_field<'a>(
        &mut self,
        field: &'static str,
        name: &str,
        value: &'a RawValue,
        form: &SettingsForm,
        at: &str,
        kept: &mut CanonicalFields<'a>,
    ) -> Result<(), SettingsError> {
        let json = match field {
            "config" if form.has_config => self.read_object(value.get(), &SESSION_CONFIG_FORM, at)?,
            MCP_SERVERS => self.read_servers(value.get(), at)?,
            _ => Cow::Borrowed(value.get()),
        };
        if has_synonyms(field) && !is_canonical(field, &json) {
            return self.take_setting(field, &json, at);
        }
        kept.push(field, name, json, at)
    }

    /// Reads a field that the object does not have.
    fn read_unknown_field(
        &mut self,
        name: &str,
        value: &RawValue,
        form: &SettingsForm,
        at: String,
    ) -> Result<(), SettingsError> {
        let folded = fold_name(name);
        let known = SESSION_CONFIG_FORM.fields.iter().find(|field| fold_name(field) == folded);
        let known = known.copied().or_else(|| SETTING_ALIASES.iter().find(|other| fold_name(other) == folded).copied());
        match (known, form.settings) {
            (Some(setting), MisplacedSettings::Refused(_)) if !limits_agent(setting) => {
                self.ignored.push(at);
                Ok(())
            }
            (Some(_), MisplacedSettings::Refused(place)) => {
                Err(SettingsError { field: at, reason: format!("it has no effect here: {place}") })
            }
            (Some(setting), MisplacedSettings::Taken { .. }) => self.take_setting(setting, value.get(), &at),
            (None, settings) => match suggest_setting(&folded) {
                Some(right) => Err(SettingsError { field: at, reason: settings.correction_text(right) }),
                None => {
                    self.ignored.push(at);
                    Ok(())
                }
            },
        }
    }

    /// Stores a setting under its canonical name and value.
    fn take_setting(&mut self, setting: &str, json: &str, at: &str) -> Result<(), SettingsError> {
        if json == "null" {
            return Ok(());
        }
        let json = if setting == MCP_SERVERS { self.read_servers(json, at)? } else { Cow::Borrowed(json) };
        let value: Value = serde_json::from_str(&json).unwrap_or_default();
        let mut add = |field: &str, value: Value| {
            if self.taken.insert(field.to_owned(), value.clone()).is_some_and(|before| before != value) {
                return Err(conflict_error(at.to_owned()));
            }
            check_setting(field, &value).map_err(|reason| SettingsError { field: at.to_owned(), reason })
        };
        match setting {
            APPROVAL_MODE => add(APPROVAL_MODE, resolve_synonym(&value, APPROVAL_MODES, at)?),
            "approvalPolicy" => add(APPROVAL_MODE, resolve_synonym(&value, APPROVAL_POLICIES, at)?),
            SANDBOX_MODE => add(SANDBOX_MODE, resolve_synonym(&value, SANDBOX_MODES, at)?),
            "sandbox" | "sandboxPolicy" => {
                for (field, value) in parse_sandbox_policy(&value, at)? {
                    add(field, value)?;
                }
                Ok(())
            }
            "disallowedTools" => add("blockedTools", value),
            "cwd" => add("workingDirectory", value),
            field => add(field, value),
        }
    }

    fn read_servers<'a>(&mut self, json: &'a str, path: &str) -> Result<Cow<'a, str>, SettingsError> {
        let Ok(RawObject(servers)) = serde_json::from_str(json) else { return Ok(Cow::Borrowed(json)) };
        let mut kept = CanonicalFields::default();
        for (server, value) in &servers {
            let at = join_path(path, server);
            let value = self.read_server(value.get(), &at)?;
            kept.push(server, server, value, &at)?;
        }
        Ok(kept.finish(json, servers.len()))
    }

    fn read_server<'a>(&mut self, json: &'a str, path: &str) -> Result<Cow<'a, str>, SettingsError> {
        let Ok(RawObject(entries)) = serde_json::from_str(json) else { return Ok(Cow::Borrowed(json)) };
        let mut kept = CanonicalFields::default();
        for (name, value) in &entries {
            let (at, folded) = (join_path(path, name), fold_name(name));
            if let Some(field) = MCP_FIELDS.iter().find(|field| fold_name(field) == folded) {
                kept.push(field, name, Cow::Borrowed(value.get()), &at)?;
            } else if let Some((_, right)) = MCP_LIMIT_ALIASES.iter().find(|(limit, _)| *limit == folded) {
                return Err(SettingsError { field: at, reason: format!("there is no such setting; use {right}") });
            } else {
                self.ignored.push(at);
            }
        }
        Ok(kept.finish(json, entries.len()))
    }
}

impl MisplacedSettings {
    fn correction_text(self, right: &str) -> String {
        let right = match self {
            Self::Taken { approval, .. } if right == APPROVAL_MODE => approval,
            Self::Taken { sandbox, .. } if right == SANDBOX_MODE => sandbox,
            Self::Refused(place) => return format!("there is no such setting: {place}"),
            Self::Taken { .. } => right,
        };
        format!("there is no such setting; use {right}")
    }
}

/// Names of settings in other protocols, where `sandbox` and `sandboxPolicy` are objects.
const SETTING_ALIASES: &[&str] = &["approvalPolicy", "sandbox", "sandboxPolicy", "disallowedTools", "cwd"];

fn join_path(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The fields of an object under their canonical names.
#[derive(Default)]
struct CanonicalFields<'a> {
    fields: Vec<(String, Cow<'a, str>)>,
    is_changed: bool,
}

impl<'a> CanonicalFields<'a> {
    fn push(&mut self, field: &str, given: &str, json: Cow<'a, str>, at: &str) -> Result<(), SettingsError> {
        self.is_changed |= field != given || matches!(json, Cow::Owned(_));
        match self.fields.iter().find(|(name, _)| name == field) {
            Some((_, before)) if *before != json => Err(conflict_error(at.to_owned())),
            Some(_) => {
                self.is_changed = true;
                Ok(())
            }
            None => {
                self.fields.push((field.to_owned(), json));
                Ok(())
            }
        }
    }

    /// Returns the original text unless something changed.
    fn finish<'b>(self, json: &'b str, count: usize) -> Cow<'b, str> {
        if !self.is_changed && self.fields.len() == count {
            return Cow::Borrowed(json);
        }
        let fields = self.fields.iter().map(|(name, json)| format!("{}:{json}", json!(name)));
        Cow::Owned(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")))
    }
}

/// The fields of an object in their original order, each as verbatim JSON.
struct RawObject<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for RawObject<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct RawObjectVisitor;

        impl<'de> Visitor<'de> for RawObjectVisitor {
            type Value = Vec<(String, &'de RawValue)>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut entries = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(entries)
            }
        }
        deserializer.deserialize_map(RawObjectVisitor).map(RawObject)
    }
}
