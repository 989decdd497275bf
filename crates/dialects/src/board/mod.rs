//! Session events of the CLI agent streaming protocol: a session as shown on a board, line by line.

mod project;
#[cfg(test)]
mod tests;

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::Value;
use serde_json::value::RawValue;
use switchboard_event::{ChangeKind, ErrorKind, Event, Level, Timestamp};

use crate::Dialect;
use crate::projection::restore_projection;

/// The board dialect.
pub const DIALECT: Dialect = Dialect {
    name: "board",
    title: "session events of a board: plan, log, diff, action, toolResult, error, cancelled",
    projection: || Box::new(project::BoardProjection::default()),
    restore: restore_projection::<project::BoardProjection>,
    revision: 2,
    verbatim: false,
    schema: message_schema,
};

/// Returns the schema of one message.
fn message_schema(_: &[&str]) -> Value {
    serde_json::from_str(include_str!("schema.json")).unwrap_or_default()
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct BoardSessionEvent<'a, P> {
    pub id: BoardMessageId<'a>,
    pub session_id: &'a str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub payload: P,
    pub timestamp: Timestamp,
}

/// The payload of a message.
trait BoardPayload: Serialize {
    /// Type name of the messages with this payload.
    const TYPE: &'static str;
}

macro_rules! payloads {
    ($($name:ident = $tag:literal),*) => { $(impl BoardPayload for $name<'_> { const TYPE: &'static str = $tag; })* };
}

payloads! {
    PlanPayload = "plan", LogPayload = "log", DiffPayload = "diff", ActionPayload = "action", ToolResultPayload = "toolResult", ErrorPayload = "error",
    CancelledPayload = "cancelled"
}

/// A plan or reasoning text.
#[derive(Serialize)]
struct PlanPayload<'a> {
    pub message: &'a str,
    /// Ours: the source, unless it is the plan of the main conversation.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// One line of text.
#[derive(Default, Serialize)]
struct LogPayload<'a> {
    pub line: &'a str,
    /// Ours: the source, unless it is the agent's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// Ours: the severity.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Ours: the open request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct DiffPayload<'a> {
    pub file: &'a str,
    pub diff: &'a str,
    /// Ours: the kind of change.
    pub change: ChangeKind,
    /// Ours: the new path of a moved file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    /// Ours: the tool call that changed the file.
    pub tool_id: &'a str,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// The start of a tool call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ActionPayload<'a> {
    pub tool: &'a str,
    pub args: &'a RawValue,
    /// Ours: distinguishes calls of the same tool.
    pub tool_id: &'a str,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// The end of a tool call.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ToolResultPayload<'a> {
    pub tool: &'a str,
    pub success: bool,
    pub output: &'a str,
    /// Ours: the action that ended.
    pub tool_id: &'a str,
    /// Ours: the exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorPayload<'a> {
    pub message: &'a str,
    /// Ours: the kind of error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorKind>,
}

#[derive(Serialize)]
struct CancelledPayload<'a> {
    /// Ours: the reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

/// A message id: a UUID (version 8) as the specification requires, derived from session, event and message number, so
/// it is stable across reads.
struct BoardMessageId<'a> {
    pub event: &'a Event,
    pub part: u64,
}

impl fmt::Display for BoardMessageId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PART_BITS: u32 = 20;
        // Overflowing part numbers go into the first half, so that ids stay unique within a session.
        let session = fnv1a_hash(self.event.session.as_bytes()) ^ (self.part >> PART_BITS).rotate_left(32);
        let place = self.event.seq << PART_BITS | self.part & ((1 << PART_BITS) - 1);
        let (a, b, c) = (session >> 32, session >> 16 & 0xffff, session & 0xfff);
        let (d, e) = (0x8000 | place >> 48 & 0x3fff, place & 0xffff_ffff_ffff);
        write!(f, "{a:08x}-{b:04x}-8{c:03x}-{d:04x}-{e:012x}")
    }
}

impl Serialize for BoardMessageId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// FNV-1a hash; it only has to distinguish sessions.
fn fnv1a_hash(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
