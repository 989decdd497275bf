//! Classifies projected messages for the server that forwards them.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_event::{Id, Origin};

use super::verdict::HarnessRequestKind;

/// The relevant content of a message.
#[derive(Debug)]
pub enum HarnessMessageKind<'a> {
    /// The agent's process has started.
    Started,
    /// A turn has started.
    TurnStarted {
        /// The turn id.
        id: String,
        /// The turn as it was sent.
        turn: &'a RawValue,
        /// What started the turn.
        origin: Origin,
    },
    /// A turn has ended.
    TurnCompleted,
    /// The agent waits for an answer.
    Asks {
        /// The request id.
        request: Id,
        /// The kind of request.
        asked: HarnessRequestKind,
    },
    /// A request was resolved.
    Resolved {
        /// The request id.
        request: Id,
    },
    /// The thread info has changed.
    Updated,
    /// The agent's process has ended.
    Ended,
    /// Any other message.
    Other,
}

/// The beginnings of all messages that the projection writes.
const REQUEST_PREFIX: &[u8] = b"{\"id\":";
const NOTIFICATION_PREFIX: &[u8] = b"{\"method\":\"";

/// Classifies a message. For the most frequent messages only the beginning is inspected.
#[must_use]
pub fn classify_message(message: &[u8]) -> HarnessMessageKind<'_> {
    if message.starts_with(REQUEST_PREFIX) {
        return read_request(message).unwrap_or(HarnessMessageKind::Other);
    }
    let Some(rest) = message.strip_prefix(NOTIFICATION_PREFIX) else { return HarnessMessageKind::Other };
    let method = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    match method {
        b"turn/started" => read_turn_started(message).unwrap_or(HarnessMessageKind::Other),
        b"switchboard/requestResolved" => read_resolved(message).unwrap_or(HarnessMessageKind::Other),
        b"turn/completed" => HarnessMessageKind::TurnCompleted,
        b"thread/started" => HarnessMessageKind::Started,
        b"switchboard/threadUpdated" => HarnessMessageKind::Updated,
        b"switchboard/threadEnded" => HarnessMessageKind::Ended,
        _ => HarnessMessageKind::Other,
    }
}

fn read_request(message: &[u8]) -> Option<HarnessMessageKind<'_>> {
    #[derive(Deserialize)]
    struct RequestHeader<'a> {
        id: Id,
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let RequestHeader { id, method } = parse_json(message)?;
    let asked =
        if method.ends_with("/requestApproval") { HarnessRequestKind::Approval } else { HarnessRequestKind::Other };
    Some(HarnessMessageKind::Asks { request: id, asked })
}

#[derive(Deserialize)]
struct MessageParams<T> {
    params: T,
}

fn read_turn_started(message: &[u8]) -> Option<HarnessMessageKind<'_>> {
    #[derive(Deserialize)]
    struct TurnStartedParams<'a> {
        #[serde(borrow)]
        turn: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct TurnHeader {
        id: String,
        #[serde(rename = "_meta")]
        meta: TurnHeaderMeta,
    }
    #[derive(Deserialize)]
    struct TurnHeaderMeta {
        #[serde(default)]
        origin: Origin,
    }
    let MessageParams { params: TurnStartedParams { turn } } = parse_json(message)?;
    let TurnHeader { id, meta } = serde_json::from_str(turn.get()).ok()?;
    Some(HarnessMessageKind::TurnStarted { id, turn, origin: meta.origin })
}

fn read_resolved(message: &[u8]) -> Option<HarnessMessageKind<'_>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct ResolvedParams {
        request_id: Id,
    }
    let MessageParams { params: ResolvedParams { request_id } } = parse_json(message)?;
    Some(HarnessMessageKind::Resolved { request: request_id })
}

fn parse_json<'a, T: Deserialize<'a>>(message: &'a [u8]) -> Option<T> {
    serde_json::from_slice(message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{MessageBuffer, harness::DIALECT, test_sessions::full_sample_session};

    #[test]
    fn what_matters_is_seen_in_what_the_projection_says() {
        let (mut projection, mut out) = ((DIALECT.projection)(), MessageBuffer::default());
        full_sample_session().events.iter().for_each(|event| projection.project_event(event, &mut out));
        let mut seen = [0_usize; 8];
        for message in out.iter() {
            let value: serde_json::Value = serde_json::from_slice(message).unwrap();
            let (index, method) = match classify_message(message) {
                HarnessMessageKind::Started => (0, "thread/started"),
                HarnessMessageKind::TurnStarted { id, .. } => {
                    assert_eq!(value["params"]["turn"]["id"], id);
                    (1, "turn/started")
                }
                HarnessMessageKind::TurnCompleted => (2, "turn/completed"),
                HarnessMessageKind::Asks { request, asked } => {
                    assert_eq!(value["id"], *request);
                    assert_eq!(asked == HarnessRequestKind::Other, value["method"] == "switchboard/request");
                    (3, value["method"].as_str().unwrap())
                }
                HarnessMessageKind::Resolved { request } => {
                    assert_eq!(value["params"]["requestId"], *request);
                    (4, "switchboard/requestResolved")
                }
                HarnessMessageKind::Updated => (5, "switchboard/threadUpdated"),
                HarnessMessageKind::Ended => (6, "switchboard/threadEnded"),
                HarnessMessageKind::Other => (7, value["method"].as_str().unwrap()),
            };
            assert_eq!(value["method"], method);
            seen[index] += 1;
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }
}
