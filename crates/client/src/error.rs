//! Errors, in the eight kinds that a program can act on.

use switchboard_event::Fault;
use thiserror::Error;

/// The kinds of error.
pub use switchboard_event::ErrorKind as AgentErrorKind;

/// An error of the client library.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}{}", .hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
pub struct AgentError {
    /// The kind, for programs to act on.
    pub kind: AgentErrorKind,
    /// The message for people.
    pub message: String,
    /// A suggestion to fix the problem.
    pub hint: Option<Box<str>>,
    /// The server's stable error code.
    pub code: Option<Box<str>>,
    /// The original error text, verbatim.
    pub native_error: Option<Box<str>>,
    /// The agent, if known.
    pub agent_type: Option<Box<str>>,
}

impl AgentError {
    /// Creates an error with a message and nothing else.
    #[must_use]
    pub fn new(kind: AgentErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, code: None, native_error: None, agent_type: None }
    }

    /// Creates an error from a text that may end with a hint, the format that Switchboard's errors print.
    #[must_use]
    pub fn from_text(kind: AgentErrorKind, text: &str) -> Self {
        match text.split_once("\nhint: ") {
            Some((message, hint)) => Self::new(kind, message).with_hint(hint),
            None => Self::new(kind, text),
        }
    }

    /// Sets the stable error code.
    #[must_use]
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    /// Sets the suggestion.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// Sets the agent.
    #[must_use]
    pub fn with_agent(mut self, agent: &str) -> Self {
        self.agent_type = (!agent.is_empty()).then(|| agent.into());
        self
    }

    /// Sets the original error text.
    #[must_use]
    pub fn with_native(mut self, native: impl Into<String>) -> Self {
        self.native_error = Some(native.into().into_boxed_str());
        self
    }

    /// Returns whether a retry may help: there was no answer, or not in time.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, AgentErrorKind::ConnectionFailed | AgentErrorKind::Timeout)
    }
}

impl From<&Fault> for AgentError {
    /// Converts the failure of an agent.
    fn from(fault: &Fault) -> Self {
        let error = Self::new(fault.code.kind(), fault.message.clone());
        Self { native_error: fault.info.as_deref().map(Into::into), ..error }
    }
}
