//! The bodies of requests. `validation` has the checks before anything happens, and the same rules as JSON Schema.

mod validation;

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
pub use switchboard_client::{
    ApprovalAnswer, ApprovalDecision, ArchiveRequest, CommandRequest, ImageData, ModeRequest, ModelRequest,
    OptionRequest,
};
use switchboard_event::{ClientSettings, SessionConfig, SettingsError, SettingsForm};

use crate::extract::{RequestBody, with_settings_in_config, without_settings};

pub(crate) use validation::optional_agent_name_schema;

/// The maximum size of a body with base64-encoded images.
pub const MAX_BODY_BYTES: usize = 32 << 20;

/// A session to start or to continue.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
#[schemars(transform = validation::require_agent_and_prompt)]
pub struct SessionRequest {
    /// The agent. Optional for a session that is continued. `agentId` has the same meaning.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::optional_agent_name_schema")]
    pub agent_type: Option<String>,
    /// The agent, under the name that older clients use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::optional_agent_name_schema")]
    pub agent_id: Option<String>,
    /// The prompt: 1 to 100,000 characters. Optional for a new session that stays open.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// Project name for grouping sessions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub project_id: Option<String>,
    /// The session to continue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// The settings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::settings_schema")]
    pub config: Option<SessionConfig>,
    /// Images to attach, at most 20 MB in total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// The program and its arguments, for an agent that is given by its command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^[^\\u0000]*$")))]
    pub command: Vec<String>,
    /// Environment variables for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "validation::variables_schema")]
    pub env: BTreeMap<String, String>,
    /// Continue a copy of the session, and leave the original unchanged.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub fork: bool,
    /// Stay open when the turn is over.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub stay: bool,
    /// End the session after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::seconds_schema")]
    pub timeout_seconds: Option<f64>,
    /// Decline requests that are not answered after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::seconds_schema")]
    pub approval_timeout_seconds: Option<f64>,
    /// Unknown fields of the request.
    #[serde(skip)]
    pub ignored_fields: Vec<String>,
}

/// Another prompt for a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PromptRequest {
    /// The prompt: 1 to 100,000 characters.
    #[schemars(length(min = 1, max = 100_000))]
    pub prompt: String,
    /// Images to attach, at most 20 MB in total.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<ImageData>,
    /// Settings to change; only for a session that has ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::settings_schema")]
    pub config: Option<SessionConfig>,
    /// Unknown fields of the request.
    #[serde(skip)]
    pub ignored_fields: Vec<String>,
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
    #[schemars(schema_with = "validation::variables_schema")]
    pub env: BTreeMap<String, String>,
    /// End the session after this many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "validation::seconds_schema")]
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
        Self {
            agent_type: Some(run.driver),
            prompt: run.task,
            session_id: run.session_id,
            config: Some(config),
            command: run.command,
            env: run.env,
            timeout_seconds: run.timeout_seconds,
            ignored_fields: run.ignored_fields,
            ..Self::default()
        }
    }
}

/// Adds settings to those of a body, if there are any.
fn add_settings(config: &mut Option<SessionConfig>, given: &SessionConfig) -> Result<(), SettingsError> {
    if *given == SessionConfig::default() {
        return Ok(());
    }
    config.get_or_insert_default().add_given(given)
}

/// Ignored fields of bodies with settings are reported in the session that they start or continue.
macro_rules! with_settings {
    ($($body:ty => $fields:expr,)*) => {
        $(impl RequestBody for $body {
            const FORM: SettingsForm = with_settings_in_config($fields);

            fn accept(&mut self, given: ClientSettings) -> Result<Vec<String>, SettingsError> {
                add_settings(&mut self.config, &given.config)?;
                self.ignored_fields = given.ignored;
                Ok(Vec::new())
            }
        })*
    };
}

with_settings! {
    SessionRequest => &[
        "agentType", "agentId", "prompt", "projectId", "sessionId", "config", "images", "command", "env", "fork", "stay",
        "timeoutSeconds", "approvalTimeoutSeconds",
    ],
    RunRequest => &["driver", "task", "cwd", "model", "sessionId", "config", "command", "env", "timeoutSeconds"],
    // `type` and `id` belong to WebSocket messages.
    PromptRequest => &["prompt", "images", "config", "type", "id"],
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
