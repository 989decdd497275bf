//! Settings as clients write them. One rule for every protocol and file: a setting that is misplaced or spelled in
//! another way is taken where its meaning is plain, and refused with the right name where it is not. No setting that
//! limits an agent is ever ignored. Other unknown fields are, and listed.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::{Map, Value, json, value::RawValue};

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

/// Fields of an MCP server in other programs that say what may be used, and what to write here.
const MCP_LIMITS: &[(&str, &str)] = &[
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

/// Parts of names that are about what an agent may do, and the setting that is about it here.
const LIMITS: &[(&str, &str)] = &[
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
    ("trust", "mcpServers.NAME.trust"),
    ("disallow", "blockedTools"),
    ("tool", "allowedTools or blockedTools"),
    ("maxturn", "maxTurns"),
    ("turnlimit", "maxTurns"),
];

/// Names that are close to one of these are mistyped.
const EASILY_MISTYPED: &[&str] = &[
    APPROVAL_MODE,
    SANDBOX_MODE,
    "allowedTools",
    "blockedTools",
    "maxTurns",
    WRITABLE_ROOTS,
    "writablePaths",
    NETWORK_ACCESS,
];

/// Reads an object that a client wrote. Returns it with the names that it should have, and what else stood in it. Text that
/// is no object is returned as it is.
///
/// # Errors
/// If a setting can be neither taken nor ignored.
pub fn read_settings<'a>(
    json: &'a str,
    form: &SettingsForm,
) -> Result<(Cow<'a, str>, GivenSettings), SettingsError> {
    let mut reading = Reading::default();
    let object = reading.read_object(json, form, "")?;
    let config = serde_json::from_value(Value::Object(reading.taken)).map_err(|error| SettingsError {
        field: "config".to_owned(),
        reason: error.to_string(),
    })?;
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

/// What a word means here.
type Words = &'static [(&'static str, &'static str)];

const APPROVAL_MODES: Words =
    &[("ask", "ask"), ("askDangerous", "askDangerous"), ("autoEdit", "autoEdit"), ("autoAll", "autoAll")];
const APPROVAL_POLICIES: Words = &[("never", "autoAll"), ("unlessTrusted", "askDangerous"), ("always", "ask")];
const SANDBOX_MODES: Words =
    &[("none", "none"), ("readOnly", "readOnly"), ("workspaceWrite", "workspaceWrite"), ("fullAccess", "fullAccess")];
const SANDBOX_POLICIES: Words = &[
    ("dangerFullAccess", "fullAccess"),
    ("readOnly", "readOnly"),
    ("workspaceWrite", "workspaceWrite"),
    ("externalSandbox", "none"),
];

/// Returns what a word means, in any spelling.
fn word(value: &Value, words: Words, at: &str) -> Result<Value, SettingsError> {
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
fn sandbox_policy(value: &Value, at: &str) -> Result<Vec<(&'static str, Value)>, SettingsError> {
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
fn check_setting(field: &str, value: &Value) -> Result<(), String> {
    let alone = json!({ field: value });
    serde_json::from_value::<SessionConfig>(alone).map(drop).map_err(|error| error.to_string())
}

/// Returns whether a setting is about what an agent may do.
fn limits_agent(setting: &str) -> bool {
    !matches!(
        setting,
        "agentType" | "projectId" | "workingDirectory" | "cwd" | "model" | "mode" | "options"
    )
}

/// Settings whose values may be written in several ways.
fn is_limit(field: &str) -> bool {
    matches!(field, APPROVAL_MODE | SANDBOX_MODE | "approvalPolicy" | "sandbox" | "sandboxPolicy")
}

/// Returns whether a setting is written as its protocol has it, so that nothing has to be taken for anything.
fn is_canonical(field: &str, json: &str) -> bool {
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

/// Returns the setting that an unknown name is likely to mean, if that is one that limits an agent.
fn right_name(folded: &str) -> Option<&'static str> {
    // Those run elsewhere, after the fact.
    let folded = folded.replace("webhook", "");
    let limit = LIMITS.iter().find(|(part, _)| folded.contains(part)).map(|(_, right)| *right);
    let is_close = |name: &&str| folded.len() < 32 && distance(&folded, &fold(name)) <= 2;
    limit.or_else(|| EASILY_MISTYPED.iter().copied().find(is_close))
}

/// Returns a name without what tells spellings apart.
fn fold(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, '_' | '-' | ' ')).map(|c| c.to_ascii_lowercase()).collect()
}

/// Returns how many characters must be added, removed or replaced to make one name of the other.
fn distance(a: &str, b: &str) -> usize {
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

#[cfg(test)]
mod tests {
    use std::borrow::Cow;

    use schemars::{JsonSchema, schema_for};
    use serde_json::{Value, json};

    use super::{CONFIG, MCP_FIELDS, MisplacedSettings, SettingsForm, read_mcp_servers, read_settings};
    use crate::{McpServerConfig, SessionConfig};

    const BODY: SettingsForm = SettingsForm {
        fields: &["prompt", "config"],
        has_config: true,
        settings: MisplacedSettings::Taken { approval: "config.approvalMode", sandbox: "config.sandboxMode" },
    };

    /// What was taken, and what is left of the object.
    fn read(body: &Value) -> Result<(Value, Value, Vec<String>), String> {
        let text = body.to_string();
        let (json, given) = read_settings(&text, &BODY).map_err(|error| error.to_string())?;
        let rest = serde_json::from_str(&json).unwrap();
        Ok((serde_json::to_value(given.config).unwrap(), rest, given.ignored))
    }

    fn fields_of<T: JsonSchema>() -> Vec<String> {
        let schema = schema_for!(T).to_value();
        let mut fields: Vec<_> = schema["properties"].as_object().unwrap().keys().cloned().collect();
        fields.sort();
        fields
    }

    #[test]
    fn forms_have_the_fields_of_their_types() {
        let sorted = |fields: &[&str]| {
            let mut fields: Vec<_> = fields.iter().map(|field| (*field).to_owned()).collect();
            fields.sort();
            fields
        };
        assert_eq!(sorted(CONFIG.fields), fields_of::<SessionConfig>());
        assert_eq!(sorted(MCP_FIELDS), fields_of::<McpServerConfig>());
    }

    #[test]
    fn what_is_as_it_should_be_is_not_touched() {
        let body = r#"{"prompt":"x","config":{"approvalMode":"ask","mcpServers":{"a":{"url":"u"}}},"_meta":1}"#;
        let canonical = body.replace(",\"_meta\":1", "");
        let (json, given) = read_settings(&canonical, &BODY).unwrap();
        assert!(matches!(json, Cow::Borrowed(_)) && given == super::GivenSettings::default());
        assert!(read_settings(body, &BODY).unwrap().1.ignored.is_empty());
        assert_eq!(read_settings("[1]", &BODY).unwrap().0, "[1]");
        assert_eq!(read_settings("{nope", &BODY).unwrap().0, "{nope");
    }

    #[test]
    fn plain_settings_are_taken_wherever_they_stand() {
        for (body, taken) in [
            (json!({"sandboxMode": "readOnly"}), json!({"sandboxMode": "readOnly"})),
            (json!({"sandbox_mode": "read_only"}), json!({"sandboxMode": "readOnly"})),
            (json!({"sandbox": "read-only"}), json!({"sandboxMode": "readOnly"})),
            (json!({"config": {"sandbox": {"type": "dangerFullAccess"}}}), json!({"sandboxMode": "fullAccess"})),
            (
                json!({"sandboxPolicy": {"type": "workspaceWrite", "writable_roots": ["/a"], "networkAccess": false}}),
                json!({"sandboxMode": "workspaceWrite", "writableRoots": ["/a"], "networkAccess": false}),
            ),
            (
                json!({"sandboxPolicy": {"type": "externalSandbox", "networkAccess": "restricted"}}),
                json!({"sandboxMode": "none", "networkAccess": false}),
            ),
            (json!({"approvalPolicy": "unless_trusted"}), json!({"approvalMode": "askDangerous"})),
            (json!({"config": {"approvalMode": "auto_edit"}}), json!({"approvalMode": "autoEdit"})),
            (json!({"disallowed_tools": ["Bash"]}), json!({"blockedTools": ["Bash"]})),
            (json!({"max_turns": 3, "sandboxMode": null}), json!({"maxTurns": 3})),
        ] {
            assert_eq!(read(&body).unwrap().0, taken, "{body}");
        }
        let (_, rest, _) = read(&json!({"Prompt": "x", "config": {"sandboxmode": "readOnly"}})).unwrap();
        assert_eq!(rest, json!({"prompt": "x", "config": {"sandboxMode": "readOnly"}}));
        let (_, rest, _) = read(&json!({"config": {"mcp_servers": {"a": {"exclude_tools": ["x"]}}}})).unwrap();
        assert_eq!(rest, json!({"config": {"mcpServers": {"a": {"excludeTools": ["x"]}}}}));
    }

    #[test]
    fn what_limits_an_agent_and_is_not_plain_is_refused() {
        for (body, parts) in [
            (json!({"config": {"hooks": {"beforeToolCall": "x"}}}), ["config.hooks: ", "approvalMode"]),
            (json!({"permissionMode": "plan"}), ["permissionMode: ", "use config.approvalMode"]),
            (json!({"config": {"aprovalMode": "ask"}}), ["config.aprovalMode: ", "config.approvalMode"]),
            (json!({"config": {"blokedTools": []}}), ["config.blokedTools: ", "blockedTools"]),
            (json!({"config": {"sandboxMode": "docker"}}), ["config.sandboxMode: ", "readOnly"]),
            (json!({"sandboxMode": 7}), ["sandboxMode: ", "readOnly"]),
            (json!({"maxTurns": "many"}), ["maxTurns: ", "invalid"]),
            (json!({"sandbox": {"type": "readOnly", "excludeTmp": true}}), ["sandbox.excludeTmp: ", "writableRoots"]),
            (json!({"sandbox": {}}), ["sandbox.type: ", ""]),
            (json!({"sandboxMode": "none", "sandbox": "readOnly"}), ["sandbox", "twice"]),
            (json!({"config": {"mcpServers": {"a": {"disabled": true}}}}), ["config.mcpServers.a.disabled: ", ""]),
        ] {
            let error = read(&body).unwrap_err();
            assert!(error.starts_with(parts[0]) && error.contains(parts[1]), "{body}: {error}");
        }
        let refusing = SettingsForm { settings: MisplacedSettings::Refused("elsewhere"), ..BODY };
        let error = read_settings(r#"{"sandbox":"readOnly"}"#, &refusing).unwrap_err();
        assert!(error.reason.contains("elsewhere"), "{error}");
    }

    #[test]
    fn the_rest_is_ignored_and_listed() {
        let body = json!({"prompt": "x", "webhookUrl": "u", "config": {"novelty": 1, "mcpServers": {"a": {"icon": "i"}}}});
        let (taken, rest, mut ignored) = read(&body).unwrap();
        ignored.sort();
        assert_eq!((taken, rest), (json!({}), json!({"prompt": "x", "config": {"mcpServers": {"a": {}}}})));
        assert_eq!(ignored, ["config.mcpServers.a.icon", "config.novelty", "webhookUrl"]);
        let (servers, ignored) = read_mcp_servers(r#"{"a":{"command":"c","include_tools":["x"],"icon":1}}"#).unwrap();
        assert_eq!(servers, r#"{"a":{"command":"c","includeTools":["x"]}}"#);
        assert_eq!(ignored, ["mcpServers.a.icon"]);
    }

    #[test]
    fn settings_from_two_places_must_agree() {
        let config = |json: Value| serde_json::from_value::<SessionConfig>(json).unwrap();
        let mut own = config(json!({"model": "m", "sandboxMode": "readOnly"}));
        own.add_given(&config(json!({"sandboxMode": "readOnly", "maxTurns": 2}))).unwrap();
        assert_eq!(own, config(json!({"model": "m", "sandboxMode": "readOnly", "maxTurns": 2})));
        assert_eq!(own.add_given(&config(json!({"sandboxMode": "none"}))).unwrap_err().field, "sandboxMode");
    }
}
