//! Parses a line from a client as a request, notification or response. Handling the message is the server's task.

use std::borrow::Cow;

use serde::{
    Deserialize, Deserializer, Serialize,
    de::{DeserializeOwned, IgnoredAny},
};
use serde_json::value::RawValue;
use switchboard_event::{ClientSettings, MisplacedSettings, SettingsForm, read_settings, to_raw_string};

use super::wire::{
    ConfigListParams, ConfigSetParams, InitializeParams, ModelListParams, RpcError, ThreadArchiveParams,
    ThreadListParams, ThreadResumeParams, ThreadStartParams, TurnInterruptParams, TurnStartParams, code,
};

/// A message from a client.
#[derive(Debug)]
pub enum HarnessClientMessage {
    /// A request that expects a response.
    Request {
        /// The id of the response.
        id: HarnessRequestId,
        /// The method name.
        method: String,
        /// The parameters.
        params: Option<Box<RawValue>>,
    },
    /// A notification without a response.
    Notification {
        /// The method name.
        method: String,
    },
    /// A response to a request of the agent.
    Response {
        /// The id of the request.
        id: HarnessRequestId,
        /// The result, or the message of an error response.
        result: Result<Box<RawValue>, String>,
    },
}

/// A message id: text or number, returned verbatim.
#[derive(Clone, Debug, Serialize)]
#[serde(transparent)]
pub struct HarnessRequestId(Box<RawValue>);

/// A line that is not a valid message, and the error to report.
#[derive(Debug)]
pub struct HarnessMessageError {
    /// The id of the message, if it has one.
    pub id: Option<HarnessRequestId>,
    /// The error for the client.
    pub error: RpcError,
}

impl HarnessRequestId {
    /// Creates an id from text.
    #[must_use]
    pub fn from_text(text: &str) -> Self {
        Self(to_raw_string(text))
    }

    /// Returns the id if it is text.
    #[must_use]
    pub fn as_text(&self) -> Option<String> {
        serde_json::from_str(self.0.get()).ok()
    }

    fn read(json: &RawValue) -> Option<Self> {
        let fits = json.get().starts_with(|c: char| c == '"' || c == '-' || c.is_ascii_digit());
        fits.then(|| Self(json.to_owned()))
    }
}

/// The possible fields of a message, not validated yet.
#[derive(Deserialize)]
struct RpcEnvelope<'a> {
    #[serde(borrow, default, deserialize_with = "read_present")]
    id: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "read_present")]
    method: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "read_present")]
    params: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "read_present")]
    result: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "read_present")]
    error: Option<&'a RawValue>,
}

/// Reads a field so that `null` counts as present.
fn read_present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(deserializer).map(Some)
}

impl HarnessClientMessage {
    /// Parses a line; none if it is blank.
    ///
    /// # Errors
    /// Returns an error if the line is not JSON or not a message.
    pub fn read(line: &[u8]) -> Result<Option<Self>, HarnessMessageError> {
        let line = line.trim_ascii();
        if line.is_empty() {
            return Ok(None);
        }
        let envelope = if line.starts_with(b"{") { serde_json::from_slice::<RpcEnvelope<'_>>(line).ok() } else { None };
        match envelope {
            Some(envelope) => envelope.into_message().map(Some),
            None if serde_json::from_slice::<IgnoredAny>(line).is_ok() && std::str::from_utf8(line).is_ok() => {
                Err(invalid_request(None, "a message is an object, with each of its fields once"))
            }
            None => {
                let error = RpcError::new(code::PARSE_ERROR, "this is not JSON: one message a line");
                Err(HarnessMessageError { id: None, error })
            }
        }
    }
}

impl RpcEnvelope<'_> {
    fn into_message(self) -> Result<HarnessClientMessage, HarnessMessageError> {
        let id = self.id.map(HarnessRequestId::read);
        if id.as_ref().is_some_and(Option::is_none) {
            return Err(invalid_request(None, "id: a text or a number"));
        }
        let id = id.flatten();
        match (self.method, self.result, self.error) {
            (Some(method), None, None) => read_request(id, method, self.params),
            (None, Some(result), None) => read_response(id, Ok(result.to_owned())),
            (None, None, Some(error)) => read_response(id, Err(error_text(error))),
            (Some(_), _, _) => Err(invalid_request(None, "a message with a method has neither a result nor an error")),
            (None, Some(_), Some(_)) => Err(invalid_request(None, "a response has a result or an error, not both")),
            (None, None, None) => Err(invalid_request(id, "a message has a method, a result or an error")),
        }
    }
}

fn read_request(
    id: Option<HarnessRequestId>,
    method: &RawValue,
    params: Option<&RawValue>,
) -> Result<HarnessClientMessage, HarnessMessageError> {
    let Ok(method) = serde_json::from_str::<String>(method.get()) else {
        return Err(invalid_request(id, "method: a text"));
    };
    Ok(match id {
        Some(id) => HarnessClientMessage::Request { id, method, params: params.map(RawValue::to_owned) },
        None => HarnessClientMessage::Notification { method },
    })
}

fn read_response(
    id: Option<HarnessRequestId>,
    result: Result<Box<RawValue>, String>,
) -> Result<HarnessClientMessage, HarnessMessageError> {
    match id {
        Some(id) => Ok(HarnessClientMessage::Response { id, result }),
        None => Err(invalid_request(None, "a response has the id of what it responds to")),
    }
}

/// Returns the text of an error of any shape.
fn error_text(error: &RawValue) -> String {
    #[derive(Deserialize)]
    struct RpcErrorText<'a> {
        #[serde(borrow)]
        message: Cow<'a, str>,
    }
    let told = serde_json::from_str::<RpcErrorText<'_>>(error.get());
    told.map_or_else(|_| error.get().to_owned(), |told| told.message.into_owned())
}

fn invalid_request(id: Option<HarnessRequestId>, why: &str) -> HarnessMessageError {
    HarnessMessageError { id, error: RpcError::new(code::INVALID_REQUEST, why) }
}

/// Lists all requests with their names and parameter types.
macro_rules! calls {
    ($($(#[$doc:meta])* $name:literal => $variant:ident($params:ty, $form:expr),)*) => {
        /// A request of a client.
        #[derive(Clone, Debug, schemars::JsonSchema)]
        #[schemars(rename = "ClientRequest", tag = "method", content = "params")]
        pub enum Call {
            $($(#[$doc])* #[schemars(rename = $name)] $variant($params),)*
        }

        /// The methods that a client can call.
        pub const CLIENT_METHODS: &[&str] = &[$($name),*];

        impl Call {
            /// Parses the parameters of a method, and the settings given under alternative names.
            ///
            /// # Errors
            /// Returns an error if the method is unknown or its parameters are invalid.
            pub fn read(method: &str, params: Option<&RawValue>) -> Result<(Self, ClientSettings), RpcError> {
                match method {
                    $($name => {
                        let (params, given) = read_params::<$params>(params, &$form)?;
                        Ok((Self::$variant(params), given))
                    })*
                    _ => Err(RpcError::new(code::METHOD_NOT_FOUND, format!("there is no method `{method}`"))),
                }
            }
        }
    };
}

/// Describes the parameters of a method that accepts settings.
const fn with_settings(fields: &'static [&'static str], sandbox: &'static str) -> SettingsForm {
    let settings = MisplacedSettings::Taken { approval: "approvalPolicy", sandbox };
    SettingsForm { fields, has_config: false, settings }
}

/// Describes the parameters of a method without settings.
const fn no_settings(fields: &'static [&'static str]) -> SettingsForm {
    let settings = MisplacedSettings::Refused("give it to thread/start or turn/start");
    SettingsForm { fields, has_config: false, settings }
}

calls! {
    /// The first request.
    "initialize" => Initialize(InitializeParams, no_settings(&["clientInfo", "capabilities"])),
    /// Start a thread.
    "thread/start" => ThreadStart(ThreadStartParams, with_settings(
        &["model", "cwd", "approvalPolicy", "sandbox", "agent", "config", "command"],
        "sandbox",
    )),
    /// Resume a thread. Its history is sent first.
    "thread/resume" => ThreadResume(ThreadResumeParams, with_settings(&["threadId", "model", "cwd"], "sandbox")),
    /// List threads, newest first.
    "thread/list" => ThreadList(ThreadListParams, no_settings(&["cursor", "limit", "archived"])),
    /// Archive a thread.
    "thread/archive" => ThreadArchive(ThreadArchiveParams, no_settings(&["threadId"])),
    /// Ours: unarchive a thread.
    "thread/unarchive" => ThreadUnarchive(ThreadArchiveParams, no_settings(&["threadId"])),
    /// Send a prompt to the agent.
    "turn/start" => TurnStart(TurnStartParams, with_settings(
        &["threadId", "input", "model", "cwd", "approvalPolicy", "sandboxPolicy", "config"],
        "sandboxPolicy",
    )),
    /// Stop a turn.
    "turn/interrupt" => TurnInterrupt(TurnInterruptParams, no_settings(&["threadId", "turnId"])),
    /// List models.
    "model/list" => ModelList(ModelListParams, no_settings(&["limit", "threadId", "agent"])),
    /// List selectors.
    "config/list" => ConfigList(ConfigListParams, no_settings(&["threadId", "agent"])),
    /// Set a selector.
    "config/set" => ConfigSet(ConfigSetParams, no_settings(&["id", "value", "threadId", "agent"])),
    /// Read the effective settings.
    "config/read" => ConfigRead(ConfigListParams, no_settings(&["threadId", "agent"])),
}

impl Call {
    /// Returns the thread that the call refers to; calls for one thread are processed in order.
    #[must_use]
    pub fn thread_id(&self) -> Option<&str> {
        match self {
            Self::ThreadResume(params) => Some(&params.thread_id),
            Self::ThreadArchive(params) | Self::ThreadUnarchive(params) => Some(&params.thread_id),
            Self::TurnStart(params) => Some(&params.thread_id),
            Self::TurnInterrupt(params) => Some(&params.thread_id),
            Self::ModelList(params) => params.thread_id.as_deref(),
            Self::ConfigList(params) | Self::ConfigRead(params) => params.thread_id.as_deref(),
            Self::ConfigSet(params) => params.thread_id.as_deref(),
            Self::Initialize(_) | Self::ThreadStart(_) | Self::ThreadList(_) => None,
        }
    }
}

/// Parses parameters; missing parameters count as empty.
fn read_params<T: DeserializeOwned>(
    params: Option<&RawValue>,
    form: &SettingsForm,
) -> Result<(T, ClientSettings), RpcError> {
    let json = params.map(RawValue::get).filter(|json| *json != "null").unwrap_or("{}");
    if !json.starts_with('{') {
        return Err(RpcError::bad_params("params: an object"));
    }
    let (json, given) = read_settings(json, form).map_err(|error| RpcError::bad_params(error.to_string()))?;
    let mut deserializer = serde_json::Deserializer::from_str(&json);
    let params = serde_path_to_error::deserialize(&mut deserializer).map_err(|error| {
        let path = error.path().to_string();
        let cause = strip_position(&error.into_inner());
        RpcError::bad_params(if path == "." { cause } else { format!("{path}: {cause}") })
    })?;
    Ok((params, given))
}

/// Returns a serde error without its line and column, which mean nothing to the client.
fn strip_position(cause: &serde_json::Error) -> String {
    let text = cause.to_string();
    text.rsplit_once(" at line ").map_or(text.clone(), |(text, _)| text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code_of(line: &[u8]) -> Option<i32> {
        HarnessClientMessage::read(line).err().map(|refused| refused.error.code)
    }

    #[test]
    fn what_is_no_message_is_refused_by_its_kind() {
        for line in ["{nope", "{", "\"", "nul", "{\"id\":1} x", "{\"method\":}", "}", "[1,", "\u{1}"] {
            assert_eq!(code_of(line.as_bytes()), Some(code::PARSE_ERROR), "{line}");
        }
        for line in [&b"\xff"[..], b"{\"id\":\"\xff\"}", b"\"\xc3\""] {
            assert_eq!(code_of(line), Some(code::PARSE_ERROR), "{line:?}");
        }
        for line in [
            "[]",
            "7",
            "null",
            "\"text\"",
            "{}",
            r#"[1,"thread/list",{}]"#,
            r#"{"id":null,"method":"x"}"#,
            r#"{"id":{},"method":"x"}"#,
            r#"{"id":true,"method":"x"}"#,
            r#"{"id":1,"method":7}"#,
            r#"{"id":1,"method":"x","result":1}"#,
            r#"{"id":1,"result":1,"error":{}}"#,
            r#"{"id":1,"id":2,"method":"x"}"#,
            r#"{"result":1}"#,
            r#"{"id":1,"params":{}}"#,
        ] {
            assert_eq!(code_of(line.as_bytes()), Some(code::INVALID_REQUEST), "{line}");
        }
    }

    #[test]
    fn a_refusal_carries_the_id_of_what_was_to_be_a_request() {
        let id =
            |line: &str| HarnessClientMessage::read(line.as_bytes()).unwrap_err().id.map(|id| id.0.get().to_owned());
        assert_eq!(id(r#"{"id":999,"params":{}}"#).as_deref(), Some("999"));
        assert_eq!(id(r#"{"id":"a","method":[]}"#).as_deref(), Some("\"a\""));
        // The id of a response is the server's; a reply with it would look like a reply to a client request.
        assert_eq!(id(r#"{"id":"a","result":1,"error":1}"#), None);
    }

    #[test]
    fn messages_are_read() {
        let read = |line: &str| HarnessClientMessage::read(line.as_bytes()).unwrap();
        assert!(read("").is_none() && read(" \t\r").is_none());
        match read(r#" {"jsonrpc":"2.0","id":"a\u0062","method":"thread/list","params":null}"#) {
            Some(HarnessClientMessage::Request { id, method, .. }) => {
                assert_eq!((id.as_text().as_deref(), method.as_str()), (Some("ab"), "thread/list"));
                assert_eq!(serde_json::to_string(&id).unwrap(), r#""a\u0062""#);
            }
            other => panic!("{other:?}"),
        }
        assert!(matches!(read(r#"{"method":"initialized"}"#), Some(HarnessClientMessage::Notification { .. })));
        assert!(matches!(
            read(r#"{"id":1,"result":null}"#),
            Some(HarnessClientMessage::Response { result: Ok(_), .. })
        ));
        for (line, said) in
            [(r#"{"id":1,"error":{"code":1,"message":"no"}}"#, "no"), (r#"{"id":1,"error":"never"}"#, "\"never\"")]
        {
            match read(line) {
                Some(HarnessClientMessage::Response { result: Err(message), .. }) => assert_eq!(message, said),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn parameters_that_make_no_sense_name_the_field() {
        let read = |method: &str, params: &str| {
            let params = RawValue::from_string(params.to_owned()).unwrap();
            Call::read(method, Some(&params)).map(drop).map_err(|error| (error.code, error.message))
        };
        assert_eq!(read("no/such", "{}").unwrap_err().0, code::METHOD_NOT_FOUND);
        for (method, params, part) in [
            ("turn/start", r#"{"threadId":7}"#, "threadId: invalid type"),
            ("turn/start", r#"{"threadId":"x","input":[{"type":"smell"}]}"#, "input[0].type"),
            ("turn/start", r#"{"threadId":"x","input":[],"config":{"a":1}}"#, "config.a"),
            ("turn/start", r#"{"threadId":"x","input":[],"sandboxPolicy":{"type":"none"}}"#, "sandboxPolicy.type"),
            ("thread/start", r#"{"approvalPolicy":"sometimes"}"#, "approvalPolicy"),
            ("thread/list", r#"{"limit":-1}"#, "limit"),
            ("thread/list", "[]", "params: an object"),
            ("initialize", "{}", "missing field `clientInfo`"),
        ] {
            let (number, message) = read(method, params).unwrap_err();
            assert_eq!(number, code::INVALID_PARAMS, "{params}");
            assert!(message.contains(part), "{params}: {message}");
        }
        assert!(read("thread/list", "null").is_ok() && Call::read("thread/list", None).is_ok());
        let known = r#"{"threadId":"x","input":[{"type":"text","text":"t"}],"model":null,"novelty":1}"#;
        assert!(read("turn/start", known).is_ok());
    }

    #[test]
    fn settings_are_taken_or_refused_and_the_rest_is_listed() {
        let read = |method: &str, params: &str| {
            let params = RawValue::from_string(params.to_owned()).unwrap();
            Call::read(method, Some(&params))
                .map(|(_, given)| (serde_json::to_value(given.config).unwrap(), given.ignored))
                .map_err(|error| error.message)
        };
        let read_only = serde_json::json!({"sandboxMode": "readOnly"});
        for (method, params) in [
            ("thread/start", r#"{"sandboxPolicy":{"type":"readOnly"}}"#),
            ("thread/start", r#"{"sandbox":"read-only"}"#),
            ("thread/start", r#"{"sandboxMode":"readOnly"}"#),
            ("thread/resume", r#"{"threadId":"t","sandbox":{"type":"readOnly"}}"#),
            ("turn/start", r#"{"threadId":"t","input":[],"sandbox":{"type":"readOnly"}}"#),
            ("turn/start", r#"{"threadId":"t","input":[],"sandbox_policy":{"type":"read_only"}}"#),
        ] {
            assert_eq!(read(method, params).unwrap().0, read_only, "{method} {params}");
        }
        for (method, params, part) in [
            ("thread/start", r#"{"permissions":"ask"}"#, "permissions: there is no such setting; use approvalPolicy"),
            ("turn/start", r#"{"threadId":"t","input":[],"sandboxing":true}"#, "use sandboxPolicy"),
            ("turn/interrupt", r#"{"threadId":"t","turnId":"u","sandbox":{"type":"readOnly"}}"#, "turn/start"),
            ("thread/start", r#"{"sandbox":{"type":"readOnly","excludeTmp":true}}"#, "sandbox.excludeTmp"),
        ] {
            let error = read(method, params).unwrap_err();
            assert!(error.contains(part), "{params}: {error}");
        }
        assert_eq!(read("thread/list", r#"{"novelty":1,"_meta":{}}"#).unwrap().1, ["novelty"]);
    }

    #[test]
    fn forms_have_the_fields_of_their_parameters() {
        let schema = schemars::schema_for!(Call).to_value();
        let variants = schema["oneOf"].as_array().unwrap();
        assert_eq!(variants.len(), CLIENT_METHODS.len());
        for variant in variants {
            let method = variant["properties"]["method"]["const"].as_str().unwrap();
            let reference = variant["properties"]["params"]["$ref"].as_str().unwrap();
            let params = schema.pointer(reference.trim_start_matches('#')).unwrap();
            let fields = params["properties"].as_object().unwrap().keys();
            let all: serde_json::Map<_, _> = fields.map(|field| (field.clone(), serde_json::Value::Null)).collect();
            let all = RawValue::from_string(serde_json::Value::Object(all).to_string()).unwrap();
            // Required fields reject `null`, which is not tested here.
            let ignored = Call::read(method, Some(&all)).map(|(_, given)| given.ignored).unwrap_or_default();
            assert!(ignored.is_empty(), "{method}: {ignored:?}");
        }
    }
}
