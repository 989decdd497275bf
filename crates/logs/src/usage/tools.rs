//! By tool: a reply's tokens belong to the calls in it, in equal parts; what cannot be divided goes to the first, so
//! that the rows add up to the total. A reply without a call is an answer.

use super::gather::{Gather, Places};
use crate::{Ledger, Name};

/// The row of replies that called nothing.
const ANSWER: &str = "(answer)";

/// Puts replies together by the tools that they called.
pub fn gather(gather: &mut Gather<'_>) {
    let lists: Vec<Calls> = gather.ledger.tools.iter().map(|list| Calls::of(list)).collect();
    let (mut places, none) = (Places::new(gather.ledger), Calls::default());
    let ledger: &Ledger = gather.ledger;
    for entry in &ledger.entries {
        let sums = gather.costs.of(entry);
        let calls = lists.get(entry.tools as usize).unwrap_or(&none);
        let mut all = sums;
        all.calls = calls.all;
        gather.total.add(entry, &all);
        if calls.all == 0 {
            let place = places.of(Name::default(), ANSWER, &mut gather.groups);
            gather.groups.get_mut(place).into_iter().for_each(|group| group.add(entry, &sums));
        }
        for (number, (tool, count)) in calls.tools.iter().enumerate() {
            let place = places.of(*tool, ANSWER, &mut gather.groups);
            let part = sums.part(calls.all, *count, number == 0);
            gather.groups.get_mut(place).into_iter().for_each(|group| group.add(entry, &part));
        }
    }
}

/// A list of calls, with each tool once.
#[derive(Default)]
struct Calls {
    all: u64,
    tools: Vec<(Name, u64)>,
}

impl Calls {
    fn of(list: &[Name]) -> Self {
        let mut calls = Self::default();
        for tool in list {
            calls.all += 1;
            match calls.tools.iter_mut().find(|(known, _)| known == tool) {
                Some((_, count)) => *count += 1,
                None => calls.tools.push((*tool, 1)),
            }
        }
        calls
    }
}
