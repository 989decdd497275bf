//! The requests and responses of the HTTP API besides events, shared by client and server. Unknown fields are ignored;
//! in responses, missing ones are empty.

mod approval;
mod request;
mod view;

pub use approval::{Answered, Approval, ApprovalAnswer, ApprovalDecision, Approvals};
pub use request::{
    ArchiveRequest, CommandRequest, FollowUpRequest, ImageData, MAX_TIMEOUT_SECONDS, MAX_TURNS, ModeRequest,
    ModelRequest, OptionRequest, SessionAction, StartSessionRequest, seconds_schema, variables_schema,
};
pub use view::{Activity, SandboxView, SessionLifecycle, SessionPage, SessionQuery, SessionStateFilter, SessionView};
