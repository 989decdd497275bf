//! Turns and requests.

use switchboard_event::{
    Decider, ErrorCode, EventBody, Fault, Id, Outcome, RequestOpened, RequestResolved, Stop, TurnCompleted,
    TurnStarted, TurnStatus,
};

use super::{ConversationScope, RunRecorder, UnresolvedRequest};
use crate::StopCause;

impl RunRecorder {
    /// Begins a turn. One that is still open is closed first.
    pub fn turn_started(&mut self, turn: TurnStarted) {
        self.ensure_started();
        self.close_stale_turn();
        self.turns += 1;
        self.turn = Some(self.turns);
        self.interrupted = false;
        self.declared = None;
        self.push_event(None, ConversationScope::default(), EventBody::TurnStarted(Box::new(turn)));
    }

    /// Begins a turn if none is open: some agents do not mark the beginning of a turn.
    pub fn ensure_turn(&mut self) {
        if self.turn.is_none() {
            let prompt = if self.turns == 0 { self.start.prompt.clone() } else { None };
            self.turn_started(TurnStarted { prompt, ..TurnStarted::default() });
        }
    }

    #[must_use]
    pub fn in_turn(&self) -> bool {
        self.turn.is_some()
    }

    #[must_use]
    pub fn turn_count(&self) -> u32 {
        self.turns
    }

    /// Ends the turn. Its open items are closed first; an end without a beginning gets one.
    pub fn turn_completed(&mut self, turn: TurnCompleted) {
        self.ensure_turn();
        self.close_turn_items(turn.status);
        self.end_turn(turn);
    }

    pub(super) fn end_turn(&mut self, mut turn: TurnCompleted) {
        turn.cost_usd = turn.cost_usd.filter(|cost| cost.is_finite());
        if self.stopping == Some(StopCause::MaxTurns) && turn.status != TurnStatus::Completed {
            // The agent only knows that it was stopped.
            (turn.status, turn.stop) = (TurnStatus::Failed, Stop::MaxTurns);
            turn.error = Some(Fault::new(ErrorCode::MaxTurns, "the limit of turns was reached"));
        }
        self.last_turn = Some(turn.status);
        self.worked_ms = self.worked_ms.saturating_add(turn.duration_ms.unwrap_or(0));
        self.last_error = turn.error.clone().filter(|_| turn.status == TurnStatus::Failed);
        self.push_event(None, ConversationScope::default(), EventBody::TurnCompleted(Box::new(turn)));
        self.turn = None;
    }

    /// Opens a request. A repeated request with the same id is ignored.
    pub fn request_opened(&mut self, item: Option<Id>, request: RequestOpened) {
        if self.request_is_open(&request.request) {
            return;
        }
        self.evict_oldest_open();
        self.requests.push(UnresolvedRequest {
            id: request.request.clone(),
            item: item.clone(),
            place: self.place.clone(),
        });
        self.write_event(item, EventBody::RequestOpened(Box::new(request)));
    }

    #[must_use]
    pub fn request_is_open(&self, request: &str) -> bool {
        self.requests.iter().any(|open| open.id == *request)
    }

    #[must_use]
    pub fn open_requests(&self) -> Vec<Id> {
        self.requests.iter().map(|open| open.id.clone()).collect()
    }

    /// Resolves a request that was answered or withdrawn. Returns false, and writes nothing, if it was not open.
    pub fn request_resolved(&mut self, mut resolved: RequestResolved) -> bool {
        let Some(index) = self.requests.iter().position(|open| open.id == resolved.request) else {
            return false;
        };
        let open = self.requests.remove(index);
        if let Some(index) = self.decided.iter().position(|(request, _)| *request == open.id) {
            resolved.by = self.decided.swap_remove(index).1;
            if resolved.by == Decider::Timeout && resolved.outcome == Outcome::Declined {
                resolved.outcome = Outcome::Expired;
            }
        }
        if resolved.outcome == Outcome::Allowed
            && let Some(item) = open.item.as_deref().and_then(|item| self.open.get_mut(item))
        {
            // The wait for the approval is over; the work begins.
            item.at = self.tick;
        }
        self.write_event_at(open.item, open.place, EventBody::RequestResolved(Box::new(resolved)));
        true
    }

    /// Sets who decided a request that is about to be answered.
    pub(crate) fn set_decider(&mut self, request: &Id, by: Decider) {
        if self.request_is_open(request) {
            self.decided.retain(|(decided, _)| decided != request);
            self.decided.push((request.clone(), by));
        }
    }
}
