//! Errors with the codes of the specification.

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

/// Error codes.
pub mod code {
    /// The line is not JSON.
    pub const PARSE_ERROR: i32 = -32700;
    /// The JSON is not a valid message.
    pub const INVALID_REQUEST: i32 = -32600;
    /// The method does not exist.
    pub const METHOD_NOT_FOUND: i32 = -32601;
    /// The parameters are invalid.
    pub const INVALID_PARAMS: i32 = -32602;
    /// An internal error occurred.
    pub const INTERNAL_ERROR: i32 = -32603;
    /// `initialize` must be sent first.
    pub const NOT_INITIALIZED: i32 = -32000;
    /// The thread does not exist.
    pub const THREAD_NOT_FOUND: i32 = -32001;
    /// The thread already has a running turn.
    pub const TURN_IN_PROGRESS: i32 = -32002;
    /// The turn is not running.
    pub const NOT_RUNNING: i32 = -32003;
}

impl RpcError {
    /// Creates an error with a code.
    #[must_use]
    pub fn new(code: i32, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), data: None }
    }

    /// Creates an error for invalid parameters.
    #[must_use]
    pub fn bad_params(message: impl Into<String>) -> Self {
        Self::new(code::INVALID_PARAMS, message)
    }

    /// Adds machine-readable details.
    #[must_use]
    pub fn with_data(self, code: impl Into<String>, hint: Option<String>) -> Self {
        Self { data: Some(ErrorData { code: code.into(), hint }), ..self }
    }
}
