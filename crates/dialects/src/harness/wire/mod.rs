//! The messages of the agent's side, as the specification has them. What is ours is marked: `_meta`, which any
//! object may carry, the methods that begin with `switchboard/`, and two types of item.

mod approval;
mod delta;
mod extension;
mod item;
mod message;
mod thread;
mod turn;

pub use approval::{ApprovalMeta, CommandApproval, FileChangeApproval};
pub use delta::{DeltaMeta, ItemDelta};
pub use extension::{Growth, NoticeParams, OpenRequest, Progress, Resolved, ThreadEnded, ThreadUpdated};
pub use item::{
    ChangeMeta, FileChangeKind, FileUpdateChange, ItemBody, ItemMeta, ItemStatus, McpStatus, PlanEntry, StepStatus,
    SubagentRole, ThreadItem, UserInput,
};
pub use message::{Notification, Request, RequestMethod};
pub use thread::{
    ConfigKind, ConfigOption, ConfigSelectOption, Model, Thread, ThreadInfo, ThreadMeta, ThreadStarted, TokenUsage,
    TokenUsageUpdated, UsageMeta,
};
pub use turn::{
    ErrorMeta, ItemNotification, PlanUpdated, Turn, TurnError, TurnId, TurnMeta, TurnNotification, TurnStatus,
};
