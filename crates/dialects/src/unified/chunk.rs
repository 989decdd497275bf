//! A hand-written serializer for `textChunk`, the most frequent message of a text stream: half the cost of the derived
//! one was the search for characters to escape where there are none. The bytes equal those of `Message`, which a test
//! verifies.

use switchboard_event::{Event, Id};

use crate::MessageBuffer;

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

    use super::{SessionJson, TextChunk, write_text_chunk};
    use crate::{MessageBuffer, unified::wire::UnifiedEvent};

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
