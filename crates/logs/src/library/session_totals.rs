//! Usage that agents report in session totals but that no reply in the logs accounts for: side calls outside of
//! transcripts, such as compaction or web search.

use std::collections::HashMap;

use crate::{LedgerName, index::reply_rows::StoredReply};

type TotalsHasher = foldhash::fast::FixedState;
type TokenCounts = [u64; 6];

/// Reported totals of sessions, and the sums of their replies.
#[derive(Default)]
pub struct SessionTotals {
    totals: Vec<ReportedTotal>,
    /// By session and model. A copied reply counts in each session that has it, as in the totals.
    covered: HashMap<(u32, u32), TokenCounts, TotalsHasher>,
    /// The sum last added to: most replies belong to the same session as the previous one.
    latest: ((u32, u32), TokenCounts),
}

/// The reported usage of one model in a session, and the log that reports it.
struct ReportedTotal {
    rank: u32,
    session: LedgerName,
    reply: StoredReply,
}

impl SessionTotals {
    /// Adds a total reported by a log.
    pub fn add_total(&mut self, rank: u32, session: LedgerName, reply: &StoredReply) {
        let same = |known: &&mut ReportedTotal| known.session == session && known.reply.key == reply.key;
        match self.totals.iter_mut().find(same) {
            Some(known) if known.reply.total_tokens() < reply.total_tokens() => {
                (known.rank, known.reply) = (rank, reply.clone())
            }
            Some(_) => {}
            None => self.totals.push(ReportedTotal { rank, session, reply: reply.clone() }),
        }
    }

    /// Adds a reply of a session or of its subagents.
    pub fn add_covered(&mut self, session: LedgerName, reply: &StoredReply) {
        let key = (session.0, reply.model);
        if self.latest.0 != key {
            self.flush_latest();
            self.latest.0 = key;
        }
        add_tokens(&mut self.latest.1, reply.tokens);
    }

    fn flush_latest(&mut self) {
        let (key, tokens) = std::mem::take(&mut self.latest);
        add_tokens(self.covered.entry(key).or_default(), tokens);
    }

    /// Returns the unaccounted usage as replies of the reporting logs. A fork's total includes the unaccounted usage of
    /// the session it was forked from, which has the same key: of sessions with one key, each adds only the excess over
    /// those before it.
    pub fn into_unaccounted(mut self) -> Vec<(u32, StoredReply)> {
        self.flush_latest();
        let Self { mut totals, covered, .. } = self;
        totals.sort_by_key(|total| total.rank);
        let mut known: HashMap<u128, TokenCounts, TotalsHasher> = HashMap::default();
        let mut missing = Vec::new();
        for ReportedTotal { rank, session, mut reply } in totals {
            let covered = covered.get(&(session.0, reply.model)).copied().unwrap_or_default();
            let known = known.entry(reply.key).or_default();
            for ((tokens, covered), known) in reply.tokens.iter_mut().zip(covered).zip(known) {
                let lacking = tokens.saturating_sub(covered);
                *tokens = lacking.saturating_sub(*known);
                *known = lacking.max(*known);
            }
            if reply.total_tokens() > 0 {
                missing.push((rank, reply));
            }
        }
        missing
    }
}

fn add_tokens(sum: &mut TokenCounts, tokens: TokenCounts) {
    sum.iter_mut().zip(tokens).for_each(|(sum, tokens)| *sum = sum.saturating_add(tokens));
}

#[cfg(test)]
mod tests {
    use super::SessionTotals;
    use crate::{LedgerName, index::reply_rows::StoredReply};

    fn reply_with_output(key: u128, output: u64) -> StoredReply {
        StoredReply { key, model: 1, tokens: [0, output, 0, 0, 0, 0], ..StoredReply::default() }
    }

    fn unaccounted_tokens(totals: SessionTotals) -> Vec<(u32, u64)> {
        totals.into_unaccounted().into_iter().map(|(rank, reply)| (rank, reply.total_tokens())).collect()
    }

    #[test]
    fn what_replies_come_to_is_not_missing() {
        let mut totals = SessionTotals::default();
        totals.add_total(0, LedgerName(1), &reply_with_output(7, 30));
        totals.add_total(0, LedgerName(1), &reply_with_output(7, 40));
        totals.add_covered(LedgerName(1), &reply_with_output(1, 25));
        totals.add_covered(LedgerName(1), &reply_with_output(2, 10));
        totals.add_covered(LedgerName(2), &reply_with_output(3, 99));
        assert_eq!(unaccounted_tokens(totals), [(0, 5)]);
    }

    #[test]
    fn a_fork_does_not_count_what_was_missing_before() {
        let mut totals = SessionTotals::default();
        for (rank, session, total) in [(1, LedgerName(2), 60), (0, LedgerName(1), 40)] {
            totals.add_total(rank, session, &reply_with_output(7, total));
            totals.add_covered(session, &reply_with_output(1, 30));
        }
        totals.add_covered(LedgerName(2), &reply_with_output(2, 13));
        assert_eq!(unaccounted_tokens(totals), [(0, 10), (1, 7)]);
    }

    #[test]
    fn more_replies_than_the_total_are_no_debt() {
        let mut totals = SessionTotals::default();
        totals.add_total(0, LedgerName(1), &reply_with_output(7, 5));
        totals.add_covered(LedgerName(1), &reply_with_output(1, 9));
        assert_eq!(unaccounted_tokens(totals), []);
    }
}
