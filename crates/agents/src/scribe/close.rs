//! Closing what an agent leaves open: every item, every request, every turn.

use switchboard_event::{
    Decider, Details, EndReason, ErrorCode, Fault, Outcome, RequestResolved, Status, Stop, TurnCompleted, TurnStatus,
};

use super::{Ending, Place, Scribe};

/// How many items and requests may be open at once. No agent needs as many; a broken one must not cost our memory.
const OPEN: usize = 4096;

impl Scribe {
    /// Gives up the oldest of what is open, when there is too much of it.
    pub(super) fn make_room(&mut self) {
        if self.open.len() >= OPEN {
            let oldest = self.opened_in_order(|_| true).into_iter().take(OPEN / 4);
            for id in oldest {
                self.item_closed(&id, Status::Interrupted);
            }
        }
        if self.requests.len() >= OPEN {
            let oldest: Vec<_> = self.requests.iter().take(OPEN / 4).map(|open| open.id.clone()).collect();
            for request in oldest {
                self.request_resolved(RequestResolved { request, ..RequestResolved::default() });
            }
        }
    }

    /// Closes what belongs to the turn. A subagent in the background outlives a turn that ended well.
    pub(super) fn close_turn_items(&mut self, status: TurnStatus) {
        let all = status != TurnStatus::Completed;
        self.close_requests(|place| all || place.thread.is_none());
        self.close_items(status, |place| all || place.thread.is_none());
    }

    /// A turn that the agent never ended, although it began another.
    pub(super) fn close_stale_turn(&mut self) {
        if self.turn.is_some() {
            let status = if self.interrupted { TurnStatus::Interrupted } else { TurnStatus::Completed };
            self.close_turn_items(status);
            let stop = if self.interrupted { Stop::Cancelled } else { Stop::EndTurn };
            self.end_turn(TurnCompleted { status, stop, ..TurnCompleted::default() });
        }
    }

    /// Closes everything, because the session ends.
    pub(super) fn close_all(&mut self, ending: &Ending) {
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

    fn close_requests(&mut self, mine: impl Fn(&Place) -> bool) {
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

    fn close_items(&mut self, turn: TurnStatus, mine: impl Fn(&Place) -> bool) {
        let ids = self.opened_in_order(mine);
        // Children first: a subagent's items end before the item that it works under.
        for id in ids.into_iter().rev() {
            let status = self.item(&id).map_or(Status::Interrupted, |item| status_left_open(&item.details, turn));
            self.item_closed(&id, status);
        }
    }
}

/// What is said is complete when the turn is; a tool of which nothing more was heard did not come to an end.
fn status_left_open(details: &Details, turn: TurnStatus) -> Status {
    match (details, turn) {
        (
            Details::AgentMessage(_) | Details::Reasoning(_) | Details::Plan(_) | Details::UserMessage(_),
            TurnStatus::Completed,
        ) => Status::Completed,
        _ => Status::Interrupted,
    }
}
