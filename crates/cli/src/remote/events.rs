//! The events of a session on a server, as they arrive.

use futures_util::{StreamExt as _, stream::ReadyChunks};
use switchboard_client::{
    AgentError, ApprovalDecision, MessageStream, NetworkTransport, RemoteServer, SessionView, Transport as _,
};
use switchboard_event::{Event, EventBody, Id};

use super::server_failure;
use crate::{
    failure::Failure,
    watch::{EventSource, WatchedEvents},
};

/// The maximum number of events that are shown at once.
const MAX_BATCH_EVENTS: usize = 256;

/// Follows a session on a server across broken connections.
pub struct RemoteEvents {
    stream: ReadyChunks<MessageStream<Event>>,
    /// The last event that was read.
    position: u64,
    /// The last event when following began.
    initial_head: u64,
    /// Arrived together with the last events.
    error: Option<AgentError>,
    /// Where requests are declined, because there is no one to ask.
    declining: Option<(RemoteServer, Id)>,
}

impl RemoteEvents {
    /// Follows a session from the event after a `seq`.
    pub fn follow(server: &RemoteServer, session: &SessionView, after: u64) -> Self {
        let stream = NetworkTransport::new(server.clone()).follow_events(&session.id, after);
        let stream = stream.ready_chunks(MAX_BATCH_EVENTS);
        Self { stream, position: after, initial_head: session.events, error: None, declining: None }
    }

    /// Declines the requests of the agent from now on, as on this machine when there is no one to ask.
    pub fn decline_requests(&mut self, server: &RemoteServer, session: &SessionView) {
        self.declining = Some((server.clone(), session.id.clone()));
    }

    /// Declines requests in tasks of their own, so that reading events stays cancel safe.
    fn decline(&self, events: &[Event]) {
        let Some((server, id)) = &self.declining else { return };
        for event in events {
            let EventBody::RequestOpened(request) = &event.body else { continue };
            let (server, id, request) = (server.clone(), id.clone(), request.request.clone());
            tokio::spawn(async move {
                // It may have been answered elsewhere; otherwise it is declined when its time is over.
                drop(server.answer_approval(&id, &request, &ApprovalDecision::Decline.into()).await);
            });
        }
    }
}

impl EventSource for RemoteEvents {
    async fn next_events(&mut self) -> Result<Option<WatchedEvents>, Failure> {
        if let Some(error) = self.error.take() {
            return Err(server_failure(error));
        }
        let Some(results) = self.stream.next().await else { return Ok(None) };
        let mut events = Vec::with_capacity(results.len());
        for result in results {
            match result {
                Ok(event) => events.push(event),
                // Nothing follows an error.
                Err(error) => self.error = Some(error),
            }
        }
        self.decline(&events);
        self.position = events.last().map_or(self.position, |event| event.seq);
        Ok(Some(WatchedEvents::Received(events)))
    }

    fn is_behind(&self) -> bool {
        self.position < self.initial_head
    }
}
