//! Puts replies together, one after the other.

use std::collections::HashMap;

use jiff::tz::TimeZone;
use switchboard_event::Timestamp;

use super::{
    By, Prices, Usage, blocks,
    calendar::Calendar,
    cost::Costs,
    rows::{self, Key},
    sums::Sums,
    tools::Tools,
};
use crate::{Entry, Ledger, Name, ledger::ByName};

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
    let mut gather = Gather::new(question);
    ledger.entries.iter().for_each(|entry| gather.add(ledger, entry));
    gather.close(ledger)
}

/// Replies that are being put together, one after the other.
pub struct Gather<'a> {
    question: &'a Question<'a>,
    way: Way<'a>,
    costs: Costs<'a>,
    groups: Vec<Group>,
    total: Group,
}

/// How the group of a reply is found.
enum Way<'a> {
    Time(Calendar<'a>),
    Name {
        of: fn(&Entry) -> Name,
        unknown: &'static str,
        places: Places,
    },
    Tool(Tools),
    /// By the hour: all replies of an hour are in one block, but which is known only once all are there.
    Hour(HashMap<i64, usize>),
}

/// Some replies: sums by model, and whose they are.
pub struct Group {
    pub key: Key,
    pub models: Vec<(Name, Sums)>,
    pub agents: Vec<Name>,
}

impl<'a> Gather<'a> {
    /// None yet.
    pub fn new(question: &'a Question<'a>) -> Self {
        let name = |of, unknown| Way::Name { of, unknown, places: Places::default() };
        let way = match question.by {
            By::Day | By::Week | By::Month => Way::Time(Calendar::new(question.by, question.zone)),
            By::Session => name(|entry| entry.session, "(unknown)"),
            By::Project => name(|entry| entry.project, "(unknown)"),
            By::Model => name(|entry| entry.model, "(unknown)"),
            By::Agent => name(|entry| entry.agent, "(unknown)"),
            By::Subagent => name(|entry| entry.subagent, "(main)"),
            By::Tool => Way::Tool(Tools::default()),
            By::Block => Way::Hour(HashMap::new()),
        };
        let costs = Costs::new(question.prices);
        Self { question, way, costs, groups: Vec::new(), total: Group::new(Key::Total) }
    }

    /// One more, with a ledger that has its names.
    pub fn add(&mut self, ledger: &Ledger, entry: &Entry) {
        let place = match &mut self.way {
            Way::Time(calendar) => {
                let period = calendar.period(entry.at);
                // The calendar numbers its periods as they come up.
                if period == self.groups.len() {
                    self.groups.push(Group::new(calendar.key(period)));
                }
                period
            }
            Way::Name { of, unknown, places } => places.of(of(entry), unknown, &mut self.groups),
            Way::Tool(tools) => {
                let sums = self.costs.of(ledger, entry);
                return tools.add(ledger, entry, &sums, &mut self.groups, &mut self.total);
            }
            Way::Hour(places) => {
                let hour = blocks::hour(entry.at);
                *places.entry(hour).or_insert_with(|| {
                    self.groups.push(Group::new(Key::Block(hour)));
                    self.groups.len() - 1
                })
            }
        };
        let sums = self.costs.of(ledger, entry);
        if let Some(group) = self.groups.get_mut(place) {
            group.add(entry, &sums);
        }
    }

    /// All were there: gives their rows.
    pub fn close(mut self, ledger: &Ledger) -> Usage {
        if let Way::Hour(places) = &self.way {
            self.groups = blocks::of_hours(places, &self.groups);
        }
        // Where a reply is in one group, the total is that of the groups.
        if !matches!(self.way, Way::Tool(_)) {
            self.groups.iter().for_each(|group| self.total.add_all(group));
        }
        rows::rows(self.groups, self.total, ledger, self.question)
    }
}

/// Which group a name has.
#[derive(Default)]
pub struct Places(ByName<usize>);

impl Places {
    /// The group of a name; a new one if it has none.
    pub fn of(&mut self, name: Name, unknown: &'static str, groups: &mut Vec<Group>) -> usize {
        *self.0.or_insert_with(name, || {
            // The first name is the empty one.
            groups.push(Group::new(if name.0 == 0 { Key::Word(unknown) } else { Key::Name(name) }));
            groups.len() - 1
        })
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

    /// Adds all of another group.
    pub fn add_all(&mut self, other: &Self) {
        other.models.iter().for_each(|(model, sums)| self.add_model(*model, sums));
        other.agents.iter().for_each(|agent| self.add_agent(*agent));
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
