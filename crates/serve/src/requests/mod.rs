//! The bodies of requests. `validation` has the checks before anything happens, and the same rules as JSON Schema.

mod validation;

use std::{borrow::Cow, collections::BTreeMap, ops::Deref};

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};
pub use switchboard_client::{
    ApprovalAnswer, ApprovalDecision, ArchiveRequest, CommandRequest, FollowUpRequest, ImageData, ModeRequest,
    ModelRequest, OptionRequest, StartSessionRequest,
};
use switchboard_client::{seconds_schema, variables_schema};
use switchboard_event::{ClientSettings, Id, SessionConfig, SettingsError, SettingsForm};

use crate::extract::{RequestBody, with_settings_in_config, without_settings};

pub(crate) use validation::optional_agent_name_schema;

/// The maximum size of a body with base64-encoded images.
pub const MAX_BODY_BYTES: usize = 32 << 20;

/// A request body with settings, and the fields of it that have no meaning. They are reported in the session that the
/// request starts or continues.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SettingsBody<T> {
    pub request: T,
    #[serde(skip)]
    pub ignored_fields: Vec<String>,
}

pub type SessionRequest = SettingsBody<StartSessionRequest>;

pub type PromptRequest = SettingsBody<FollowUpRequest>;

impl<T> Deref for SettingsBody<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.request
    }
}

impl<T> From<T> for SettingsBody<T> {
    fn from(request: T) -> Self {
        Self { request, ignored_fields: Vec::new() }
    }
}

impl JsonSchema for SessionRequest {
    fn schema_name() -> Cow<'static, str> {
        StartSessionRequest::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = StartSessionRequest::json_schema(generator);
        for field in ["agentType", "agentId"] {
            replace_field(&mut schema, field, optional_agent_name_schema(generator));
        }
        replace_field(&mut schema, "config", validation::settings_schema(generator));
        validation::require_agent_and_prompt(&mut schema);
        schema
    }
}

impl JsonSchema for PromptRequest {
    fn schema_name() -> Cow<'static, str> {
        FollowUpRequest::schema_name()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = FollowUpRequest::json_schema(generator);
        replace_field(&mut schema, "config", validation::settings_schema(generator));
        schema
    }
}

/// Replaces the schema of a field, and keeps its description.
fn replace_field(schema: &mut Schema, field: &str, new: Schema) {
    let Some(old) = schema.pointer_mut(&format!("/properties/{field}")) else { return };
    let description = old.get("description").cloned();
    *old = new.to_value();
    if let (Some(fields), Some(description)) = (old.as_object_mut(), description) {
        fields.insert("description".to_owned(), description);
    }
}

/// A task to run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    /// The agent.
    #[schemars(schema_with = "validation::agent_name_schema")]
    pub driver: String,
    /// The prompt: 1 to 100,000 characters.
    #[schemars(length(min = 1, max = 100_000))]
    pub task: String,
    /// The directory to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^/"))]
    pub cwd: Option<String>,
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session to continue; it must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::settings_schema")]
    pub config: Option<SessionConfig>,
    /// The program and its arguments, for an agent that is given by its command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^[^\\u0000]*$")))]
    pub command: Vec<String>,
    /// Environment variables for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "variables_schema")]
    pub env: BTreeMap<String, String>,
    /// End the session after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "seconds_schema")]
    pub timeout_seconds: Option<f64>,
    /// Unknown fields of the request.
    #[serde(skip)]
    pub ignored_fields: Vec<String>,
}

impl From<RunRequest> for SessionRequest {
    fn from(run: RunRequest) -> Self {
        let mut config = run.config.unwrap_or_default();
        config.working_directory = run.cwd.or(config.working_directory);
        config.model = run.model.or(config.model);
        let request = StartSessionRequest {
            agent_type: run.driver,
            prompt: run.task,
            session_id: run.session_id.map(Id::from),
            config: Some(config),
            command: run.command,
            env: run.env,
            timeout_seconds: run.timeout_seconds,
            ..StartSessionRequest::default()
        };
        Self { request, ignored_fields: run.ignored_fields }
    }
}

/// Adds settings to those of a body, if there are any.
fn add_settings(config: &mut Option<SessionConfig>, given: &SessionConfig) -> Result<(), SettingsError> {
    if *given == SessionConfig::default() {
        return Ok(());
    }
    config.get_or_insert_default().add_given(given)
}

macro_rules! with_settings {
    ($($body:ty, $config:ident $(. $nested:ident)* => $fields:expr,)*) => {
        $(impl RequestBody for $body {
            const FORM: SettingsForm = with_settings_in_config($fields);

            fn accept(&mut self, given: ClientSettings) -> Result<Vec<String>, SettingsError> {
                add_settings(&mut self.$config$(.$nested)*, &given.config)?;
                self.ignored_fields = given.ignored;
                Ok(Vec::new())
            }
        })*
    };
}

with_settings! {
    SessionRequest, request.config => &[
        "agentType", "agentId", "prompt", "projectId", "sessionId", "config", "images", "command", "env", "fork", "stay",
        "timeoutSeconds", "approvalTimeoutSeconds",
    ],
    RunRequest, config => &["driver", "task", "cwd", "model", "sessionId", "config", "command", "env", "timeoutSeconds"],
    // `type` and `id` belong to WebSocket messages.
    PromptRequest, request.config => &["prompt", "images", "config", "type", "id"],
}

macro_rules! without_settings {
    ($($body:ty => $fields:expr,)*) => {
        $(impl RequestBody for $body {
            const FORM: SettingsForm = without_settings($fields);
        })*
    };
}

without_settings! {
    ApprovalAnswer => &["decision", "option", "reason", "input", "answers", "type", "id"],
    ArchiveRequest => &["archived"],
    ModelRequest => &["model"],
    ModeRequest => &["mode"],
    CommandRequest => &["name", "arguments"],
    OptionRequest => &["id", "value"],
}

#[cfg(test)]
mod tests {
    use schemars::{JsonSchema, schema_for};

    use super::*;

    fn check<T: RequestBody + JsonSchema>() {
        let schema = schema_for!(T).to_value();
        let mut fields: Vec<_> = schema["properties"].as_object().unwrap().keys().map(String::as_str).collect();
        let mut known: Vec<_> = T::FORM.fields.iter().copied().filter(|field| *field != "type").collect();
        // The field of WebSocket messages.
        known.retain(|field| *field != "id" || fields.contains(field));
        fields.sort_unstable();
        known.sort_unstable();
        assert_eq!(fields, known, "{}", std::any::type_name::<T>());
    }

    #[test]
    fn forms_have_the_fields_of_their_bodies() {
        check::<SessionRequest>();
        check::<RunRequest>();
        check::<PromptRequest>();
        check::<ApprovalAnswer>();
        check::<ArchiveRequest>();
        check::<ModelRequest>();
        check::<ModeRequest>();
        check::<CommandRequest>();
        check::<OptionRequest>();
    }
}
