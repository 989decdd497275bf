//! `session/set_mode`, `session/set_config_option`, and `session/set_model` of older editors.

use agent_client_protocol::{
    JsonRpcRequest, JsonRpcResponse, Result,
    v1::schema::{
        SessionConfigOption, SessionConfigOptionValue, SetSessionConfigOptionRequest, SetSessionConfigOptionResponse,
        SetSessionModeRequest, SetSessionModeResponse,
    },
};
use serde::{Deserialize, Serialize};
use switchboard_dialects::acp::{AgentConfigOptions, ConfigOption, MODE_OPTION_ID, MODEL_OPTION_ID};
use tokio::time::{Duration, Instant, timeout_at};

use super::{editor::EditorConnection, errors};
use crate::conversation::{Conversation, SettingChanges};

/// The maximum time for an agent to confirm a setting.
const CONFIRM_TIMEOUT: Duration = Duration::from_millis(500);

/// Sets the model, in the form from before models became settings.
#[derive(Clone, Debug, Serialize, Deserialize, JsonRpcRequest)]
#[request(method = "session/set_model", response = SetModelResponse)]
#[serde(rename_all = "camelCase")]
pub struct SetModelRequest {
    session_id: String,
    model_id: String,
}

#[derive(Clone, Debug, Default, Serialize, Deserialize, JsonRpcResponse)]
pub struct SetModelResponse {}

impl EditorConnection {
    pub async fn set_mode(&self, request: &SetSessionModeRequest) -> Result<SetSessionModeResponse> {
        let open = self.find_session(&request.session_id.0)?;
        change_setting(&open.conversation, MODE_OPTION_ID, &request.mode_id.0).await?;
        Ok(SetSessionModeResponse::new())
    }

    pub async fn set_model(&self, request: &SetModelRequest) -> Result<SetModelResponse> {
        let open = self.find_session(&request.session_id)?;
        change_setting(&open.conversation, MODEL_OPTION_ID, &request.model_id).await?;
        Ok(SetModelResponse {})
    }

    pub async fn set_config_option(
        &self,
        request: &SetSessionConfigOptionRequest,
    ) -> Result<SetSessionConfigOptionResponse> {
        let open = self.find_session(&request.session_id.0)?;
        let value = match &request.value {
            SessionConfigOptionValue::ValueId { value } => value.0.to_string(),
            SessionConfigOptionValue::Boolean { value } => value.to_string(),
            _ => return Err(errors::invalid_params("unknown value type")),
        };
        let options = change_setting(&open.conversation, &request.config_id.0, &value).await?;
        Ok(SetSessionConfigOptionResponse::new(to_acp_options(&options)?))
    }
}

/// Changes a setting to one of the values that the agent offers. Returns all settings.
async fn change_setting(conversation: &Conversation, id: &str, value: &str) -> Result<Vec<ConfigOption>> {
    let options = AgentConfigOptions::from(&conversation.info().await?).config_options();
    let Some(option) = options.iter().find(|option| option.id == id) else {
        return Err(errors::invalid_params(format!("the agent has no setting `{id}`")));
    };
    if !option.options.iter().any(|known| known.value == value) {
        let known: Vec<_> = option.options.iter().map(|known| known.value.as_str()).collect();
        let message = format!("invalid value `{value}` for `{id}`; valid values: {}", known.join(", "));
        return Err(errors::invalid_params(message));
    }
    let mut changes = SettingChanges::default();
    match id {
        MODE_OPTION_ID => changes.mode = Some(value.to_owned()),
        MODEL_OPTION_ID => changes.model = Some(value.to_owned()),
        own => drop(changes.options.insert(own.to_owned(), value.to_owned())),
    }
    conversation.change(&changes).await?;
    wait_for_confirmation(conversation, id, value).await;
    let mut options = AgentConfigOptions::from(&conversation.info().await?).config_options();
    // Some agents confirm a setting only with the next prompt.
    if let Some(option) = options.iter_mut().find(|option| option.id == id) {
        value.clone_into(&mut option.current_value);
    }
    Ok(options)
}

/// Waits briefly for the agent to confirm a setting, so that the next response contains it.
async fn wait_for_confirmation(conversation: &Conversation, id: &str, value: &str) {
    let Some(session) = conversation.service().engine().session(conversation.id()) else { return };
    let (mut follower, end) = (session.follow_after(session.start_seq()), Instant::now() + CONFIRM_TIMEOUT);
    let is_set = || {
        let options = AgentConfigOptions::from(&session.info()).config_options();
        options.iter().any(|option| option.id == id && option.current_value == value)
    };
    while !is_set() && matches!(timeout_at(end, follower.next()).await, Ok(Ok(Some(_)))) {}
}

/// Converts settings to the protocol's own types.
pub fn to_acp_options(options: &[ConfigOption]) -> Result<Vec<SessionConfigOption>> {
    let json = serde_json::to_value(options).map_err(agent_client_protocol::Error::into_internal_error)?;
    serde_json::from_value(json).map_err(agent_client_protocol::Error::into_internal_error)
}
