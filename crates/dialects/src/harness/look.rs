//! What a message of the projection means to whoever passes it on. How some are told differently on a connection is in
//! `retell.rs`.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;
use switchboard_event::{Id, Origin};

use super::verdict::Asked;

/// What a message says.
#[derive(Debug)]
pub enum Said<'a> {
    /// The agent's process is there.
    Started,
    /// A turn began.
    TurnStarted {
        /// Which.
        id: String,
        /// The turn, as it was told.
        turn: &'a RawValue,
        /// What began it.
        origin: Origin,
    },
    /// A turn ended.
    TurnCompleted,
    /// The agent waits for an answer.
    Asks {
        /// The request.
        request: Id,
        /// What it asks.
        asked: Asked,
    },
    /// It does not wait any more.
    Resolved {
        /// The request.
        request: Id,
    },
    /// Something about the thread changed.
    Updated,
    /// The agent's process ended.
    Ended,
    /// Something else.
    Other,
}

/// A message of ours begins in one of these ways.
const REQUEST: &[u8] = b"{\"id\":";
const NOTIFICATION: &[u8] = b"{\"method\":\"";

/// Looks at a message. Those that are most only cost a look at their beginning.
#[must_use]
pub fn look(message: &[u8]) -> Said<'_> {
    if message.starts_with(REQUEST) {
        return asks(message).unwrap_or(Said::Other);
    }
    let Some(rest) = message.strip_prefix(NOTIFICATION) else { return Said::Other };
    let method = rest.split(|byte| *byte == b'"').next().unwrap_or_default();
    match method {
        b"turn/started" => turn_started(message).unwrap_or(Said::Other),
        b"switchboard/requestResolved" => resolved(message).unwrap_or(Said::Other),
        b"turn/completed" => Said::TurnCompleted,
        b"thread/started" => Said::Started,
        b"switchboard/threadUpdated" => Said::Updated,
        b"switchboard/threadEnded" => Said::Ended,
        _ => Said::Other,
    }
}

fn asks(message: &[u8]) -> Option<Said<'_>> {
    #[derive(Deserialize)]
    struct Asking<'a> {
        id: Id,
        #[serde(borrow)]
        method: Cow<'a, str>,
    }
    let Asking { id, method } = read(message)?;
    let asked = if method.ends_with("/requestApproval") { Asked::Approval } else { Asked::Other };
    Some(Said::Asks { request: id, asked })
}

#[derive(Deserialize)]
struct Params<T> {
    params: T,
}

fn turn_started(message: &[u8]) -> Option<Said<'_>> {
    #[derive(Deserialize)]
    struct Began<'a> {
        #[serde(borrow)]
        turn: &'a RawValue,
    }
    #[derive(Deserialize)]
    struct Turn {
        id: String,
        #[serde(rename = "_meta")]
        meta: Meta,
    }
    #[derive(Deserialize)]
    struct Meta {
        #[serde(default)]
        origin: Origin,
    }
    let Params { params: Began { turn } } = read(message)?;
    let Turn { id, meta } = serde_json::from_str(turn.get()).ok()?;
    Some(Said::TurnStarted { id, turn, origin: meta.origin })
}

fn resolved(message: &[u8]) -> Option<Said<'_>> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Resolved {
        request_id: Id,
    }
    let Params { params: Resolved { request_id } } = read(message)?;
    Some(Said::Resolved { request: request_id })
}

fn read<'a, T: Deserialize<'a>>(message: &'a [u8]) -> Option<T> {
    serde_json::from_slice(message).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Messages, harness::DIALECT, test_sessions::everything};

    #[test]
    fn what_matters_is_seen_in_what_the_projection_says() {
        let (mut projection, mut out) = ((DIALECT.projection)(), Messages::default());
        everything().events.iter().for_each(|event| projection.event(event, &mut out));
        let mut seen = [0_usize; 8];
        for message in out.iter() {
            let value: serde_json::Value = serde_json::from_slice(message).unwrap();
            let (index, method) = match look(message) {
                Said::Started => (0, "thread/started"),
                Said::TurnStarted { id, .. } => {
                    assert_eq!(value["params"]["turn"]["id"], id);
                    (1, "turn/started")
                }
                Said::TurnCompleted => (2, "turn/completed"),
                Said::Asks { request, asked } => {
                    assert_eq!(value["id"], *request);
                    assert_eq!(asked == Asked::Other, value["method"] == "switchboard/request");
                    (3, value["method"].as_str().unwrap())
                }
                Said::Resolved { request } => {
                    assert_eq!(value["params"]["requestId"], *request);
                    (4, "switchboard/requestResolved")
                }
                Said::Updated => (5, "switchboard/threadUpdated"),
                Said::Ended => (6, "switchboard/threadEnded"),
                Said::Other => (7, value["method"].as_str().unwrap()),
            };
            assert_eq!(value["method"], method);
            seen[index] += 1;
        }
        assert!(seen.iter().all(|count| *count > 0), "{seen:?}");
    }
}
