//! One task, for the gateway.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use switchboard_event::SessionConfig;

use super::{SessionRequest, shape};

/// One task to run.
#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunRequest {
    /// The agent.
    #[schemars(schema_with = "shape::driver_name")]
    pub driver: String,
    /// What to do: 1 to 100,000 characters.
    #[schemars(length(min = 1, max = 100_000))]
    pub task: String,
    /// The folder to work in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(regex(pattern = "^/"))]
    pub cwd: Option<String>,
    /// The model to use.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// The session to continue; it must have ended.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session_id: Option<String>,
    /// How it is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::settings")]
    pub config: Option<SessionConfig>,
    /// The program and its arguments, for an agent that is named by its command.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(inner(regex(pattern = "^[^\\u0000]*$")))]
    pub command: Vec<String>,
    /// Variables to set for the agent.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(schema_with = "shape::variables")]
    pub env: BTreeMap<String, String>,
    /// End the session after so many seconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "shape::seconds")]
    pub timeout_seconds: Option<f64>,
    /// Fields of the request that mean nothing.
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
