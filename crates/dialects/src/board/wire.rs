//! The messages, as the specification has them: an envelope, and a payload by type. What is not known is left out;
//! fields that are ours are marked as such.

use std::fmt;

use serde::{Serialize, Serializer};
use serde_json::value::RawValue;
use switchboard_event::{ChangeKind, ErrorKind, Event, Level, Timestamp};

/// One message.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct SessionEvent<'a, P> {
    pub id: MessageId<'a>,
    pub session_id: &'a str,
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub payload: P,
    pub timestamp: Timestamp,
}

/// What a message carries.
pub trait Payload: Serialize {
    /// The type of the messages that carry it.
    const TYPE: &'static str;
}

macro_rules! payloads {
    ($($name:ident = $tag:literal),*) => { $(impl Payload for $name<'_> { const TYPE: &'static str = $tag; })* };
}

payloads! {
    Plan = "plan", Log = "log", Diff = "diff", Action = "action", ToolResult = "toolResult", Error = "error",
    Cancelled = "cancelled"
}

/// A plan, or what the agent thinks.
#[derive(Serialize)]
pub struct Plan<'a> {
    pub message: &'a str,
    /// Ours: where it comes from, if not from the main conversation's plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// Ours: the tool under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// One line.
#[derive(Default, Serialize)]
pub struct Log<'a> {
    pub line: &'a str,
    /// Ours: where it comes from, if it is not the agent's answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// Ours: how bad it is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub level: Option<Level>,
    /// Ours: the request that waits for an answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<&'a str>,
    /// Ours: the tool under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// A changed file.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Diff<'a> {
    pub file: &'a str,
    pub diff: &'a str,
    /// Ours: what happened to it.
    pub change: ChangeKind,
    /// Ours: where it was moved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to: Option<&'a str>,
    /// Ours: the tool that changed it.
    pub tool_id: &'a str,
    /// Ours: the tool under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// A tool begins.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Action<'a> {
    pub tool: &'a str,
    pub args: &'a RawValue,
    /// Ours: tells it from other calls of the same tool.
    pub tool_id: &'a str,
    /// Ours: the tool under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// A tool ended.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ToolResult<'a> {
    pub tool: &'a str,
    pub success: bool,
    pub output: &'a str,
    /// Ours: the action that it ends.
    pub tool_id: &'a str,
    /// Ours: the exit code of a command.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub exit_code: Option<i32>,
    /// Ours: how long it took.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    /// Ours: the tool under which a subagent works.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent: Option<&'a str>,
}

/// The session failed.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Error<'a> {
    pub message: &'a str,
    /// Ours: what went wrong.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorKind>,
}

/// The session was stopped.
#[derive(Serialize)]
pub struct Cancelled<'a> {
    /// Ours: why.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'a str>,
}

/// The id of a message: a UUID as the specification wants it (version 8), the same whenever the session is read
/// again. It is made of the session, the event and the number of the message.
pub struct MessageId<'a> {
    pub event: &'a Event,
    pub part: u64,
}

impl fmt::Display for MessageId<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const PART_BITS: u32 = 20;
        // More parts than fit go into the first half, so that no two messages of a session share an id.
        let session = fnv(self.event.session.as_bytes()) ^ (self.part >> PART_BITS).rotate_left(32);
        let place = self.event.seq << PART_BITS | self.part & ((1 << PART_BITS) - 1);
        let (a, b, c) = (session >> 32, session >> 16 & 0xffff, session & 0xfff);
        let (d, e) = (0x8000 | place >> 48 & 0x3fff, place & 0xffff_ffff_ffff);
        write!(f, "{a:08x}-{b:04x}-8{c:03x}-{d:04x}-{e:012x}")
    }
}

impl Serialize for MessageId<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// FNV-1a. It only has to tell sessions apart.
fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3))
}
