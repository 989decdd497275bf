//! Which turns of a session are wanted.

use jiff::tz::TimeZone;
use switchboard_event::{Event, Timestamp};
use switchboard_logs::export::story::TurnCounter;

use crate::{failure::Failure, logs::times};

/// Where to begin.
#[derive(Clone, Copy)]
pub enum From {
    /// At the beginning.
    Start,
    /// With a turn.
    Turn(u32),
    /// With the turn of a time.
    Time(Timestamp),
}

/// The turns that are wanted, by their numbers.
#[derive(Clone, Copy)]
pub struct Part {
    /// The first of them; 0 is what comes before all turns.
    pub first: u32,
    /// The last of them.
    pub last: u32,
}

impl From {
    /// What was typed.
    pub fn typed(turn: Option<u32>, at: Option<&str>, zone: &TimeZone) -> Result<Self, Failure> {
        let time = at.map(|at| times::at("--at", at, zone)).transpose()?;
        Ok(time.map(Self::Time).or(turn.map(Self::Turn)).unwrap_or(Self::Start))
    }

    /// It is a time at which all had happened.
    pub fn is_behind(self, events: &[Event]) -> bool {
        matches!(self, Self::Time(at) if events.iter().all(|event| event.at < at))
    }

    /// The number of the turn, given all events.
    fn number(self, events: &[Event]) -> u32 {
        match self {
            Self::Start => 0,
            Self::Turn(number) => number,
            Self::Time(at) => count(events.iter().take_while(|event| event.at <= at)),
        }
    }
}

impl Part {
    /// Selects a number of turns from there on, or all. Fails if there is no such turn.
    pub fn of(from: From, turns: Option<u32>, events: &[Event]) -> Result<Self, Failure> {
        let (first, all) = (from.number(events), count(events));
        if first > all {
            let cause = format!("there is no turn {first}: this session has {all}");
            return Err(Failure::BadValue { option: "--turn", cause });
        }
        let last = turns.map_or(u32::MAX, |turns| first.max(1).saturating_add(turns).saturating_sub(1));
        Ok(Self { first, last })
    }
}

/// How many turns begin in these events.
fn count<'a>(events: impl IntoIterator<Item = &'a Event>) -> u32 {
    let mut turns = TurnCounter::default();
    events.into_iter().for_each(|event| drop(turns.begin_turn(event)));
    turns.turn_number()
}
