//! Messages of the Agent Client Protocol, version 1, sent by an agent. Client messages are not defined here.

mod content;
mod extension;
mod message;
mod meta;
mod offer;
mod request;
mod tool;
mod update;

pub use content::{Content, text_content};
pub use extension::{
    Failure, MessageRetracted, RequestResolved, SessionEnded, SessionStarted, SubagentRole, SubagentSaid, TokenUsage,
    TurnCompleted, TurnStarted,
};
pub use message::{Method, Notification, Request};
pub use meta::{Meta, Ours, TerminalExit, TerminalInfo, TerminalOutput};
pub use offer::{Category, Command, ConfigOption, ConfigValue, Mode, Modes, Select};
pub use request::{
    Elicitation, EnumOption, Fields, Form, Items, Object, OptionKind, Permission, PermissionOption, Property,
    PropertyType,
};
pub use tool::{Diff, Location, ToolCall, ToolContent, ToolFields, ToolKind, ToolStatus, ToolUpdate};
pub use update::{
    Chunk, CompactionStatus, Cost, Entry, EntryStatus, Priority, SessionUpdate, Severity, StopReason, Update,
};
