//! Errors: the numbers of the specification, and what else is said.

use schemars::JsonSchema;
use serde::Serialize;

/// What went wrong with a request.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct RpcError {
    /// One of [`code`].
    pub code: i32,
    /// What went wrong, for people.
    pub message: String,
    /// What went wrong, for programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<ErrorData>,
}

/// What went wrong, for programs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ErrorData {
    /// A word that stays the same.
    pub code: String,
    /// What can be done about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hint: Option<String>,
}

/// The numbers of errors.
pub mod code {
    /// It is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// It is JSON, and no message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// There is no such method.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters make no sense.
    pub const INVALID_PARAMS: i32 = -32602;
    /// Something went wrong here.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// `initialize` must come first.
    pub const NOT_INITIALIZED: i32 = -32000;
    /// There is no such thread.
    pub const THREAD_NOT_FOUND: i32 = -32001;
    /// The thread has a turn already.
    pub const TURN_IN_PROGRESS: i32 = -32002;
    /// The turn is not running.
    pub const NOT_RUNNING: i32 = -32003;
}

impl RpcError {
    /// An error of a number.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// The parameters make no sense.
    #[must_use]
    pub fn bad_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// The same with something for programs.
    #[must_use]
    pub fn with_data(self, code: impl Into<String>, hint: Option<String>) -> Self {
        Self { data: Some(ErrorData { code: code.into(), hint }), ..self }
    }
}
