//! Use coding agents from a program: sessions, typed events, approvals, over any transport.

mod error;
pub mod http;
mod remote;
mod wire;

pub use error::{AgentError, AgentErrorKind};
pub use remote::Remote;
pub use wire::{
    Activity, Answer, Approval, Decision, ImageData, Order, PromptRequest, SessionPage, SessionQuery, SessionRequest,
    SessionState, SessionView,
};
