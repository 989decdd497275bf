//! What each session used, subagents included.

use std::collections::HashMap;

use switchboard_logs::{LogFilter, LogLibrary, LogSession, usage::CostCalculator};

use crate::failure::Failure;

/// What sessions used, by agent, id and machine.
pub struct Spent(HashMap<(String, String, String), Used>);

/// What one session used.
#[derive(Clone, Copy, Debug, Default)]
pub struct Used {
    /// All tokens.
    pub tokens: u64,
    /// What it cost, as `usage` has it; nothing if that is not known of any of it.
    pub cost_usd: Option<f64>,
}

impl Spent {
    /// Of all sessions of a library.
    pub fn of(library: &LogLibrary) -> Result<Self, Failure> {
        let prices = library.load_prices()?;
        let (mut costs, mut sums): (_, HashMap<_, Used>) = (CostCalculator::new(&prices), HashMap::new());
        let ledger = library.for_each_reply(&LogFilter::default(), |ledger, entry| {
            let used = sums.entry((entry.agent, entry.session, entry.machine)).or_default();
            let figures = [entry.input, entry.output, entry.cache_read, entry.cache_write, entry.cache_write_1h];
            used.tokens = figures.iter().fold(used.tokens, |sum, figure| sum.saturating_add(*figure));
            let cost = costs.reply_cost_usd(ledger, entry);
            used.cost_usd = cost.map(|cost| cost + used.cost_usd.unwrap_or_default()).or(used.cost_usd);
        })?;
        let name = |name| ledger.resolve_name(name).to_owned();
        let named = sums.into_iter().map(|((a, s, m), used)| ((name(a), name(s), name(m)), used));
        Ok(Self(named.collect()))
    }

    /// What a session used.
    pub fn of_session(&self, session: &LogSession) -> Option<Used> {
        let machine = session.machine.clone().unwrap_or_default();
        self.0.get(&(session.agent.clone(), session.id.clone(), machine)).copied()
    }
}
