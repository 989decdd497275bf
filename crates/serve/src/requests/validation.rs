//! The rules for request bodies: as checks before anything happens, and as JSON Schema for the API description.

use std::time::Duration;

use axum::http::StatusCode;
use base64::{Engine as _, prelude::BASE64_STANDARD};
use schemars::{JsonSchema as _, Schema, SchemaGenerator, json_schema};
use serde_json::{Value, json};
use switchboard_agents::{AGENTS, AgentPrompt, PromptImage};
use switchboard_client::{ImageData, MAX_TIMEOUT_SECONDS, MAX_TURNS};
use switchboard_event::SessionConfig;

use super::{PromptRequest, SessionRequest};
use crate::Problem;

const MAX_PROMPT_CHARS: usize = 100_000;

const MAX_NAME_CHARS: usize = 1000;

/// The maximum size of the settings, and of the command with its environment.
const MAX_SETTINGS_BYTES: usize = 256 << 10;

/// The maximum size of all images of a prompt.
const MAX_IMAGES_BYTES: usize = 20 << 20;

impl SessionRequest {
    /// Returns the requested agent; empty if only the continued session determines it.
    pub fn agent(&self) -> Result<&str, Problem> {
        let inner = self.config.as_ref().and_then(|config| config.agent_type.as_deref());
        let given = Some(self.agent_type.as_str()).filter(|agent| !agent.is_empty());
        let mut named = [given, self.agent_id.as_deref(), inner].into_iter().flatten();
        let Some(agent) = named.next() else {
            let known = self.session_id.as_ref().map(|_| "");
            return known.ok_or_else(|| Problem::bad_field("agentType", "required; GET /api/agents lists all agents"));
        };
        if named.any(|other| other != agent) {
            return Err(Problem::conflict("two_agents", "agentType: the request names two different agents"));
        }
        let known = AGENTS.iter().any(|known| known.name == agent);
        let unknown = || {
            Problem::bad_request("unknown_agent", format!("agentType: unknown agent `{agent}`"))
                .with_hint("GET /api/agents lists all agents")
        };
        if known { Ok(agent) } else { Err(unknown()) }
    }

    /// Returns the settings.
    pub fn settings(&self) -> Result<SessionConfig, Problem> {
        let mut config = self.config.clone().unwrap_or_default();
        if self.project_id.is_some() {
            config.project_id.clone_from(&self.project_id);
        }
        check_settings(&config)?;
        Ok(config)
    }

    /// Returns the prompt. Only a new session that stays open may lack one.
    pub fn prompt(&self) -> Result<Option<AgentPrompt>, Problem> {
        let none = self.prompt.is_empty() && self.images.is_empty() && self.stay && self.session_id.is_none();
        if none { Ok(None) } else { build_prompt(&self.prompt, &self.images).map(Some) }
    }

    /// Checks the remaining fields.
    pub fn check(&self) -> Result<(), Problem> {
        if self.command.iter().any(|word| word.contains('\0')) {
            return Err(Problem::bad_field("command", "arguments must not have NUL characters"));
        }
        let bad =
            |(name, value): (&String, &String)| name.is_empty() || name.contains(['=', '\0']) || value.contains('\0');
        if self.env.iter().any(bad) {
            return Err(Problem::bad_field(
                "env",
                "names must not be empty or have `=`, and NUL characters are not allowed",
            ));
        }
        let words = self.command.iter().chain(self.env.keys()).chain(self.env.values());
        if words.map(String::len).sum::<usize>() > MAX_SETTINGS_BYTES {
            return Err(Problem::bad_field("env", "command and env must have at most 256 kB in total"));
        }
        if self.fork && self.session_id.is_none() {
            return Err(Problem::bad_field("fork", "requires sessionId, the session to copy"));
        }
        Ok(())
    }

    pub fn timeout(&self) -> Result<Option<Duration>, Problem> {
        parse_timeout("timeoutSeconds", self.timeout_seconds)
    }

    pub fn approval_timeout(&self) -> Result<Option<Duration>, Problem> {
        parse_timeout("approvalTimeoutSeconds", self.approval_timeout_seconds)
    }
}

impl PromptRequest {
    pub fn prompt(&self) -> Result<AgentPrompt, Problem> {
        build_prompt(&self.prompt, &self.images)
    }

    pub fn settings(&self) -> Result<SessionConfig, Problem> {
        let config = self.config.clone().unwrap_or_default();
        check_settings(&config)?;
        Ok(config)
    }
}

fn parse_timeout(field: &str, seconds: Option<f64>) -> Result<Option<Duration>, Problem> {
    let Some(seconds) = seconds else { return Ok(None) };
    let time = Duration::try_from_secs_f64(seconds).ok().filter(|_| seconds > 0.0 && seconds <= MAX_TIMEOUT_SECONDS);
    // Not less than the resolution of timers.
    let time = time.map(|time| time.max(Duration::from_millis(1)));
    time.map(Some).ok_or_else(|| Problem::bad_field(field, "must be a number of seconds above 0 and at most a month"))
}

fn check_settings(config: &SessionConfig) -> Result<(), Problem> {
    if config.max_turns.is_some_and(|turns| !(1..=MAX_TURNS).contains(&turns)) {
        return Err(Problem::bad_field("config.maxTurns", "must be a number from 1 to 1000"));
    }
    if config.project_id.as_ref().is_some_and(|project| project.chars().count() > MAX_NAME_CHARS) {
        return Err(Problem::bad_field("projectId", "must have at most 1000 characters"));
    }
    let size = serde_json::to_vec(config).map_or(0, |json| json.len());
    if size > MAX_SETTINGS_BYTES {
        return Err(Problem::bad_field("config", "must have at most 256 kB"));
    }
    Ok(())
}

fn build_prompt(text: &str, images: &[ImageData]) -> Result<AgentPrompt, Problem> {
    // The limit counts characters; as few bytes are few enough in any script.
    let length = if text.len() <= MAX_PROMPT_CHARS { text.len() } else { text.chars().count() };
    if length == 0 {
        return Err(Problem::bad_field("prompt", "must not be empty"));
    }
    if length > MAX_PROMPT_CHARS {
        return Err(Problem::bad_field("prompt", "must have at most 100,000 characters"));
    }
    let mut size = 0;
    for (index, image) in images.iter().enumerate() {
        size += check_image(index, image)?;
    }
    if size > MAX_IMAGES_BYTES {
        let detail = "images: must have at most 20 MB in total";
        return Err(Problem::new(StatusCode::PAYLOAD_TOO_LARGE, "too_large", detail));
    }
    let image =
        |image: &ImageData| PromptImage { media_type: image.media_type.clone(), data: image.data.clone(), path: None };
    Ok(AgentPrompt { text: text.to_owned(), images: images.iter().map(image).collect(), output_schema: None })
}

/// Returns the size of a valid image.
fn check_image(index: usize, image: &ImageData) -> Result<usize, Problem> {
    let plain = |name: &str| name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".+-".contains(&byte));
    if !image.media_type.strip_prefix("image/").is_some_and(|name| !name.is_empty() && plain(name)) {
        return Err(Problem::bad_field(&format!("images[{index}].mediaType"), "must be image/…"));
    }
    let decoded = BASE64_STANDARD.decode(&image.data).ok().filter(|bytes| !bytes.is_empty());
    let bytes = decoded.ok_or_else(|| Problem::bad_field(&format!("images[{index}].data"), "must be base64"))?;
    Ok(bytes.len())
}

pub fn agent_name_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = AGENTS.iter().map(|agent| agent.name).collect();
    json_schema!({ "type": "string", "enum": names })
}

pub fn optional_agent_name_schema(_: &mut SchemaGenerator) -> Schema {
    let names: Vec<_> = AGENTS.iter().map(|agent| json!(agent.name)).chain([Value::Null]).collect();
    json_schema!({ "enum": names })
}

/// Requires one of the fields that determine the agent, and a prompt.
pub fn require_agent_and_prompt(schema: &mut Schema) {
    let named = |field: &str| json!({ "required": [field], "properties": { (field): { "type": "string" } } });
    schema.insert("anyOf".to_owned(), json!([named("agentType"), named("agentId"), named("sessionId")]));
    // Only a continued session can be forked.
    let copied = json!({ "required": ["fork"], "properties": { "fork": { "const": true } } });
    schema.insert("if".to_owned(), copied);
    schema.insert("then".to_owned(), named("sessionId"));
    // Only a new session that stays open can lack a prompt.
    let stays = json!({ "required": ["stay"], "properties": { "stay": { "const": true }, "sessionId": { "type": "null" },
        "images": { "maxItems": 0 } } });
    schema.insert("allOf".to_owned(), json!([{ "anyOf": [{ "required": ["prompt"] }, stays] }]));
    if let Some(prompt) = schema.pointer_mut("/properties/prompt").and_then(Value::as_object_mut) {
        prompt.remove("default");
    }
}

/// The settings with the limits of requests.
pub fn settings_schema(generator: &mut SchemaGenerator) -> Schema {
    let mut own = SessionConfig::json_schema(generator);
    let mut bound = |field: &str, keys: Value| {
        let field = own.pointer_mut(&format!("/properties/{field}")).and_then(Value::as_object_mut);
        field.into_iter().for_each(|field| field.extend(keys.as_object().cloned().unwrap_or_default()));
    };
    bound("maxTurns", json!({ "minimum": 1, "maximum": MAX_TURNS }));
    bound("workingDirectory", json!({ "pattern": "^/" }));
    let agent = optional_agent_name_schema(generator).to_value();
    bound("agentType", agent);
    bound("approvalMode", json!({ "default": "ask" }));
    bound("sandboxMode", json!({ "default": "none" }));
    json_schema!({ "anyOf": [own, { "type": "null" }] })
}
