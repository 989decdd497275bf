//! Message types of the specification. Unknown values are omitted, never `null`.

mod content;
mod conversation;
mod envelope;
mod metadata;
mod session;
mod status;
mod tool;

pub use content::{Content, ImageSource};
pub use conversation::{Assistant, EventType, StreamEvent, UserMessage};
pub use envelope::{Kind, Message};
pub use metadata::{Dropped, Failure, Place, Remark, Tokens};
pub use session::{
    Behavior, ConfigurationChange, Facts, LifecycleSubtype, PermissionRequest, PermissionResponse, RequestSubtype,
    SessionInit, SessionLifecycle,
};
pub use status::{AuthStatus, ControlResponse, Denial, Interrupt, StatusChange, StatusSubtype, TurnResult, Unknown};
pub use tool::{EndStatus, FileChange, ProgressStatus, TeamType, Tool, ToolProgress, ToolUseSummary};
