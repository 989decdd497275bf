//! The summary of a session: its state, and its cost by a price list.

use serde::{Deserialize, Serialize};
use switchboard_event::{Event, EventBody, SessionState, Usage};

pub trait ModelPrices {
    /// Returns the cost of a model reply in dollars; `None` if its model has no price.
    fn cost(&self, usage: &Usage) -> Option<f64>;
}

/// A price list without any price.
#[derive(Clone, Copy, Debug)]
pub struct NoPrices;

impl ModelPrices for NoPrices {
    fn cost(&self, _: &Usage) -> Option<f64> {
        None
    }
}

/// The summary of a session.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct SessionSummary {
    pub state: SessionState,
    /// The cost of completed turns.
    settled_cost: Option<f64>,
    /// The cost of the turn in progress.
    turn_cost: Option<f64>,
}

impl SessionSummary {
    /// Applies the next event.
    pub fn apply(&mut self, event: &Event, prices: &dyn ModelPrices) {
        self.state.apply(event);
        match &event.body {
            EventBody::Usage(usage) if !usage.cumulative => {
                self.turn_cost = add_costs(self.turn_cost, reply_cost(usage, prices));
            }
            EventBody::TurnCompleted(turn) => {
                // What the agent reports for a turn takes precedence over the sum of its replies.
                self.turn_cost = turn.cost_usd.filter(|cost| *cost > 0.0).or(self.turn_cost);
                self.settle_turn();
            }
            EventBody::TurnStarted(_) | EventBody::SessionEnded(_) => self.settle_turn(),
            _ => {}
        }
    }

    /// Returns the usage of the whole session, with its cost.
    #[must_use]
    pub fn usage(&self) -> Usage {
        Usage { cost_usd: add_costs(self.settled_cost, self.turn_cost), ..self.state.total_usage() }
    }

    fn settle_turn(&mut self) {
        self.settled_cost = add_costs(self.settled_cost, self.turn_cost.take());
    }
}

/// Returns the cost of a reply: as the agent reports it, else by price. Agents report 0 for what a subscription covers
/// and for models whose price they do not know.
pub(crate) fn reply_cost(usage: &Usage, prices: &dyn ModelPrices) -> Option<f64> {
    let reported = usage.cost_usd.filter(|cost| *cost > 0.0);
    reported.or_else(|| prices.cost(usage)).or(usage.cost_usd).filter(|cost| cost.is_finite())
}

fn add_costs(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a + b),
        (a, b) => a.or(b),
    }
}
