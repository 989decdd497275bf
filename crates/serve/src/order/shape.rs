//! What the schemas of requests say beside their types: bounds, and the names of agents.

use schemars::{JsonSchema as _, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use switchboard_agents::AGENTS;
use switchboard_event::SessionConfig;

/// The name of an agent that this server knows.
pub fn driver_name(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = AGENTS.iter().map(|agent| agent.name).collect();
    json_schema!({ "type": "string", "enum": names })
}

/// The same where it may be left out.
pub fn agent_name(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = AGENTS.iter().map(|agent| json!(agent.name)).chain([Value::Null]).collect();
    json_schema!({ "enum": names })
}

/// One of the ways to name the agent must be taken.
pub fn named_agent(schema: &mut Schema) {
    let named = |field: &str| json!({ "required": [field], "properties": { (field): { "type": "string" } } });
    schema.insert("anyOf".to_owned(), json!([named("agentType"), named("agentId"), named("sessionId")]));
    // Only what is continued has a copy.
    let copied = json!({ "required": ["fork"], "properties": { "fork": { "const": true } } });
    schema.insert("if".to_owned(), copied);
    schema.insert("then".to_owned(), named("sessionId"));
    // Only a new session that stays can do without a prompt.
    let stays = json!({ "required": ["stay"], "properties": { "stay": { "const": true }, "sessionId": { "type": "null" },
        "images": { "maxItems": 0 } } });
    schema.insert("allOf".to_owned(), json!([{ "anyOf": [{ "required": ["prompt"] }, stays] }]));
    if let Some(prompt) = schema.pointer_mut("/properties/prompt").and_then(Value::as_object_mut) {
        prompt.remove("default");
    }
}

/// The settings, with the bounds that requests have to keep.
pub fn settings(generator: &mut SchemaGenerator) -> Schema {
    let mut own = SessionConfig::json_schema(generator);
    let mut bound = |field: &str, keys: Value| {
        let field = own.pointer_mut(&format!("/properties/{field}")).and_then(Value::as_object_mut);
        field.into_iter().for_each(|field| field.extend(keys.as_object().cloned().unwrap_or_default()));
    };
    bound("maxTurns", json!({ "minimum": 1, "maximum": super::check::MOST_TURNS }));
    bound("workingDirectory", json!({ "pattern": "^/" }));
    let agent = agent_name(generator).to_value();
    bound("agentType", agent);
    bound("approvalMode", json!({ "default": "ask" }));
    bound("sandboxMode", json!({ "default": "none" }));
    json_schema!({ "anyOf": [own, { "type": "null" }] })
}

pub fn variables(_: &mut SchemaGenerator) -> Schema {
    let text = json!({ "type": "string", "pattern": "^[^\\u0000]*$" });
    json_schema!({ "type": "object", "propertyNames": { "pattern": "^[^=\\u0000]+$" }, "additionalProperties": text })
}

pub fn seconds(_: &mut SchemaGenerator) -> Schema {
    json_schema!({ "type": ["number", "null"], "exclusiveMinimum": 0, "maximum": super::check::LONGEST })
}
