//! The plan of a session before it is written: turns, replies, tools and their usage. It is independent of the agent's
//! log format.

use super::{
    calendar::{CORPUS_BEGIN_MS, DAY_MS},
    truth::CorpusTokens,
};
use crate::dice::SeededRng;

pub const CORPUS_DAYS: usize = 24;

const PROJECT_PATHS: &[&str] = &[
    "/home/dev/orchard",
    "/home/dev/orchard-worktrees/fix-login",
    "/home/dev/services/billing",
    "/home/dev/services/mail_gateway",
    "/home/dev/lab/compiler",
    "/srv/data/etl jobs",
    "/home/dev/ünïcode",
];

#[derive(Clone, Debug)]
pub struct SessionPlan {
    /// Determines the ids of the session.
    pub seed: u64,
    pub cwd: &'static str,
    pub branch: &'static str,
    pub turns: Vec<TurnPlan>,
}

/// A prompt and its replies.
#[derive(Clone, Debug)]
pub struct TurnPlan {
    /// Determines ids and text.
    pub seed: u64,
    /// Start, in milliseconds since 1970.
    pub at: i64,
    /// Number of words in the prompt.
    pub words: usize,
    pub replies: Vec<ReplyPlan>,
}

#[derive(Clone, Debug)]
pub struct ReplyPlan {
    /// Determines ids and text.
    pub seed: u64,
    /// Completion, in milliseconds since 1970.
    pub at: i64,
    pub model: &'static str,
    pub tokens: CorpusTokens,
    /// Number of words of reasoning; zero for none.
    pub thought: usize,
    /// Number of words of text.
    pub said: usize,
    /// For each tool call, the number of words in its result.
    pub tools: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
pub struct SessionPlanner {
    pub models: &'static [&'static str],
    /// The agent writes to a cache.
    pub writes_cache: bool,
    /// It can also cache for an hour.
    pub for_an_hour: bool,
}

impl SessionPlanner {
    /// Plans a session of about `bytes` bytes.
    #[must_use]
    pub fn plan_session(&self, seed: u64, bytes: u64) -> SessionPlan {
        let mut dice = SeededRng::new(seed);
        let cwd = dice.choose(PROJECT_PATHS).copied().unwrap_or("/");
        let branch = dice.choose(&["main", "fix/login", "release-2"]).copied().unwrap_or("main");
        let mut at =
            CORPUS_BEGIN_MS + to_milliseconds(dice.next_below(CORPUS_DAYS) * 86_400_000 + dice.next_below(86_400_000));
        let mut model = dice.choose(self.models).copied().unwrap_or("model");
        let (mut turns, mut planned) = (Vec::new(), 0);
        while planned < bytes || turns.len() < 3 {
            let turn = self.plan_turn(&mut dice, &mut at, model);
            planned += turn.estimated_bytes();
            turns.push(turn);
            // Pauses between prompts are minutes or hours, and sometimes the model changes.
            at += to_milliseconds(if dice.once_in(12) {
                dice.next_below(40_000_000)
            } else {
                2_000 + dice.next_below(240_000)
            });
            if dice.once_in(9) {
                model = dice.choose(self.models).copied().unwrap_or(model);
            }
        }
        SessionPlan { seed: dice.next_u64(), cwd, branch, turns }
    }

    fn plan_turn(&self, dice: &mut SeededRng, at: &mut i64, model: &'static str) -> TurnPlan {
        let (seed, began, words) = (dice.next_u64(), *at, 3 + dice.next_below(60));
        let count = 1 + dice.next_below(4);
        let replies = (0..count).map(|number| self.plan_reply(dice, at, model, number + 1 < count)).collect();
        TurnPlan { seed, at: began, words, replies }
    }

    fn plan_reply(&self, dice: &mut SeededRng, at: &mut i64, model: &'static str, calls: bool) -> ReplyPlan {
        *at += to_milliseconds(900 + dice.next_below(30_000));
        let thought = if dice.once_in(3) { 10 + dice.next_below(120) } else { 0 };
        let result = |dice: &mut SeededRng| {
            if dice.once_in(6) { 300 + dice.next_below(1_500) } else { 5 + dice.next_below(200) }
        };
        let tools = if calls { (0..=dice.next_below(2)).map(|_| result(dice)).collect() } else { Vec::new() };
        ReplyPlan {
            seed: dice.next_u64(),
            at: *at,
            model,
            tokens: self.plan_tokens(dice, thought > 0),
            thought,
            said: 5 + dice.next_below(150),
            tools,
        }
    }

    fn plan_tokens(&self, dice: &mut SeededRng, thinks: bool) -> CorpusTokens {
        let number = |dice: &mut SeededRng, end: usize| dice.next_below(end) as u64;
        let output = 12 + number(dice, 3_000);
        let writes = self.writes_cache && !dice.once_in(4);
        let cache_write = if writes { number(dice, 9_000) } else { 0 };
        let hour = self.for_an_hour && dice.once_in(3);
        CorpusTokens {
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

impl SessionPlan {
    #[must_use]
    pub fn began_at(&self) -> i64 {
        self.turns.first().map_or(CORPUS_BEGIN_MS, |turn| turn.at)
    }

    #[must_use]
    pub fn ended_at(&self) -> i64 {
        self.replies().last().map_or(CORPUS_BEGIN_MS, |reply| reply.at)
    }

    pub fn replies(&self) -> impl Iterator<Item = &ReplyPlan> {
        self.turns.iter().flat_map(|turn| turn.replies.iter())
    }

    /// Moves the session to after another one.
    #[must_use]
    pub fn shift_after(mut self, at: i64) -> Self {
        let later = at + 60_000 - self.began_at();
        for turn in &mut self.turns {
            turn.at += later;
            turn.replies.iter_mut().for_each(|reply| reply.at += later);
        }
        self
    }
}

impl TurnPlan {
    /// Returns the approximate size in a log.
    fn estimated_bytes(&self) -> u64 {
        let reply = |reply: &ReplyPlan| {
            1_400 + (reply.thought + reply.said) * 8 + reply.tools.iter().map(|words| 900 + words * 16).sum::<usize>()
        };
        (600 + self.words * 8 + self.replies.iter().map(reply).sum::<usize>()) as u64
    }
}

fn to_milliseconds(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(DAY_MS)
}
