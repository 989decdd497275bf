//! Messages of both sides as defined by the specification. Additions are marked: `_meta`, which any object may have,
//! methods that start with `switchboard/`, two item types, and some parameters.

mod answer;
mod approval;
mod call;
mod delta;
mod error;
mod extension;
mod item;
mod message;
mod reply;
mod thread;
mod turn;

pub use answer::{
    AgentInfo, Capabilities, ConfigListResult, ConfigMeta, ConfigReadResult, Done, InitializeResult, ModelListResult,
    ThreadListResult, ThreadResumeResult, ThreadStartResult, TurnStartResult,
};
pub use call::{
    ApprovalPolicy, ClientCapabilities, ClientInfo, ConfigListParams, ConfigSetParams, InitializeParams,
    InitializedParams, ModelListParams, NetworkAccess, SandboxPolicy, ThreadArchiveParams, ThreadListParams,
    ThreadResumeParams, ThreadStartParams, TurnInterruptParams, TurnStartParams,
};
pub use error::{ErrorData, RpcError, code};
pub use reply::{ApprovalResponse, Decision, RequestResponse, ResponseOutcome};

pub use approval::{ApprovalMeta, CommandApproval, FileChangeApproval};
pub use delta::{DeltaMeta, ItemDelta};
pub use extension::{
    Growth, NoticeParams, OpenRequest, Progress, ReplayCompleted, Resolved, ThreadEnded, ThreadUpdated,
};
pub use item::{
    ChangeMeta, FileChangeKind, FileUpdateChange, ItemBody, ItemMeta, ItemStatus, McpStatus, PlanEntry, StepStatus,
    SubagentRole, ThreadItem, UserInput,
};
pub use message::{Extension, Notification, Request, RequestMethod};
pub use thread::{
    ConfigKind, ConfigOption, ConfigSelectOption, Model, Thread, ThreadInfo, ThreadMeta, ThreadStarted, TokenUsage,
    TokenUsageUpdated, UsageMeta,
};
pub use turn::{
    ErrorMeta, ItemNotification, PlanUpdated, Turn, TurnError, TurnId, TurnMeta, TurnNotification, TurnStatus,
};
