//! The event model of Switchboard: every coding agent's stream is converted to it, and every outgoing protocol is made
//! from it. Contains only types and their wire format: no agent, no dialect, no clock, no I/O.
//!
//! # The wire format
//!
//! One JSON object per event. The envelope is the same for all twelve kinds, `data` depends on `kind`:
//!
//! ```json
//! {"v":1,"seq":7,"id":"evt_2c5a8e1f_7","session":"0198…","at":"2026-11-15T10:00:00.123456Z","agent":"echo",
//!  "run":1,"turn":1,"item":"toolu_01","parent":null,"thread":null,"kind":"item.completed","data":{…},
//!  "dir":"in","native":{…the native record, verbatim…}}
//! ```
//!
//! * `seq` is dense from 1 in a session. `id` is derived from session and `seq`.
//! * `run` counts the processes of a session, `turn` the turns of a session.
//! * `item` is the item that the event is about. `parent` is the item under which a subagent works, `thread` the
//!   subagent's own thread; an event with a `thread` is never part of the answer.
//! * `native` is the native record that caused the event, verbatim, and `dir` its direction (`in` from the agent,
//!   `out` to it). A record that caused several events is in the first; the others name its `seq` in `cause`.
//!   A line that is not JSON is a string with `"enc":"text"`; bytes that are not UTF-8 are
//!   `{"base64":"…"}` with `"enc":"base64"`.
//! * Fields are added, never renamed or removed; readers ignore unknown fields.
//!
//! The types of this crate document `data`; [`schema::event`] returns the JSON Schema.

#![warn(missing_docs)]

mod body;
mod config;
mod envelope;
mod fault;
mod given_settings;
mod id;
mod item;
mod notice;
mod request;
pub mod schema;
mod session;
mod session_state;
mod time;
mod usage;

pub use body::{EventBody, Kind};
pub use config::{ApprovalMode, McpServerConfig, McpTransport, SandboxMode, SessionConfig};
pub use envelope::{Dir, Event, EventError, NativeBody, NativeRecord, to_raw_json, to_raw_string};
pub use fault::{ErrorCode, ErrorKind, Fault};
pub use given_settings::{
    ClientSettings, MisplacedSettings, SettingsError, SettingsForm, describe_ignored, limits_agent_by_name,
    read_mcp_servers, read_settings,
};
pub use id::Id;
pub use item::{
    AgentMessage, Call, CallKind, Change, ChangeKind, Command, Content, ContentType, Delta, Details, Field, FileChange,
    FileOp, Item, Location, Mcp, Plan, PlanEntry, PlanStatus, Reasoning, Status, Subagent, Team, Tool, Unknown,
    UserMessage, WebSearch,
};
pub use notice::{Level, Notice, Topic};
pub use request::{
    About, Choice, Decider, OptionKind, Outcome, Question, RequestOpened, RequestOption, RequestResolved,
};
pub use session::{
    Context, Denied, EndReason, Info, McpServer, Mode, Model, Named, Origin, Resumed, Selector, SelectorValue,
    SessionEnded, SessionStarted, SessionStatus, SessionUpdated, Stop, TurnCompleted, TurnStarted, TurnStatus,
};
pub use session_state::SessionState;
pub use time::Timestamp;
pub use usage::{Scope, Usage};
