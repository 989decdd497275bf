//! Switchboard's settings in requests of the protocol, which has none of its own: next to the fields or in `_meta`. They
//! are accepted or refused by the rule of all protocols, so that no limit of an agent is ignored.

use agent_client_protocol::{
    Error, JsonRpcMessage, JsonRpcRequest, Result, UntypedMessage,
    v1::schema::{ForkSessionRequest, LoadSessionRequest, NewSessionRequest, PromptRequest, ResumeSessionRequest},
};
use serde_json::{Map, Value};
use switchboard_event::{
    ClientSettings, MisplacedSettings, SettingsError, SettingsForm, limits_agent_by_name, read_settings,
};

use super::errors;

const NEW_SESSION: MisplacedSettings = MisplacedSettings::Taken { approval: "approvalMode", sandbox: "sandboxMode" };

const STORED_SESSION: MisplacedSettings =
    MisplacedSettings::Refused("a session keeps its settings; choose others with session/new or session/fork");

/// The key of our own settings in `_meta`.
const META_KEY: &str = "switchboard";

/// A request whose parameters can contain settings.
pub trait SettingsRequest: JsonRpcRequest {
    const FORM: SettingsForm;
}

macro_rules! settings_requests {
    ($($request:ty: $settings:expr, $fields:expr;)*) => {
        $(impl SettingsRequest for $request {
            const FORM: SettingsForm = SettingsForm { fields: &$fields, has_config: false, settings: $settings };
        })*
    };
}

settings_requests! {
    NewSessionRequest: NEW_SESSION, ["cwd", "mcpServers"];
    ForkSessionRequest: NEW_SESSION, ["sessionId", "cwd", "mcpServers"];
    LoadSessionRequest: STORED_SESSION, ["sessionId", "cwd", "mcpServers"];
    ResumeSessionRequest: STORED_SESSION, ["sessionId", "cwd", "mcpServers"];
    PromptRequest: STORED_SESSION, ["sessionId", "prompt", "messageId"];
}

/// A request together with the settings in its parameters.
#[derive(Clone, Debug)]
pub struct RequestWithSettings<R> {
    pub request: R,
    pub settings: ClientSettings,
}

impl<R: SettingsRequest> JsonRpcMessage for RequestWithSettings<R> {
    fn matches_method(method: &str) -> bool {
        R::matches_method(method)
    }

    fn method(&self) -> &str {
        self.request.method()
    }

    fn to_untyped_message(&self) -> Result<UntypedMessage> {
        self.request.to_untyped_message()
    }

    fn parse_message(method: &str, params: &Value) -> Result<Self> {
        let request = R::parse_message(method, params)?;
        let settings = read_request_settings(params, &R::FORM);
        Ok(Self { request, settings: settings.map_err(|error| errors::invalid_params(error.to_string()))? })
    }
}

impl<R: SettingsRequest> JsonRpcRequest for RequestWithSettings<R> {
    type Response = R::Response;
}

/// Reads the settings next to the fields and in `_meta`. Only names of limits count in `_meta` itself, where editors
/// have fields of their own.
fn read_request_settings(params: &Value, form: &SettingsForm) -> Result<ClientSettings, SettingsError> {
    let (_, mut settings) = read_settings(&params.to_string(), form)?;
    let Some(meta) = params.get("_meta").and_then(Value::as_object) else { return Ok(settings) };
    let limits: Map<String, Value> = meta
        .iter()
        .filter(|(name, _)| limits_agent_by_name(name))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect();
    let own = meta.get(META_KEY).filter(|own| own.is_object()).cloned();
    for (given, path) in [(Some(Value::Object(limits)), "_meta"), (own, "_meta.switchboard")] {
        let Some(given) = given else { continue };
        let in_meta = |error: SettingsError| SettingsError { field: format!("{path}.{}", error.field), ..error };
        let (_, given) = read_settings(&given.to_string(), &SettingsForm { fields: &[], ..*form }).map_err(in_meta)?;
        settings.config.add_given(&given.config)?;
        settings.ignored.extend(given.ignored.into_iter().map(|field| format!("{path}.{field}")));
    }
    Ok(settings)
}

/// Returns an error of conflicting settings.
pub fn conflict(error: &SettingsError) -> Error {
    errors::invalid_params(error.to_string())
}
