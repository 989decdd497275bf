//! Coming in: who comes, what the session is like at that moment, and where what it is told begins.

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_dialects::{
    Dialect, DialectSurface,
    consumer::{
        self, PROTOCOL_VERSION, State,
        wire::{Consumer, Permission, Role, ServerMessage},
    },
    default_dialect,
};

use super::{hearing::Speaker, room::Seat};
use crate::{
    Problem, Service,
    conversation::Watch,
    feed::{Begin, Head},
    guard::Caller,
};

/// So many messages of the past a newcomer gets, unless it asks for others.
const HISTORY: u64 = 1000;

/// A name has at most so many characters.
const LONGEST: usize = 200;

/// How somebody comes in.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct Invitation {
    /// What it may do.
    #[serde(default)]
    role: Role,
    /// What to call it.
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// Who it was when it was here before: the `userId` of its `identity`.
    #[schemars(length(max = 200))]
    consumer: Option<String>,
    /// The last `seq` that it has seen: everything behind that is told, however much that is.
    #[serde(alias = "last_seen")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// The `numbering` of the server when it was here before; if it is another now, `after` says nothing.
    #[schemars(length(max = 200))]
    numbering: Option<String>,
    /// How many messages of the past it wants, if it has seen none.
    #[schemars(range(min = 0, max = 1_000_000))]
    history: Option<u64>,
}

/// Somebody who came in.
pub struct Guest {
    /// What it says.
    pub speaker: Speaker,
    /// What happens.
    pub feed: Watch,
    /// What the session is like.
    pub state: State,
    /// How many messages there were up to that.
    pub count: u64,
    /// How many of them it is not told.
    pub begin: u64,
    numbering: String,
    /// Why it cannot go on where it was.
    lost: Option<String>,
}

impl Guest {
    /// Lets somebody in.
    ///
    /// # Errors
    /// If there is no such session, or it makes no sense how it wants to come in.
    pub async fn welcome(
        service: &Service,
        session: &str,
        invitation: &Invitation,
        caller: Option<Caller>,
    ) -> Result<Self, Problem> {
        let consumer = invitation.consumer(service)?;
        let room = service.rooms().enter(service, session).await?;
        let dialect = default_dialect(DialectSurface::Consumers);
        let (engine, id) = (service.engine().clone(), room.conversation.id().clone());
        let head = service.ask(move |_| Head::of(&engine, &id, dialect)).await?;
        let lost = invitation.lost(head.count, dialect);
        let begin = if lost.is_some() { 0 } else { invitation.begin(head.count) };
        let feed = room.conversation.feed(dialect, Begin::Message(begin)).await?;
        let mut state = consumer::restore_state(&head.saved).unwrap_or_default();
        if state.session_id.is_empty() {
            // Its agent has not said anything yet.
            let stored = service.stored(session).await?;
            (state.session_id, state.agent, state.cwd) = (stored.id.to_string(), stored.agent.to_string(), stored.cwd);
        }
        let speaker = Speaker::new(Seat::in_room(room, consumer), caller);
        Ok(Self { speaker, feed, state, count: head.count, begin, numbering: dialect.version(), lost })
    }

    /// What it is told first.
    pub fn greeting(&self) -> Vec<ServerMessage> {
        let seat = &self.speaker.seat;
        let mut told = vec![
            ServerMessage::SessionInit {
                session: Box::new(self.state.clone()),
                protocol_version: PROTOCOL_VERSION,
                numbering: Some(self.numbering.clone()),
            },
            ServerMessage::Identity(seat.consumer.clone()),
        ];
        told.extend(self.lost.clone().map(|why| {
            let session_id = seat.room.conversation.id().to_string();
            ServerMessage::ResumeFailed { session_id, error: Some(why) }
        }));
        told
    }

    /// What is open: told behind the history where nothing else tells it.
    pub fn pending(&self) -> Vec<Permission> {
        self.state.pending_permissions.clone()
    }
}

impl Invitation {
    fn consumer(&self, service: &Service) -> Result<Consumer, Problem> {
        let given = || [&self.name, &self.consumer].into_iter().flatten();
        if given().any(|given| given.is_empty() || given.chars().count() > LONGEST) {
            let detail = format!("name and consumer have 1 to {LONGEST} characters");
            return Err(Problem::bad_request("bad_query", detail));
        }
        if given().any(|given| given.chars().any(char::is_control)) {
            return Err(Problem::bad_request("bad_query", "name and consumer have no control characters"));
        }
        let fresh = || (service.setup().machine.new_id)().to_string();
        let id = self.consumer.clone().unwrap_or_else(fresh);
        let tail: String = id.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
        let name = self.name.clone().unwrap_or_else(|| format!("guest-{tail}"));
        Ok(Consumer { user_id: id.clone(), display_name: name.clone(), role: self.role, consumer_id: id, name })
    }

    /// How many messages it is not told.
    fn begin(&self, count: u64) -> u64 {
        self.after.unwrap_or_else(|| count.saturating_sub(self.history.unwrap_or(HISTORY)))
    }

    /// Why we cannot say what it has seen, if it has: then it is told all of it again.
    fn lost(&self, count: u64, dialect: &Dialect) -> Option<String> {
        let after = self.after?;
        if self.numbering.as_ref().is_some_and(|numbering| *numbering != dialect.version()) {
            return Some("messages are numbered otherwise now: all of them are told again".to_owned());
        }
        let beyond = || format!("there are {count} messages, and none with number {after}: all of them are told again");
        (after > count).then(beyond)
    }
}
