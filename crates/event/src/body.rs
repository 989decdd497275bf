//! The twelve kinds of event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize, Serializer};

use crate::{
    Delta, Item, Notice, RequestOpened, RequestResolved, SessionEnded, SessionStarted, SessionUpdated, TurnCompleted,
    TurnStarted, Usage,
};

/// The content of an event. Large variants are boxed so that the enum stays small.
#[derive(Clone, Debug)]
pub enum EventBody {
    /// A run began.
    SessionStarted(Box<SessionStarted>),
    /// The known facts about the session changed.
    SessionUpdated(Box<SessionUpdated>),
    /// A run ended.
    SessionEnded(Box<SessionEnded>),
    /// A turn has started.
    TurnStarted(Box<TurnStarted>),
    /// A turn has ended.
    TurnCompleted(Box<TurnCompleted>),
    /// An item has started.
    ItemStarted(Box<Item>),
    /// An item grew or changed.
    ItemDelta(Delta),
    /// An item is finished; the payload is the complete item.
    ItemCompleted(Box<Item>),
    /// The agent waits for an answer.
    RequestOpened(Box<RequestOpened>),
    /// The request was answered or withdrawn.
    RequestResolved(Box<RequestResolved>),
    /// Tokens were used.
    Usage(Box<Usage>),
    /// Anything else worth recording.
    Notice(Box<Notice>),
}

/// The name of a kind on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[expect(missing_docs, reason = "the variants of `Body` say what they are")]
pub enum Kind {
    #[serde(rename = "session.started")]
    SessionStarted,
    #[serde(rename = "session.updated")]
    SessionUpdated,
    #[serde(rename = "session.ended")]
    SessionEnded,
    #[serde(rename = "turn.started")]
    TurnStarted,
    #[serde(rename = "turn.completed")]
    TurnCompleted,
    #[serde(rename = "item.started")]
    ItemStarted,
    #[serde(rename = "item.delta")]
    ItemDelta,
    #[serde(rename = "item.completed")]
    ItemCompleted,
    #[serde(rename = "request.opened")]
    RequestOpened,
    #[serde(rename = "request.resolved")]
    RequestResolved,
    #[serde(rename = "usage")]
    Usage,
    #[serde(rename = "notice")]
    Notice,
}

impl EventBody {
    /// Returns the kind of the event.
    #[must_use]
    pub fn kind(&self) -> Kind {
        match self {
            Self::SessionStarted(_) => Kind::SessionStarted,
            Self::SessionUpdated(_) => Kind::SessionUpdated,
            Self::SessionEnded(_) => Kind::SessionEnded,
            Self::TurnStarted(_) => Kind::TurnStarted,
            Self::TurnCompleted(_) => Kind::TurnCompleted,
            Self::ItemStarted(_) => Kind::ItemStarted,
            Self::ItemDelta(_) => Kind::ItemDelta,
            Self::ItemCompleted(_) => Kind::ItemCompleted,
            Self::RequestOpened(_) => Kind::RequestOpened,
            Self::RequestResolved(_) => Kind::RequestResolved,
            Self::Usage(_) => Kind::Usage,
            Self::Notice(_) => Kind::Notice,
        }
    }

    /// Parses the `data` of an event of the given kind.
    pub(crate) fn parse_data(kind: Kind, data: &str) -> serde_json::Result<Self> {
        Ok(match kind {
            Kind::SessionStarted => Self::SessionStarted(serde_json::from_str(data)?),
            Kind::SessionUpdated => Self::SessionUpdated(serde_json::from_str(data)?),
            Kind::SessionEnded => Self::SessionEnded(serde_json::from_str(data)?),
            Kind::TurnStarted => Self::TurnStarted(serde_json::from_str(data)?),
            Kind::TurnCompleted => Self::TurnCompleted(serde_json::from_str(data)?),
            Kind::ItemStarted => Self::ItemStarted(serde_json::from_str::<ItemPayload>(data)?.item),
            Kind::ItemDelta => Self::ItemDelta(serde_json::from_str(data)?),
            Kind::ItemCompleted => Self::ItemCompleted(serde_json::from_str::<ItemPayload>(data)?.item),
            Kind::RequestOpened => Self::RequestOpened(serde_json::from_str(data)?),
            Kind::RequestResolved => Self::RequestResolved(serde_json::from_str(data)?),
            Kind::Usage => Self::Usage(serde_json::from_str(data)?),
            Kind::Notice => Self::Notice(serde_json::from_str(data)?),
        })
    }
}

/// The `data` of `item.started` and `item.completed`.
#[derive(Deserialize)]
struct ItemPayload {
    item: Box<Item>,
}

#[derive(Serialize)]
struct ItemPayloadRef<'a> {
    item: &'a Item,
}

impl Serialize for EventBody {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::SessionStarted(data) => data.serialize(serializer),
            Self::SessionUpdated(data) => data.serialize(serializer),
            Self::SessionEnded(data) => data.serialize(serializer),
            Self::TurnStarted(data) => data.serialize(serializer),
            Self::TurnCompleted(data) => data.serialize(serializer),
            Self::ItemStarted(item) | Self::ItemCompleted(item) => ItemPayloadRef { item }.serialize(serializer),
            Self::ItemDelta(data) => data.serialize(serializer),
            Self::RequestOpened(data) => data.serialize(serializer),
            Self::RequestResolved(data) => data.serialize(serializer),
            Self::Usage(data) => data.serialize(serializer),
            Self::Notice(data) => data.serialize(serializer),
        }
    }
}
