//! Consumers: several clients that follow and control one session over WebSocket, and are told of each other. The
//! messages of the session come from its feed; presence and the waiting prompt are shared state of this process.

mod client_messages;
mod connection;
mod shared_session;

use schemars::JsonSchema;
use serde::Deserialize;
use switchboard_dialects::{
    Dialect, DialectSurface,
    consumer::{
        self, ConsumerState, PROTOCOL_VERSION,
        wire::{Consumer, Permission, Role, ServerMessage},
    },
    default_dialect,
};

use crate::{
    Problem, Service,
    conversation::MessageWatch,
    feed::{FeedStart, ProjectionSnapshot},
    guard::Caller,
};
use client_messages::ConsumerMessages;
use shared_session::ConsumerPresence;

pub use connection::serve;
pub use shared_session::SharedSessions;

/// How many messages of the history a consumer gets by default.
const DEFAULT_HISTORY_MESSAGES: u64 = 1000;

const MAX_NAME_CHARS: usize = 200;

/// How to join a session.
#[derive(Debug, Default, Deserialize, JsonSchema)]
pub struct JoinParams {
    /// What the consumer may do.
    #[serde(default)]
    role: Role,
    /// The display name.
    #[schemars(length(max = 200))]
    name: Option<String>,
    /// The identity from an earlier connection: the `userId` of its `identity`.
    #[schemars(length(max = 200))]
    consumer: Option<String>,
    /// The last `seq` that the consumer has seen; all later messages are sent.
    #[serde(alias = "last_seen")]
    #[schemars(range(min = 0, max = 9_007_199_254_740_992_u64))]
    after: Option<u64>,
    /// The `numbering` of the earlier connection; if it has changed, `after` is ignored.
    #[schemars(length(max = 200))]
    numbering: Option<String>,
    /// How many messages of the history to send, without `after`.
    #[schemars(range(min = 0, max = 1_000_000))]
    history: Option<u64>,
}

/// A consumer that joined a session.
pub struct JoinedConsumer {
    pub messages: ConsumerMessages,
    pub feed: MessageWatch,
    /// The state of the session when the consumer joined.
    pub state: ConsumerState,
    /// The number of messages up to that state.
    pub count: u64,
    /// The number of messages to skip.
    pub skip: u64,
    numbering: String,
    /// Why the consumer cannot continue where it was.
    resume_error: Option<String>,
}

impl JoinedConsumer {
    pub async fn join(
        service: &Service,
        session: &str,
        params: &JoinParams,
        caller: Option<Caller>,
    ) -> Result<Self, Problem> {
        let consumer = params.consumer(service)?;
        let shared = service.shared_sessions().open(service, session).await?;
        let dialect = default_dialect(DialectSurface::Consumers);
        let (engine, id) = (service.engine().clone(), shared.conversation.id().clone());
        let head = service.query_log(move |_| ProjectionSnapshot::read(&engine, &id, dialect)).await?;
        let resume_error = params.resume_error(head.count, dialect);
        let skip = if resume_error.is_some() { 0 } else { params.skip(head.count) };
        let feed = shared.conversation.follow_messages(dialect, FeedStart::AfterMessages(skip)).await?;
        let mut state = consumer::restore_state(&head.saved).unwrap_or_default();
        if state.session_id.is_empty() {
            // The agent has not reported anything yet.
            let stored = service.session_record(session).await?;
            (state.session_id, state.agent, state.cwd) = (stored.id.to_string(), stored.agent.to_string(), stored.cwd);
        }
        let messages = ConsumerMessages::new(ConsumerPresence::join(shared, consumer), caller);
        Ok(Self { messages, feed, state, count: head.count, skip, numbering: dialect.version(), resume_error })
    }

    /// Returns the first messages to send.
    pub fn greeting(&self) -> Vec<ServerMessage> {
        let presence = &self.messages.presence;
        let mut messages = vec![
            ServerMessage::SessionInit {
                session: Box::new(self.state.clone()),
                protocol_version: PROTOCOL_VERSION,
                numbering: Some(self.numbering.clone()),
            },
            ServerMessage::Identity(presence.consumer.clone()),
        ];
        messages.extend(self.resume_error.clone().map(|error| {
            let session_id = presence.session.conversation.id().to_string();
            ServerMessage::ResumeFailed { session_id, error: Some(error) }
        }));
        messages
    }

    /// Returns the open requests, which are sent after the history if it does not contain them.
    pub fn pending(&self) -> Vec<Permission> {
        self.state.pending_permissions.clone()
    }
}

impl JoinParams {
    fn consumer(&self, service: &Service) -> Result<Consumer, Problem> {
        let given = || [&self.name, &self.consumer].into_iter().flatten();
        if given().any(|given| given.is_empty() || given.chars().count() > MAX_NAME_CHARS) {
            let detail = format!("name and consumer must have 1 to {MAX_NAME_CHARS} characters");
            return Err(Problem::bad_request("bad_query", detail));
        }
        if given().any(|given| given.chars().any(char::is_control)) {
            return Err(Problem::bad_request("bad_query", "name and consumer must not have control characters"));
        }
        let new_id = || (service.config().host.new_id)().to_string();
        let id = self.consumer.clone().unwrap_or_else(new_id);
        let tail: String = id.chars().rev().take(4).collect::<Vec<_>>().into_iter().rev().collect();
        let name = self.name.clone().unwrap_or_else(|| format!("guest-{tail}"));
        Ok(Consumer { user_id: id.clone(), display_name: name.clone(), role: self.role, consumer_id: id, name })
    }

    fn skip(&self, count: u64) -> u64 {
        self.after.unwrap_or_else(|| count.saturating_sub(self.history.unwrap_or(DEFAULT_HISTORY_MESSAGES)))
    }

    /// Returns why it is unknown what the consumer has seen; then all messages are sent again.
    fn resume_error(&self, count: u64, dialect: &Dialect) -> Option<String> {
        let after = self.after?;
        if self.numbering.as_ref().is_some_and(|numbering| *numbering != dialect.version()) {
            return Some("the numbering of messages has changed; all messages are sent again".to_owned());
        }
        let beyond = || format!("there is no message {after}, only {count}; all messages are sent again");
        (after > count).then(beyond)
    }
}
