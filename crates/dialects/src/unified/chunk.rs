//! `textChunk`, written by hand: in a stream of text nearly every message is one, and half the cost of writing it was
//! looking for characters to escape where there are none. The bytes are those that [`Message`](super::wire::Message)
//! gives; a test holds the two together.

use switchboard_event::{Event, Id};

use crate::Messages;

/// A piece of text.
pub struct Chunk<'a> {
    pub content: &'a str,
    pub is_complete: bool,
    pub channel: Option<&'static str>,
}

/// The session's id as JSON, made once.
#[derive(Clone, Default)]
pub struct SessionJson {
    session: Id,
    json: Vec<u8>,
}

impl SessionJson {
    fn of(&mut self, session: &Id) -> &[u8] {
        if self.session != *session || self.json.is_empty() {
            self.session = session.clone();
            self.json = serde_json::to_vec(&**session).unwrap_or_default();
        }
        &self.json
    }
}

/// Writes the first message of an event, if it is a piece of text that no subagent says.
pub fn write(event: &Event, chunk: &Chunk<'_>, session: &mut SessionJson, out: &mut Messages) {
    let session = session.of(&event.session);
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
    use switchboard_event::{Body, Event, Id, Notice, Timestamp};

    use super::{Chunk, SessionJson, write};
    use crate::{Messages, unified::wire::Message};

    fn event() -> Event {
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
            body: Body::Notice(Box::<Notice>::default()),
            native: None,
            cause: None,
        }
    }

    #[test]
    fn the_bytes_are_those_of_any_other_message() {
        let (event, mut session) = (event(), SessionJson::default());
        for (content, is_complete, channel) in
            [("plain", false, None), ("\"\n\u{1}é", true, None), ("", true, Some("reasoning"))]
        {
            let (mut by_hand, mut derived) = (Messages::default(), Messages::default());
            write(&event, &Chunk { content, is_complete, channel }, &mut session, &mut by_hand);
            let mut message = Message::new(&event, 0, "textChunk");
            (message.content, message.is_complete, message.channel) = (Some(content), Some(is_complete), channel);
            derived.push(&message);
            assert!(by_hand.iter().eq(derived.iter()));
        }
    }
}
