//! Messages of both directions. Fields of the protocol are always present; Switchboard's additions are omitted if
//! unknown.

mod block;
mod client;
mod permission;
mod server;
mod speech;
mod team;
mod tool;
mod turn;

pub use block::Block;
pub use client::{
    Behavior, CLIENT_TYPES, ClientMessage, ImageData, PermissionAnswer, SetAdapter, SetModel, SetPermissionMode,
    SlashCommand, UserInput,
};
pub use permission::{Permission, PermissionCancelled};
pub use server::{
    CapabilitiesReady, CommandOffer, Consumer, ModelOffer, Role, Sequenced, ServerMessage, SlashSource, Stream,
};
pub use speech::{AssistantMessage, AuthStatus, Delta, StreamPiece, UserMessage};
pub use team::{MemberStatus, TaskStatus, Team, TeamMember, TeamMessage, TeamTask};
pub use tool::{ToolProgress, ToolUseSummary};
pub use turn::{ResultData, ResultSubtype, Tokens, TurnTokens};
