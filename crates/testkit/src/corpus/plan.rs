//! What a session is going to be, before any of it is written: turns, replies, tools, and what they use. An agent's
//! shapes are no part of it.

use super::{
    calendar::{BEGIN, DAY},
    truth::Tokens,
};
use crate::dice::Dice;

/// How many days the corpus covers.
pub const DAYS: usize = 24;

/// Folders that are worked in.
const PROJECTS: &[&str] = &[
    "/home/dev/orchard",
    "/home/dev/orchard-worktrees/fix-login",
    "/home/dev/services/billing",
    "/home/dev/services/mail_gateway",
    "/home/dev/lab/compiler",
    "/srv/data/etl jobs",
    "/home/dev/ünïcode",
];

/// One session.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Chance that the ids of the session come from.
    pub seed: u64,
    /// The folder.
    pub cwd: &'static str,
    /// The branch.
    pub branch: &'static str,
    /// The turns.
    pub turns: Vec<Turn>,
}

/// A prompt, and what came of it.
#[derive(Clone, Debug)]
pub struct Turn {
    /// Chance that its ids and its text come from.
    pub seed: u64,
    /// When it began, in milliseconds since 1970.
    pub at: i64,
    /// How many words the prompt has.
    pub words: usize,
    /// The replies of the model.
    pub replies: Vec<Reply>,
}

/// A reply of the model.
#[derive(Clone, Debug)]
pub struct Reply {
    /// Chance that its ids and its text come from.
    pub seed: u64,
    /// When it was complete.
    pub at: i64,
    /// The model.
    pub model: &'static str,
    /// What it used.
    pub tokens: Tokens,
    /// How many words it thought; none if it did not.
    pub thought: usize,
    /// How many words it said.
    pub said: usize,
    /// For each tool that it called, how many words came back.
    pub tools: Vec<usize>,
}

/// What sessions are planned by.
#[derive(Clone, Copy, Debug)]
pub struct Planner {
    /// The models.
    pub models: &'static [&'static str],
    /// The agent writes to a cache.
    pub writes_cache: bool,
    /// It can do so for an hour.
    pub for_an_hour: bool,
}

impl Planner {
    /// A session of about so many bytes.
    #[must_use]
    pub fn session(&self, seed: u64, bytes: u64) -> Plan {
        let mut dice = Dice::new(seed);
        let cwd = dice.pick(PROJECTS).copied().unwrap_or("/");
        let branch = dice.pick(&["main", "fix/login", "release-2"]).copied().unwrap_or("main");
        let mut at = BEGIN + milliseconds(dice.below(DAYS) * 86_400_000 + dice.below(86_400_000));
        let mut model = dice.pick(self.models).copied().unwrap_or("model");
        let (mut turns, mut planned) = (Vec::new(), 0);
        while planned < bytes || turns.len() < 3 {
            let turn = self.turn(&mut dice, &mut at, model);
            planned += turn.bytes();
            turns.push(turn);
            // A person thinks, goes for lunch, or comes back tomorrow; and now and then takes another model.
            at += milliseconds(if dice.once_in(12) { dice.below(40_000_000) } else { 2_000 + dice.below(240_000) });
            if dice.once_in(9) {
                model = dice.pick(self.models).copied().unwrap_or(model);
            }
        }
        Plan { seed: dice.roll(), cwd, branch, turns }
    }

    fn turn(&self, dice: &mut Dice, at: &mut i64, model: &'static str) -> Turn {
        let (seed, began, words) = (dice.roll(), *at, 3 + dice.below(60));
        let count = 1 + dice.below(4);
        let replies = (0..count).map(|number| self.reply(dice, at, model, number + 1 < count)).collect();
        Turn { seed, at: began, words, replies }
    }

    fn reply(&self, dice: &mut Dice, at: &mut i64, model: &'static str, calls: bool) -> Reply {
        *at += milliseconds(900 + dice.below(30_000));
        let thought = if dice.once_in(3) { 10 + dice.below(120) } else { 0 };
        let result = |dice: &mut Dice| if dice.once_in(6) { 300 + dice.below(1_500) } else { 5 + dice.below(200) };
        let tools = if calls { (0..=dice.below(2)).map(|_| result(dice)).collect() } else { Vec::new() };
        Reply {
            seed: dice.roll(),
            at: *at,
            model,
            tokens: self.tokens(dice, thought > 0),
            thought,
            said: 5 + dice.below(150),
            tools,
        }
    }

    fn tokens(&self, dice: &mut Dice, thinks: bool) -> Tokens {
        let number = |dice: &mut Dice, end: usize| dice.below(end) as u64;
        let output = 12 + number(dice, 3_000);
        let writes = self.writes_cache && !dice.once_in(4);
        let cache_write = if writes { number(dice, 9_000) } else { 0 };
        let hour = self.for_an_hour && dice.once_in(3);
        Tokens {
            input: 1 + number(dice, 4_000),
            output,
            cache_read: number(dice, 160_000),
            cache_write,
            cache_write_1h: if hour { number(dice, 9_000).min(cache_write) } else { 0 },
            reasoning: if thinks { 1 + number(dice, 4_000) % (output / 2) } else { 0 },
            replies: 1,
        }
    }
}

impl Plan {
    /// When it began.
    #[must_use]
    pub fn began(&self) -> i64 {
        self.turns.first().map_or(BEGIN, |turn| turn.at)
    }

    /// When it ended.
    #[must_use]
    pub fn ended(&self) -> i64 {
        self.replies().last().map_or(BEGIN, |reply| reply.at)
    }

    /// All replies.
    pub fn replies(&self) -> impl Iterator<Item = &Reply> {
        self.turns.iter().flat_map(|turn| turn.replies.iter())
    }

    /// The same session, begun later: for what follows another one.
    #[must_use]
    pub fn after(mut self, at: i64) -> Self {
        let later = at + 60_000 - self.began();
        for turn in &mut self.turns {
            turn.at += later;
            turn.replies.iter_mut().for_each(|reply| reply.at += later);
        }
        self
    }
}

impl Turn {
    /// About how many bytes it is in a log.
    fn bytes(&self) -> u64 {
        let reply = |reply: &Reply| {
            1_400 + (reply.thought + reply.said) * 8 + reply.tools.iter().map(|words| 900 + words * 16).sum::<usize>()
        };
        (600 + self.words * 8 + self.replies.iter().map(reply).sum::<usize>()) as u64
    }
}

fn milliseconds(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(DAY)
}
