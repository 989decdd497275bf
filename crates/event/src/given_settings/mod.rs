//! Settings as clients write them. One rule for every protocol and file: a setting that is misplaced or spelled in
//! another way is taken where its meaning is plain, and refused with the right name where it is not. No setting that
//! limits an agent is ever ignored. Other unknown fields are, and listed.

mod names;
#[cfg(test)]
mod tests;
mod values;

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

use names::{MCP_LIMITS, fold, right_name};
use values::{
    APPROVAL_MODES, APPROVAL_POLICIES, SANDBOX_MODES, check_setting, is_canonical, is_limit, limits_agent,
    sandbox_policy, word,
};

use crate::SessionConfig;

/// What an object has besides its own fields.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct GivenSettings {
    /// Settings of the session that stand in it under another name, or where the protocol has none.
    pub config: SessionConfig,
    /// The paths of fields that mean nothing.
    pub ignored: Vec<String>,
}

/// More names than these are only counted.
const MAX_NAMED: usize = 20;

/// A longer name is cut.
const MAX_NAME_CHARS: usize = 60;

/// Returns what is told about fields that were ignored; nothing if there are none.
#[must_use]
pub fn describe_ignored(fields: &[String]) -> Option<String> {
    let named = fields.iter().take(MAX_NAMED).map(|field| field.chars().take(MAX_NAME_CHARS).collect::<String>());
    let names = named.collect::<Vec<_>>().join(", ");
    match fields.len() {
        0 => None,
        many if many > MAX_NAMED => Some(format!("ignored unknown fields: {names} and {} more", many - MAX_NAMED)),
        _ => Some(format!("ignored unknown fields: {names}")),
    }
}

/// A setting that can be neither taken nor ignored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError {
    /// Its path.
    pub field: String,
    /// What is wrong, and what to write instead.
    pub reason: String,
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.reason)
    }
}

impl std::error::Error for SettingsError {}

/// An object that clients write.
#[derive(Clone, Copy, Debug)]
pub struct SettingsForm {
    /// Its fields.
    pub fields: &'static [&'static str],
    /// Its field `config` holds settings of the session.
    pub has_config: bool,
    /// What becomes of settings that are no fields of it.
    pub settings: MisplacedSettings,
}

/// What becomes of settings that are no fields of an object.
#[derive(Clone, Copy, Debug)]
pub enum MisplacedSettings {
    /// They are taken. This is how the approval mode and the sandbox are called there.
    Taken {
        /// The approval mode.
        approval: &'static str,
        /// The sandbox.
        sandbox: &'static str,
    },
    /// They are refused, and this says where they belong.
    Refused(&'static str),
}

/// The settings of a session.
const CONFIG: SettingsForm = SettingsForm {
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
    ],
    has_config: false,
    settings: MisplacedSettings::Taken { approval: "config.approvalMode", sandbox: "config.sandboxMode" },
};

const APPROVAL_MODE: &str = "approvalMode";
const SANDBOX_MODE: &str = "sandboxMode";
const MCP_SERVERS: &str = "mcpServers";
const WRITABLE_ROOTS: &str = "writableRoots";
const NETWORK_ACCESS: &str = "networkAccess";

/// The fields of an MCP server.
const MCP_FIELDS: &[&str] =
    &["command", "args", "env", "url", "type", "headers", "trust", "includeTools", "excludeTools"];

/// Reads an object that a client wrote. Returns it with the names that it should have, and what else stood in it. Text that
/// is no object is returned as it is.
///
/// # Errors
/// If a setting can be neither taken nor ignored.
pub fn read_settings<'a>(json: &'a str, form: &SettingsForm) -> Result<(Cow<'a, str>, GivenSettings), SettingsError> {
    let mut reading = Reading::default();
    let object = reading.read_object(json, form, "")?;
    let config = serde_json::from_value(Value::Object(reading.taken))
        .map_err(|error| SettingsError { field: "config".to_owned(), reason: error.to_string() })?;
    Ok((object, GivenSettings { config, ignored: reading.ignored }))
}

/// Reads MCP servers by name. Returns them with the names that their fields should have, and the fields that mean nothing.
///
/// # Errors
/// If a server has a limit that can be neither taken nor ignored.
pub fn read_mcp_servers(json: &str) -> Result<(Cow<'_, str>, Vec<String>), SettingsError> {
    let mut reading = Reading::default();
    let servers = reading.read_servers(json, MCP_SERVERS)?;
    Ok((servers, reading.ignored))
}

impl SessionConfig {
    /// Adds settings that stood elsewhere.
    ///
    /// # Errors
    /// If one of them is set here already, to something else.
    pub fn add_given(&mut self, given: &Self) -> Result<(), SettingsError> {
        let fields = |config: &Self| match serde_json::to_value(config) {
            Ok(Value::Object(fields)) => fields,
            _ => Map::new(),
        };
        let mut own = fields(self);
        for (name, value) in fields(given) {
            if own.insert(name.clone(), value.clone()).is_some_and(|before| before != value) {
                return Err(given_twice(name));
            }
        }
        // Both were settings, so that they are together.
        *self = serde_json::from_value(Value::Object(own)).unwrap_or_default();
        Ok(())
    }
}

fn given_twice(field: String) -> SettingsError {
    SettingsError { field, reason: "given twice, with different values".to_owned() }
}

/// What was found so far.
#[derive(Default)]
struct Reading {
    taken: Map<String, Value>,
    ignored: Vec<String>,
}

impl Reading {
    fn read_object<'a>(
        &mut self,
        json: &'a str,
        form: &SettingsForm,
        path: &str,
    ) -> Result<Cow<'a, str>, SettingsError> {
        let Ok(Entries(entries)) = serde_json::from_str(json) else { return Ok(Cow::Borrowed(json)) };
        let mut kept = KeptFields::default();
        for (name, value) in &entries {
            let at = join(path, name);
            let fields = form.fields.iter().find(|field| **field == name || fold(field) == fold(name));
            match fields {
                Some(field) => self.read_field(field, name, value, form, &at, &mut kept)?,
                None if name == "_meta" => {}
                None => self.read_other(name, value, form, at)?,
            }
        }
        Ok(kept.finish(json, entries.len()))
    }

    /// A field of the object, perhaps in another spelling.
    fn read_field<'a>(
        &mut self,
        field: &'static str,
        name: &str,
        value: &'a RawValue,
        form: &SettingsForm,
        at: &str,
        kept: &mut KeptFields<'a>,
    ) -> Result<(), SettingsError> {
        let json = match field {
            "config" if form.has_config => self.read_object(value.get(), &CONFIG, at)?,
            MCP_SERVERS => self.read_servers(value.get(), at)?,
            _ => Cow::Borrowed(value.get()),
        };
        if is_limit(field) && !is_canonical(field, &json) {
            return self.take(field, &json, at);
        }
        kept.push(field, name, json, at)
    }

    /// A field that the object does not have.
    fn read_other(
        &mut self,
        name: &str,
        value: &RawValue,
        form: &SettingsForm,
        at: String,
    ) -> Result<(), SettingsError> {
        let folded = fold(name);
        let known = CONFIG.fields.iter().find(|field| fold(field) == folded);
        let known = known.copied().or_else(|| OTHER_NAMES.iter().find(|other| fold(other) == folded).copied());
        match (known, form.settings) {
            (Some(setting), MisplacedSettings::Refused(_)) if !limits_agent(setting) => {
                self.ignored.push(at);
                Ok(())
            }
            (Some(_), MisplacedSettings::Refused(place)) => {
                Err(SettingsError { field: at, reason: format!("it has no effect here: {place}") })
            }
            (Some(setting), MisplacedSettings::Taken { .. }) => self.take(setting, value.get(), &at),
            (None, settings) => match right_name(&folded) {
                Some(right) => Err(SettingsError { field: at, reason: settings.advise(right) }),
                None => {
                    self.ignored.push(at);
                    Ok(())
                }
            },
        }
    }

    /// Takes a setting for what it means.
    fn take(&mut self, setting: &str, json: &str, at: &str) -> Result<(), SettingsError> {
        if json == "null" {
            return Ok(());
        }
        let json = if setting == MCP_SERVERS { self.read_servers(json, at)? } else { Cow::Borrowed(json) };
        let value: Value = serde_json::from_str(&json).unwrap_or_default();
        let mut add = |field: &str, value: Value| {
            if self.taken.insert(field.to_owned(), value.clone()).is_some_and(|before| before != value) {
                return Err(given_twice(at.to_owned()));
            }
            check_setting(field, &value).map_err(|reason| SettingsError { field: at.to_owned(), reason })
        };
        match setting {
            APPROVAL_MODE => add(APPROVAL_MODE, word(&value, APPROVAL_MODES, at)?),
            "approvalPolicy" => add(APPROVAL_MODE, word(&value, APPROVAL_POLICIES, at)?),
            SANDBOX_MODE => add(SANDBOX_MODE, word(&value, SANDBOX_MODES, at)?),
            "sandbox" | "sandboxPolicy" => {
                for (field, value) in sandbox_policy(&value, at)? {
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
        let Ok(Entries(servers)) = serde_json::from_str(json) else { return Ok(Cow::Borrowed(json)) };
        let mut kept = KeptFields::default();
        for (server, value) in &servers {
            let at = join(path, server);
            let value = self.read_server(value.get(), &at)?;
            kept.push(server, server, value, &at)?;
        }
        Ok(kept.finish(json, servers.len()))
    }

    fn read_server<'a>(&mut self, json: &'a str, path: &str) -> Result<Cow<'a, str>, SettingsError> {
        let Ok(Entries(entries)) = serde_json::from_str(json) else { return Ok(Cow::Borrowed(json)) };
        let mut kept = KeptFields::default();
        for (name, value) in &entries {
            let (at, folded) = (join(path, name), fold(name));
            if let Some(field) = MCP_FIELDS.iter().find(|field| fold(field) == folded) {
                kept.push(field, name, Cow::Borrowed(value.get()), &at)?;
            } else if let Some((_, right)) = MCP_LIMITS.iter().find(|(limit, _)| *limit == folded) {
                return Err(SettingsError { field: at, reason: format!("there is no such setting; use {right}") });
            } else {
                self.ignored.push(at);
            }
        }
        Ok(kept.finish(json, entries.len()))
    }
}

impl MisplacedSettings {
    fn advise(self, right: &str) -> String {
        let right = match self {
            Self::Taken { approval, .. } if right == APPROVAL_MODE => approval,
            Self::Taken { sandbox, .. } if right == SANDBOX_MODE => sandbox,
            Self::Refused(place) => return format!("there is no such setting: {place}"),
            Self::Taken { .. } => right,
        };
        format!("there is no such setting; use {right}")
    }
}

/// Names of settings in other protocols. `sandbox` and `sandboxPolicy` are objects there.
const OTHER_NAMES: &[&str] = &["approvalPolicy", "sandbox", "sandboxPolicy", "disallowedTools", "cwd"];

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

/// The fields of an object that are kept, under the names that they should have.
#[derive(Default)]
struct KeptFields<'a> {
    fields: Vec<(String, Cow<'a, str>)>,
    is_changed: bool,
}

impl<'a> KeptFields<'a> {
    fn push(&mut self, field: &str, given: &str, json: Cow<'a, str>, at: &str) -> Result<(), SettingsError> {
        self.is_changed |= field != given || matches!(json, Cow::Owned(_));
        match self.fields.iter().find(|(name, _)| name == field) {
            Some((_, before)) if *before != json => Err(given_twice(at.to_owned())),
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

    /// Returns the object as it was, unless something changed.
    fn finish<'b>(self, json: &'b str, count: usize) -> Cow<'b, str> {
        if !self.is_changed && self.fields.len() == count {
            return Cow::Borrowed(json);
        }
        let fields = self.fields.iter().map(|(name, json)| format!("{}:{json}", json!(name)));
        Cow::Owned(format!("{{{}}}", fields.collect::<Vec<_>>().join(",")))
    }
}

/// The fields of an object in their order, each as it is written.
struct Entries<'a>(Vec<(String, &'a RawValue)>);

impl<'de: 'a, 'a> Deserialize<'de> for Entries<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EntriesVisitor;

        impl<'de> Visitor<'de> for EntriesVisitor {
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
        deserializer.deserialize_map(EntriesVisitor).map(Entries)
    }
}
