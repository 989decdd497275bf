//! Failures: one taxonomy for all agents. Each agent's module maps its own errors to an [`ErrorCode`]; the eight kinds
//! of the client library and the ten codes of the message protocol both follow from it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What went wrong, as fine as any protocol needs it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ErrorCode {
    /// The provider refused the credentials, or there are none.
    ProviderAuth,
    /// The provider failed or refused the request.
    ApiError,
    /// The account hit a limit for now.
    RateLimit,
    /// The account has no credit or its plan is used up.
    Quota,
    /// The named model does not exist or may not be used.
    ModelNotFound,
    /// The conversation no longer fits into the model's context.
    ContextOverflow,
    /// The reply was cut off at its length limit.
    OutputLength,
    /// The model refused to answer.
    Refused,
    /// The turn limit was reached.
    MaxTurns,
    /// The budget was exceeded.
    MaxBudget,
    /// Stopped by a user or a client.
    Aborted,
    /// The provider or a server could not be reached.
    ConnectionFailed,
    /// The session to resume is not there.
    SessionNotFound,
    /// Something was not allowed: an approval, a sandbox, a policy.
    PermissionDenied,
    /// A tool did not work.
    ToolFailed,
    /// It took too long.
    Timeout,
    /// The agent said something that makes no sense, or stopped in the middle.
    ProtocolError,
    /// The agent failed while working.
    ExecutionError,
    /// Nothing better is known.
    #[default]
    #[serde(other)]
    Unknown,
}

/// The eight kinds of error that the client library distinguishes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ErrorKind {
    /// A provider or server could not be reached.
    ConnectionFailed,
    /// Credentials are missing or refused.
    AuthenticationFailed,
    /// The session is not there.
    SessionNotFound,
    /// Not allowed.
    PermissionDenied,
    /// A tool failed.
    ToolExecutionFailed,
    /// It took too long, or too many turns.
    Timeout,
    /// The agent or the provider broke its protocol.
    ProtocolError,
    /// Nothing better is known.
    Unknown,
}

impl ErrorCode {
    /// Returns the kind that the client library reports.
    #[must_use]
    pub fn kind(self) -> ErrorKind {
        match self {
            Self::ProviderAuth => ErrorKind::AuthenticationFailed,
            Self::ConnectionFailed | Self::RateLimit => ErrorKind::ConnectionFailed,
            Self::SessionNotFound => ErrorKind::SessionNotFound,
            Self::PermissionDenied | Self::Quota | Self::Refused => ErrorKind::PermissionDenied,
            Self::ToolFailed => ErrorKind::ToolExecutionFailed,
            Self::Timeout => ErrorKind::Timeout,
            Self::ProtocolError | Self::ApiError | Self::ModelNotFound | Self::ContextOverflow | Self::OutputLength => {
                ErrorKind::ProtocolError
            }
            Self::MaxTurns | Self::MaxBudget | Self::Aborted | Self::ExecutionError | Self::Unknown => {
                ErrorKind::Unknown
            }
        }
    }

    /// Returns the code that the message protocol reports.
    #[must_use]
    pub fn message_code(self) -> &'static str {
        match self {
            Self::ProviderAuth => "provider_auth",
            Self::ApiError | Self::ConnectionFailed | Self::ModelNotFound => "api_error",
            Self::RateLimit | Self::Quota => "rate_limit",
            Self::ContextOverflow => "context_overflow",
            Self::OutputLength => "output_length",
            Self::MaxTurns => "max_turns",
            Self::MaxBudget => "max_budget",
            Self::Aborted => "aborted",
            Self::Refused
            | Self::SessionNotFound
            | Self::PermissionDenied
            | Self::ToolFailed
            | Self::Timeout
            | Self::ProtocolError
            | Self::ExecutionError => "execution_error",
            Self::Unknown => "unknown",
        }
    }

    /// Maps an HTTP status of a provider to a code.
    #[must_use]
    pub fn from_http_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::ProviderAuth,
            402 => Self::Quota,
            404 => Self::ModelNotFound,
            408 | 504 => Self::Timeout,
            413 => Self::ContextOverflow,
            429 => Self::RateLimit,
            _ => Self::ApiError,
        }
    }
}

/// One failure: its code, a message for people, and what the agent itself said. The agent is the event's.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Fault {
    /// The error code.
    pub code: ErrorCode,
    /// The error message.
    pub message: String,
    /// The provider's HTTP status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub http_status: Option<u16>,
    /// The agent's own name for the error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub info: Option<String>,
    /// Whether a retry may help.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retryable: Option<bool>,
}

impl Fault {
    /// Creates a failure with a message and nothing else.
    #[must_use]
    pub fn new(code: ErrorCode, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), ..Self::default() }
    }

    /// Sets the agent's own name for the error.
    #[must_use]
    pub fn with_info(mut self, info: impl Into<String>) -> Self {
        self.info = Some(info.into());
        self
    }

    /// Sets the provider's HTTP status.
    #[must_use]
    pub fn with_status(mut self, status: Option<u16>) -> Self {
        self.http_status = status;
        self
    }
}
