//! What can go wrong, in the eight kinds that a program can act on.

use switchboard_event::Fault;
use thiserror::Error;

/// The kinds of error.
pub use switchboard_event::ErrorKind as AgentErrorKind;

/// Something went wrong.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{message}{}", .hint.as_deref().map(|hint| format!("\nhint: {hint}")).unwrap_or_default())]
pub struct AgentError {
    /// What to do about it, by kind.
    pub kind: AgentErrorKind,
    /// What a person is told.
    pub message: String,
    /// What a person can do about it.
    pub hint: Option<Box<str>>,
    /// The server's own name for it, which stays the same.
    pub code: Option<Box<str>>,
    /// What was said by whom it went wrong with, verbatim.
    pub native_error: Option<Box<str>>,
    /// The agent, if it is known.
    pub agent_type: Option<Box<str>>,
}

impl AgentError {
    /// An error with a message and nothing more.
    #[must_use]
    pub fn new(kind: AgentErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hint: None, code: None, native_error: None, agent_type: None }
    }

    /// An error from a text that may end with a hint, as our errors print themselves.
    #[must_use]
    pub fn from_text(kind: AgentErrorKind, text: &str) -> Self {
        match text.split_once("\nhint: ") {
            Some((message, hint)) => Self::new(kind, message).with_hint(hint),
            None => Self::new(kind, text),
        }
    }

    /// The same with the name by which it is known for ever.
    #[must_use]
    pub fn with_code(mut self, code: &str) -> Self {
        self.code = Some(code.into());
        self
    }

    /// The same with what a person can do about it.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into().into_boxed_str());
        self
    }

    /// The same with the agent.
    #[must_use]
    pub fn with_agent(mut self, agent: &str) -> Self {
        self.agent_type = (!agent.is_empty()).then(|| agent.into());
        self
    }

    /// The same with what the other side said.
    #[must_use]
    pub fn with_native(mut self, native: impl Into<String>) -> Self {
        self.native_error = Some(native.into().into_boxed_str());
        self
    }

    /// Trying again may help: nothing answered, or not in time.
    #[must_use]
    pub fn is_transient(&self) -> bool {
        matches!(self.kind, AgentErrorKind::ConnectionFailed | AgentErrorKind::Timeout)
    }
}

impl From<&Fault> for AgentError {
    /// What went wrong with an agent.
    fn from(fault: &Fault) -> Self {
        let error = Self::new(fault.code.kind(), fault.message.clone());
        Self { native_error: fault.info.as_deref().map(Into::into), ..error }
    }
}
