//! Puts replies together, in one pass over the ledger.

use jiff::tz::TimeZone;
use switchboard_event::Timestamp;

use super::{
    By, Prices, Usage, blocks,
    calendar::Calendar,
    cost::Costs,
    rows::{self, Key},
    sums::Sums,
    tools,
};
use crate::{Entry, Ledger, Name};

/// What is asked for.
pub struct Question<'a> {
    /// What replies are put together by.
    pub by: By,
    /// Where days begin.
    pub zone: &'a TimeZone,
    /// What time it is: it decides which block is the current one.
    pub now: Timestamp,
    /// What tokens cost.
    pub prices: &'a Prices,
    /// Each row also says what each model used.
    pub breakdown: bool,
}

/// What was used, put together as asked for, with a row for each group in its natural order: along time, else the most
/// expensive first.
#[must_use]
pub fn usage(ledger: &Ledger, question: &Question<'_>) -> Usage {
    let mut gather = Gather {
        ledger,
        costs: Costs::new(ledger, question.prices),
        groups: Vec::new(),
        total: Group::new(Key::Total),
    };
    match question.by {
        By::Day | By::Week | By::Month => gather.by_time(&mut Calendar::new(question.by, question.zone)),
        By::Session => gather.by_name(|entry| entry.session, "(unknown)"),
        By::Project => gather.by_name(|entry| entry.project, "(unknown)"),
        By::Model => gather.by_name(|entry| entry.model, "(unknown)"),
        By::Agent => gather.by_name(|entry| entry.agent, "(unknown)"),
        By::Subagent => gather.by_name(|entry| entry.subagent, "(main)"),
        By::Tool => tools::gather(&mut gather),
        By::Block => blocks::gather(&mut gather),
    }
    if question.by != By::Tool {
        gather.add_up();
    }
    rows::rows(gather, question)
}

/// Replies that are being put together.
pub struct Gather<'a> {
    pub ledger: &'a Ledger,
    pub costs: Costs<'a>,
    pub groups: Vec<Group>,
    pub total: Group,
}

/// Some replies: sums by model, and whose they are.
pub struct Group {
    pub key: Key,
    pub models: Vec<(Name, Sums)>,
    pub agents: Vec<Name>,
}

impl Gather<'_> {
    fn by_time(&mut self, calendar: &mut Calendar<'_>) {
        for entry in &self.ledger.entries {
            let period = calendar.period(entry.at);
            // The calendar numbers its periods as they come up.
            if period == self.groups.len() {
                self.groups.push(Group::new(calendar.key(period)));
            }
            self.add(period, entry);
        }
    }

    fn by_name(&mut self, name: fn(&Entry) -> Name, unknown: &'static str) {
        let mut places = Places::new(self.ledger);
        for entry in &self.ledger.entries {
            let place = places.of(name(entry), unknown, &mut self.groups);
            self.add(place, entry);
        }
    }

    /// The total is that of the groups, where a reply is in one of them.
    fn add_up(&mut self) {
        for group in &self.groups {
            group.models.iter().for_each(|(model, sums)| self.total.add_model(*model, sums));
            group.agents.iter().for_each(|agent| self.total.add_agent(*agent));
        }
    }

    /// Adds a whole reply to a group.
    pub fn add(&mut self, place: usize, entry: &Entry) {
        let sums = self.costs.of(entry);
        if let Some(group) = self.groups.get_mut(place) {
            group.add(entry, &sums);
        }
    }
}

/// Which group a name has.
pub struct Places(Vec<usize>);

impl Places {
    pub fn new(ledger: &Ledger) -> Self {
        Self(vec![usize::MAX; ledger.names.len()])
    }

    /// The group of a name; a new one if it has none.
    pub fn of(&mut self, name: Name, unknown: &'static str, groups: &mut Vec<Group>) -> usize {
        // The first name is the empty one.
        let Some(place) = self.0.get_mut(name.0 as usize) else { return usize::MAX };
        if *place == usize::MAX {
            *place = groups.len();
            groups.push(Group::new(if name.0 == 0 { Key::Word(unknown) } else { Key::Name(name) }));
        }
        *place
    }
}

impl Group {
    pub fn new(key: Key) -> Self {
        Self { key, models: Vec::new(), agents: Vec::new() }
    }

    pub fn add(&mut self, entry: &Entry, sums: &Sums) {
        self.add_model(entry.model, sums);
        self.add_agent(entry.agent);
    }

    fn add_model(&mut self, model: Name, sums: &Sums) {
        match self.models.iter_mut().find(|(known, _)| *known == model) {
            Some((_, known)) => known.add(sums),
            None => self.models.push((model, *sums)),
        }
    }

    fn add_agent(&mut self, agent: Name) {
        if !self.agents.contains(&agent) {
            self.agents.push(agent);
        }
    }

    /// All models together.
    pub fn sums(&self) -> Sums {
        self.models.iter().fold(Sums::default(), |mut all, (_, sums)| {
            all.add(sums);
            all
        })
    }
}
