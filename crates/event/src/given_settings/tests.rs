//! Examples of settings as clients write them.

use std::borrow::Cow;

use schemars::{JsonSchema, schema_for};
use serde_json::{Value, json};

use super::{MCP_FIELDS, MisplacedSettings, SESSION_CONFIG_FORM, SettingsForm, read_mcp_servers, read_settings};
use crate::{McpServerConfig, SessionConfig};

const TEST_FORM: SettingsForm = SettingsForm {
    fields: &["prompt", "config"],
    has_config: true,
    settings: MisplacedSettings::Taken { approval: "config.approvalMode", sandbox: "config.sandboxMode" },
};

/// Returns the accepted settings, the rest of the object, and the ignored fields.
fn read_body(body: &Value) -> Result<(Value, Value, Vec<String>), String> {
    let text = body.to_string();
    let (json, given) = read_settings(&text, &TEST_FORM).map_err(|error| error.to_string())?;
    let rest = serde_json::from_str(&json).unwrap();
    Ok((serde_json::to_value(given.config).unwrap(), rest, given.ignored))
}

fn schema_fields<T: JsonSchema>() -> Vec<String> {
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
    assert_eq!(sorted(SESSION_CONFIG_FORM.fields), schema_fields::<SessionConfig>());
    assert_eq!(sorted(MCP_FIELDS), schema_fields::<McpServerConfig>());
}

#[test]
fn what_is_as_it_should_be_is_not_touched() {
    let body = r#"{"prompt":"x","config":{"approvalMode":"ask","mcpServers":{"a":{"url":"u"}}},"_meta":1}"#;
    let canonical = body.replace(",\"_meta\":1", "");
    let (json, given) = read_settings(&canonical, &TEST_FORM).unwrap();
    assert!(matches!(json, Cow::Borrowed(_)) && given == super::ClientSettings::default());
    assert!(read_settings(body, &TEST_FORM).unwrap().1.ignored.is_empty());
    assert_eq!(read_settings("[1]", &TEST_FORM).unwrap().0, "[1]");
    assert_eq!(read_settings("{nope", &TEST_FORM).unwrap().0, "{nope");
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
        assert_eq!(read_body(&body).unwrap().0, taken, "{body}");
    }
    let (_, rest, _) = read_body(&json!({"Prompt": "x", "config": {"sandboxmode": "readOnly"}})).unwrap();
    assert_eq!(rest, json!({"prompt": "x", "config": {"sandboxMode": "readOnly"}}));
    let (_, rest, _) = read_body(&json!({"config": {"mcp_servers": {"a": {"exclude_tools": ["x"]}}}})).unwrap();
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
        let error = read_body(&body).unwrap_err();
        assert!(error.starts_with(parts[0]) && error.contains(parts[1]), "{body}: {error}");
    }
    let refusing = SettingsForm { settings: MisplacedSettings::Refused("elsewhere"), ..TEST_FORM };
    let error = read_settings(r#"{"sandbox":"readOnly"}"#, &refusing).unwrap_err();
    assert!(error.reason.contains("elsewhere"), "{error}");
}

#[test]
fn the_rest_is_ignored_and_listed() {
    let body = json!({"prompt": "x", "webhookUrl": "u", "config": {"novelty": 1, "mcpServers": {"a": {"icon": "i"}}}});
    let (taken, rest, mut ignored) = read_body(&body).unwrap();
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
