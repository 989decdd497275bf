//! Aggregates replies into groups.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use switchboard_event::Timestamp;

use super::{
    TokenPrices, Usage, UsageGrouping,
    periods::{self, UsageCalendar},
    rows::{self, GroupKey},
    sums::{CostCalculator, UsageSums},
};
use crate::{LedgerEntry, LedgerName, UsageLedger, ledger::LedgerNameMap};

/// Parameters of an aggregation.
pub struct UsageQuestion<'a> {
    pub by: UsageGrouping,
    /// Defines where days begin.
    pub zone: &'a TimeZone,
    /// Determines which block is the current one.
    pub now: Timestamp,
    pub prices: &'a TokenPrices,
    /// Adds the usage of each model to every row.
    pub breakdown: bool,
}

/// Aggregates a ledger. Rows are in the natural order of the grouping: by time, else most expensive first.
#[must_use]
pub fn aggregate_usage(ledger: &UsageLedger, question: &UsageQuestion<'_>) -> Usage {
    let mut gather = UsageAggregator::new(question);
    ledger.entries.iter().for_each(|entry| gather.add_reply(ledger, entry));
    gather.finish(ledger)
}

/// Aggregates replies one at a time.
pub struct UsageAggregator<'a> {
    question: &'a UsageQuestion<'a>,
    way: GroupLookup<'a>,
    costs: CostCalculator<'a>,
    groups: Vec<UsageGroup>,
    total: UsageGroup,
}

/// How the group of a reply is found.
enum GroupLookup<'a> {
    Time(UsageCalendar<'a>),
    Name {
        of: fn(&LedgerEntry) -> LedgerName,
        unknown: &'static str,
        places: GroupIndex,
    },
    Tool(ToolGroups),
    /// By hour: all replies of an hour are in one block, but blocks are only known after all replies.
    Hour(HashMap<i64, usize>),
}

/// A group of replies: sums by model, and the agents.
pub struct UsageGroup {
    pub key: GroupKey,
    pub models: Vec<(LedgerName, UsageSums)>,
    pub agents: Vec<LedgerName>,
}

impl<'a> UsageAggregator<'a> {
    pub fn new(question: &'a UsageQuestion<'a>) -> Self {
        let name = |of, unknown| GroupLookup::Name { of, unknown, places: GroupIndex::default() };
        let way = match question.by {
            UsageGrouping::Day | UsageGrouping::Week | UsageGrouping::Month => {
                GroupLookup::Time(UsageCalendar::new(question.by, question.zone))
            }
            UsageGrouping::Session => name(|entry| entry.session, "(unknown)"),
            UsageGrouping::Project => name(|entry| entry.project, "(unknown)"),
            UsageGrouping::Model => name(|entry| entry.model, "(unknown)"),
            UsageGrouping::Agent => name(|entry| entry.agent, "(unknown)"),
            UsageGrouping::Subagent => name(|entry| entry.subagent, "(main)"),
            UsageGrouping::Tool => GroupLookup::Tool(ToolGroups::default()),
            UsageGrouping::Block => GroupLookup::Hour(HashMap::new()),
        };
        let costs = CostCalculator::new(question.prices);
        Self { question, way, costs, groups: Vec::new(), total: UsageGroup::new(GroupKey::Total) }
    }

    /// Adds a reply. `ledger` contains its names.
    pub fn add_reply(&mut self, ledger: &UsageLedger, entry: &LedgerEntry) {
        let place = match &mut self.way {
            GroupLookup::Time(calendar) => {
                let period = calendar.period_index(entry.at);
                // The calendar numbers its periods as they are first seen.
                if period == self.groups.len() {
                    self.groups.push(UsageGroup::new(calendar.group_key(period)));
                }
                period
            }
            GroupLookup::Name { of, unknown, places } => places.group_for(of(entry), unknown, &mut self.groups),
            GroupLookup::Tool(tools) => {
                let sums = self.costs.reply_sums(ledger, entry);
                return tools.add_reply(ledger, entry, &sums, &mut self.groups, &mut self.total);
            }
            GroupLookup::Hour(places) => {
                let hour = periods::start_of_hour(entry.at);
                *places.entry(hour).or_insert_with(|| {
                    self.groups.push(UsageGroup::new(GroupKey::Block(hour)));
                    self.groups.len() - 1
                })
            }
        };
        let sums = self.costs.reply_sums(ledger, entry);
        if let Some(group) = self.groups.get_mut(place) {
            group.add_reply(entry, &sums);
        }
    }

    /// Returns the rows.
    pub fn finish(mut self, ledger: &UsageLedger) -> Usage {
        if let GroupLookup::Hour(places) = &self.way {
            self.groups = periods::group_hours_into_blocks(places, &self.groups);
        }
        // If each reply is in one group, the total is the sum of the groups.
        if !matches!(self.way, GroupLookup::Tool(_)) {
            self.groups.iter().for_each(|group| self.total.add_group(group));
        }
        rows::build_report(self.groups, self.total, ledger, self.question)
    }
}

/// Maps names to groups.
#[derive(Default)]
struct GroupIndex(LedgerNameMap<usize>);

impl GroupIndex {
    /// Returns the group of a name, creating it if necessary.
    fn group_for(&mut self, name: LedgerName, unknown: &'static str, groups: &mut Vec<UsageGroup>) -> usize {
        *self.0.or_insert_with(name, || {
            // The first name is empty.
            groups.push(UsageGroup::new(if name.0 == 0 { GroupKey::Word(unknown) } else { GroupKey::Name(name) }));
            groups.len() - 1
        })
    }
}

impl UsageGroup {
    pub fn new(key: GroupKey) -> Self {
        Self { key, models: Vec::new(), agents: Vec::new() }
    }

    fn add_reply(&mut self, entry: &LedgerEntry, sums: &UsageSums) {
        self.add_model(entry.model, sums);
        self.add_agent(entry.agent);
    }

    /// Adds all replies of another group.
    pub fn add_group(&mut self, other: &Self) {
        other.models.iter().for_each(|(model, sums)| self.add_model(*model, sums));
        other.agents.iter().for_each(|agent| self.add_agent(*agent));
    }

    fn add_model(&mut self, model: LedgerName, sums: &UsageSums) {
        match self.models.iter_mut().find(|(known, _)| *known == model) {
            Some((_, known)) => known.add(sums),
            None => self.models.push((model, *sums)),
        }
    }

    fn add_agent(&mut self, agent: LedgerName) {
        if !self.agents.contains(&agent) {
            self.agents.push(agent);
        }
    }

    /// Returns the sums over all models.
    pub fn total_sums(&self) -> UsageSums {
        self.models.iter().fold(UsageSums::default(), |mut all, (_, sums)| {
            all.add(sums);
            all
        })
    }
}

/// The key of replies without calls.
const ANSWER_KEY: &str = "(answer)";

/// Groups replies by the tools they called.
#[derive(Default)]
struct ToolGroups {
    places: GroupIndex,
    calls: ToolCallCounts,
}

impl ToolGroups {
    /// Adds a reply to the groups of its tools, and to the total.
    fn add_reply(
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
