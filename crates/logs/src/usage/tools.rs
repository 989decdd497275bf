//! Groups by tool: the tokens of a reply are divided equally among its calls, and the remainder goes to the first, so
//! that the rows add up to the total. A reply without calls is an answer.

use super::{
    gather::{GroupIndex, UsageGroup},
    sums::UsageSums,
};
use crate::{LedgerEntry, LedgerName, UsageLedger};

/// The key of replies without calls.
const ANSWER_KEY: &str = "(answer)";

/// Groups replies by the tools they called.
#[derive(Default)]
pub struct ToolGroups {
    places: GroupIndex,
    calls: ToolCallCounts,
}

impl ToolGroups {
    /// Adds a reply to the groups of its tools, and to the total.
    pub fn add_reply(
        &mut self,
        ledger: &UsageLedger,
        entry: &LedgerEntry,
        sums: &UsageSums,
        groups: &mut Vec<UsageGroup>,
        total: &mut UsageGroup,
    ) {
        let Self { places, calls } = self;
        calls.count_calls(ledger.tools.get(entry.tools as usize).map_or(&[], Vec::as_slice));
        total.add_reply(entry, &UsageSums { calls: calls.all, ..*sums });
        if calls.all == 0 {
            let place = places.group_for(LedgerName::default(), ANSWER_KEY, groups);
            groups.get_mut(place).into_iter().for_each(|group| group.add_reply(entry, sums));
        }
        for (number, (tool, count)) in calls.tools.iter().enumerate() {
            let place = places.group_for(*tool, ANSWER_KEY, groups);
            let part = sums.proportional_share(calls.all, *count, number == 0);
            groups.get_mut(place).into_iter().for_each(|group| group.add_reply(entry, &part));
        }
    }
}

/// The calls of a reply, counted by tool. Reused for each reply, since there are many.
#[derive(Default)]
struct ToolCallCounts {
    all: u64,
    tools: Vec<(LedgerName, u64)>,
}

impl ToolCallCounts {
    fn count_calls(&mut self, list: &[LedgerName]) {
        self.all = 0;
        self.tools.clear();
        for tool in list {
            self.all += 1;
            match self.tools.iter_mut().find(|(known, _)| known == tool) {
                Some((_, count)) => *count += 1,
                None => self.tools.push((*tool, 1)),
            }
        }
    }
}
