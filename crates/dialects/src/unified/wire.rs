//! Message types of the specification as one flat type: every message has the first four fields and those of its type.
//! Unknown values are omitted, never `null`.

use serde::Serialize;
use serde_json::value::RawValue;
use switchboard_event::{ErrorKind, Event, Id, SessionConfig, Timestamp, Usage};

use crate::{MessageBuffer, messages::MessageId};

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnifiedEvent<'a> {
    pub id: MessageId<'a>,
    pub session_id: &'a str,
    pub timestamp: Timestamp,
    #[serde(rename = "type")]
    pub kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent_type: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub config: Option<&'a SessionConfig>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub turn_number: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub prompt: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub is_complete: Option<bool>,
    /// Ours: the kind of text, unless it is the answer.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channel: Option<&'static str>,
    /// Ours: text that the agent took back, on the last chunk of a message.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retracted: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_id: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tool_name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub arguments: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub output: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub progress: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub success: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub result: Option<&'a RawValue>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub file_path: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub change_type: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub diff: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub before: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub usage: Option<UnifiedTokenUsage>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub message: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error_type: Option<ErrorKind>,
    /// Ours: the tool call that runs the subagent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parent_tool_id: Option<&'a str>,
}

impl<'a> UnifiedEvent<'a> {
    /// Creates a message with only its envelope.
    pub fn new(event: &'a Event, part: u32, kind: &'static str) -> Self {
        Self {
            id: MessageId { event, part },
            session_id: &event.session,
            timestamp: event.at,
            kind,
            agent_type: None,
            config: None,
            turn_number: None,
            prompt: None,
            content: None,
            is_complete: None,
            channel: None,
            retracted: None,
            tool_id: None,
            tool_name: None,
            arguments: None,
            output: None,
            progress: None,
            success: None,
            result: None,
            file_path: None,
            change_type: None,
            diff: None,
            before: None,
            after: None,
            usage: None,
            duration_ms: None,
            reason: None,
            error: None,
            message: None,
            error_type: None,
            parent_tool_id: event.parent.as_deref(),
        }
    }
}

/// The tokens of a turn. Input includes the cache, total is input plus output.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct UnifiedTokenUsage {
    input_tokens: u64,
    output_tokens: u64,
    cached_tokens: u64,
    reasoning_tokens: u64,
    /// Ours: tokens of tool use, if the agent counts them separately.
    #[serde(skip_serializing_if = "Option::is_none")]
    tool_tokens: Option<u64>,
    total_tokens: u64,
}

impl From<Usage> for UnifiedTokenUsage {
    fn from(usage: Usage) -> Self {
        Self {
            input_tokens: usage.all_input(),
            output_tokens: usage.output,
            cached_tokens: usage.cache_read,
            reasoning_tokens: usage.reasoning,
            tool_tokens: usage.tool,
            total_tokens: usage.total_tokens(),
        }
    }
}

/// A piece of text.
pub struct TextChunk<'a> {
    pub content: &'a str,
    pub is_complete: bool,
    pub channel: Option<&'static str>,
}

/// The session id as JSON, serialized once.
#[derive(Clone, Default)]
pub struct SessionJson {
    session: Id,
    json: Vec<u8>,
}

impl SessionJson {
    fn encode_session(&mut self, session: &Id) -> &[u8] {
        if self.session != *session || self.json.is_empty() {
            self.session = session.clone();
            self.json = serde_json::to_vec(&**session).unwrap_or_default();
        }
        &self.json
    }
}

/// Writes the first message of an event as a text chunk. Not used for subagents.
pub fn write_text_chunk(event: &Event, chunk: &TextChunk<'_>, session: &mut SessionJson, out: &mut MessageBuffer) {
    let session = session.encode_session(&event.session);
    out.write(|bytes| {
        bytes.extend_from_slice(b"{\"id\":\"");
        event.id().write_to(bytes);
        bytes.extend_from_slice(b"\",\"sessionId\":");
        bytes.extend_from_slice(session);
        bytes.extend_from_slice(b",\"timestamp\":\"");
        event.at.write_to(bytes);
        bytes.extend_from_slice(b"\",\"type\":\"textChunk\",\"content\":");
        serde_json::to_writer(&mut *bytes, chunk.content)?;
        bytes.extend_from_slice(if chunk.is_complete { b",\"isComplete\":true" } else { b",\"isComplete\":false" });
        if let Some(channel) = chunk.channel {
            bytes.extend_from_slice(b",\"channel\":\"");
            bytes.extend_from_slice(channel.as_bytes());
            bytes.push(b'"');
        }
        bytes.push(b'}');
        Ok(())
    });
}

#[cfg(test)]
mod tests {
    use switchboard_event::{Event, EventBody, Id, Notice, Timestamp};

    use super::{SessionJson, TextChunk, UnifiedEvent, write_text_chunk};
    use crate::MessageBuffer;

    fn sample_event() -> Event {
        Event {
            seq: 7,
            session: Id::from("a \"quoted\" session"),
            at: Timestamp::parse("2026-11-15T10:00:00.5Z").unwrap(),
            agent: Id::from("any"),
            run: 1,
            turn: Some(1),
            item: None,
            parent: None,
            thread: None,
            body: EventBody::Notice(Box::<Notice>::default()),
            native: None,
            cause: None,
        }
    }

    #[test]
    fn the_bytes_are_those_of_any_other_message() {
        let (event, mut session) = (sample_event(), SessionJson::default());
        for (content, is_complete, channel) in
            [("plain", false, None), ("\"\n\u{1}é", true, None), ("", true, Some("reasoning"))]
        {
            let (mut by_hand, mut derived) = (MessageBuffer::default(), MessageBuffer::default());
            write_text_chunk(&event, &TextChunk { content, is_complete, channel }, &mut session, &mut by_hand);
            let mut message = UnifiedEvent::new(&event, 0, "textChunk");
            (message.content, message.is_complete, message.channel) = (Some(content), Some(is_complete), channel);
            derived.push(&message);
            assert!(by_hand.iter().eq(derived.iter()));
        }
    }
}
