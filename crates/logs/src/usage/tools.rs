//! By tool: a reply's tokens belong to the calls in it, in equal parts; what cannot be divided goes to the first, so
//! that the rows add up to the total. A reply without a call is an answer.

use super::{
    gather::{Group, Places},
    sums::Sums,
};
use crate::{Entry, Ledger, Name};

/// The row of replies that called nothing.
const ANSWER: &str = "(answer)";

/// Puts replies together by the tools that they called.
#[derive(Default)]
pub struct Tools {
    places: Places,
    calls: Calls,
}

impl Tools {
    /// Adds a reply to the groups of its tools, and to the total.
    pub fn add(&mut self, ledger: &Ledger, entry: &Entry, sums: &Sums, groups: &mut Vec<Group>, total: &mut Group) {
        let Self { places, calls } = self;
        calls.count(ledger.tools.get(entry.tools as usize).map_or(&[], Vec::as_slice));
        total.add(entry, &Sums { calls: calls.all, ..*sums });
        if calls.all == 0 {
            let place = places.of(Name::default(), ANSWER, groups);
            groups.get_mut(place).into_iter().for_each(|group| group.add(entry, sums));
        }
        for (number, (tool, count)) in calls.tools.iter().enumerate() {
            let place = places.of(*tool, ANSWER, groups);
            let part = sums.part(calls.all, *count, number == 0);
            groups.get_mut(place).into_iter().for_each(|group| group.add(entry, &part));
        }
    }
}

/// The calls of a reply, with each tool once. Used again for each reply, since there are many.
#[derive(Default)]
struct Calls {
    all: u64,
    tools: Vec<(Name, u64)>,
}

impl Calls {
    fn count(&mut self, list: &[Name]) {
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
