//! Closes the items, requests and turns that an agent leaves open.

use switchboard_event::{
    Decider, Details, EndReason, ErrorCode, Fault, Outcome, RequestResolved, Status, Stop, TurnCompleted, TurnStatus,
};

use super::{ConversationScope, RunRecorder, SessionEnding};

/// The maximum number of open items and of open requests. No agent needs as many; a broken one must not exhaust memory.
const MAX_OPEN_ENTRIES: usize = 4096;

impl RunRecorder {
    /// Closes the oldest open items and requests if there are too many.
    pub(super) fn evict_oldest_open(&mut self) {
        if self.open.len() >= MAX_OPEN_ENTRIES {
            let oldest = self.open_ids_in_order(|_| true).into_iter().take(MAX_OPEN_ENTRIES / 4);
            for id in oldest {
                self.item_closed(&id, Status::Interrupted);
            }
        }
        if self.requests.len() >= MAX_OPEN_ENTRIES {
            let oldest: Vec<_> = self.requests.iter().take(MAX_OPEN_ENTRIES / 4).map(|open| open.id.clone()).collect();
            for request in oldest {
                self.request_resolved(RequestResolved { request, ..RequestResolved::default() });
            }
        }
    }

    /// Closes the items of the turn. A background subagent outlives a turn that completed.
    pub(super) fn close_turn_items(&mut self, status: TurnStatus) {
        let all = status != TurnStatus::Completed;
        self.close_requests(|place| all || place.thread.is_none());
        self.close_items(status, |place| all || place.thread.is_none());
    }

    /// Closes a turn that the agent never ended although it began another.
    pub(super) fn close_stale_turn(&mut self) {
        if self.turn.is_some() {
            let status = if self.interrupted { TurnStatus::Interrupted } else { TurnStatus::Completed };
            self.close_turn_items(status);
            let stop = if self.interrupted { Stop::Cancelled } else { Stop::EndTurn };
            self.end_turn(TurnCompleted { status, stop, ..TurnCompleted::default() });
        }
    }

    /// Closes everything at the end of the session.
    pub(super) fn close_all(&mut self, ending: &SessionEnding) {
        let (status, stop) = match ending.reason {
            EndReason::Completed => (TurnStatus::Completed, Stop::EndTurn),
            EndReason::Cancelled => (TurnStatus::Interrupted, Stop::Cancelled),
            EndReason::Failed | EndReason::Timeout => (TurnStatus::Failed, Stop::Error),
        };
        self.close_requests(|_| true);
        self.close_items(status, |_| true);
        if self.turn.is_some() {
            let error = match status {
                TurnStatus::Failed => ending.error.clone(),
                TurnStatus::Interrupted => Some(Fault::new(ErrorCode::Aborted, "interrupted")),
                TurnStatus::Completed => None,
            };
            self.end_turn(TurnCompleted { status, stop, error, ..TurnCompleted::default() });
        }
    }

    fn close_requests(&mut self, mine: impl Fn(&ConversationScope) -> bool) {
        let ids: Vec<_> = self.requests.iter().filter(|open| mine(&open.place)).map(|open| open.id.clone()).collect();
        for request in ids {
            let outcome = if self.interrupted { Outcome::Cancelled } else { Outcome::Withdrawn };
            self.request_resolved(RequestResolved {
                request,
                outcome,
                by: Decider::Switchboard,
                ..RequestResolved::default()
            });
        }
    }

    fn close_items(&mut self, turn: TurnStatus, mine: impl Fn(&ConversationScope) -> bool) {
        let ids = self.open_ids_in_order(mine);
        // Children first: a subagent's items end before their parent item.
        for id in ids.into_iter().rev() {
            let status = self.open_item(&id).map_or(Status::Interrupted, |item| status_left_open(&item.details, turn));
            self.item_closed(&id, status);
        }
    }
}

/// A message is complete when its turn is; a tool without a result did not finish.
fn status_left_open(details: &Details, turn: TurnStatus) -> Status {
    match (details, turn) {
        (
            Details::AgentMessage(_) | Details::Reasoning(_) | Details::Plan(_) | Details::UserMessage(_),
            TurnStatus::Completed,
        ) => Status::Completed,
        _ => Status::Interrupted,
    }
}
