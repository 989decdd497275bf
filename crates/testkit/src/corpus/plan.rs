//! The plan of a session before it is written: turns, replies, tools and their usage. It is independent of the agent's
//! log format.

use super::CorpusTokens;
use crate::random::SeededRng;

const CORPUS_DAYS: usize = 24;

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
        let mut rng = SeededRng::new(seed);
        let cwd = rng.choose(PROJECT_PATHS).copied().unwrap_or("/");
        let branch = rng.choose(&["main", "fix/login", "release-2"]).copied().unwrap_or("main");
        let mut at =
            CORPUS_BEGIN_MS + to_milliseconds(rng.next_below(CORPUS_DAYS) * 86_400_000 + rng.next_below(86_400_000));
        let mut model = rng.choose(self.models).copied().unwrap_or("model");
        let (mut turns, mut planned) = (Vec::new(), 0);
        while planned < bytes || turns.len() < 3 {
            let turn = self.plan_turn(&mut rng, &mut at, model);
            planned += turn.estimated_bytes();
            turns.push(turn);
            // Pauses between prompts are minutes or hours, and sometimes the model changes.
            at += to_milliseconds(if rng.once_in(12) {
                rng.next_below(40_000_000)
            } else {
                2_000 + rng.next_below(240_000)
            });
            if rng.once_in(9) {
                model = rng.choose(self.models).copied().unwrap_or(model);
            }
        }
        SessionPlan { seed: rng.next_u64(), cwd, branch, turns }
    }

    fn plan_turn(&self, rng: &mut SeededRng, at: &mut i64, model: &'static str) -> TurnPlan {
        let (seed, began, words) = (rng.next_u64(), *at, 3 + rng.next_below(60));
        let count = 1 + rng.next_below(4);
        let replies = (0..count).map(|number| self.plan_reply(rng, at, model, number + 1 < count)).collect();
        TurnPlan { seed, at: began, words, replies }
    }

    fn plan_reply(&self, rng: &mut SeededRng, at: &mut i64, model: &'static str, calls: bool) -> ReplyPlan {
        *at += to_milliseconds(900 + rng.next_below(30_000));
        let thought = if rng.once_in(3) { 10 + rng.next_below(120) } else { 0 };
        let result = |rng: &mut SeededRng| {
            if rng.once_in(6) { 300 + rng.next_below(1_500) } else { 5 + rng.next_below(200) }
        };
        let tools = if calls { (0..=rng.next_below(2)).map(|_| result(rng)).collect() } else { Vec::new() };
        ReplyPlan {
            seed: rng.next_u64(),
            at: *at,
            model,
            tokens: self.plan_tokens(rng, thought > 0),
            thought,
            said: 5 + rng.next_below(150),
            tools,
        }
    }

    fn plan_tokens(&self, rng: &mut SeededRng, thinks: bool) -> CorpusTokens {
        let number = |rng: &mut SeededRng, end: usize| rng.next_below(end) as u64;
        let output = 12 + number(rng, 3_000);
        let writes = self.writes_cache && !rng.once_in(4);
        let cache_write = if writes { number(rng, 9_000) } else { 0 };
        let hour = self.for_an_hour && rng.once_in(3);
        CorpusTokens {
            input: 1 + number(rng, 4_000),
            output,
            cache_read: number(rng, 160_000),
            cache_write,
            cache_write_1h: if hour { number(rng, 9_000).min(cache_write) } else { 0 },
            reasoning: if thinks { 1 + number(rng, 4_000) % (output / 2) } else { 0 },
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

pub const DAY_MS: i64 = 86_400_000;

const HOUR_MS: i64 = 3_600_000;

/// 20 October 2026.
const CORPUS_BEGIN_MS: i64 = 1_792_454_400_000;

/// End of summer time in Central Europe: 25 October 2026, 01:00 UTC.
const SUMMER_TIME_END_MS: i64 = 1_792_890_000_000;

/// Time zones whose days are in the truth.
pub const TIME_ZONES: &[&str] = &["UTC", "Asia/Kolkata", "America/Phoenix", "Europe/Berlin"];

fn zone_offset_ms(zone: &str, at: i64) -> i64 {
    match zone {
        "Asia/Kolkata" => 5 * HOUR_MS + HOUR_MS / 2,
        "America/Phoenix" => -7 * HOUR_MS,
        "Europe/Berlin" if at < SUMMER_TIME_END_MS => 2 * HOUR_MS,
        "Europe/Berlin" => HOUR_MS,
        _ => 0,
    }
}

/// Formats the day in a zone, as `2026-10-20`.
#[must_use]
pub fn format_day(zone: &str, at: i64) -> String {
    let (year, month, day) = civil_date(at + zone_offset_ms(zone, at));
    format!("{year:04}-{month:02}-{day:02}")
}

/// Formats a time as RFC 3339 with milliseconds.
#[must_use]
pub fn format_timestamp(at: i64) -> String {
    let (year, month, day) = civil_date(at);
    let (hour, minute, second, milli) = time_of_day(at);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{milli:03}Z")
}

/// Returns year, month and day.
#[must_use]
pub fn civil_date(at: i64) -> (i64, i64, i64) {
    // Counted from 1 March of the year 0, so that the leap day is the last of a year.
    let days = at.div_euclid(DAY_MS) + 719_468;
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (year + era * 400 + i64::from(month <= 2), month, day)
}

/// Returns hour, minute, second and millisecond.
#[must_use]
pub fn time_of_day(at: i64) -> (i64, i64, i64, i64) {
    let of_day = at.rem_euclid(DAY_MS);
    (of_day / HOUR_MS, of_day / 60_000 % 60, of_day / 1_000 % 60, of_day % 1_000)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        assert_eq!(format_timestamp(CORPUS_BEGIN_MS), "2026-10-20T00:00:00.000Z");
        assert_eq!(format_timestamp(SUMMER_TIME_END_MS), "2026-10-25T01:00:00.000Z");
        assert_eq!(format_timestamp(1_772_323_199_999), "2026-02-28T23:59:59.999Z");
        assert_eq!(format_timestamp(1_709_164_800_000), "2024-02-29T00:00:00.000Z");
    }

    #[test]
    fn days_begin_when_they_begin_there() {
        let late = CORPUS_BEGIN_MS + 22 * HOUR_MS + HOUR_MS / 2;
        assert_eq!(format_day("UTC", late), "2026-10-20");
        assert_eq!(format_day("Asia/Kolkata", late), "2026-10-21");
        assert_eq!(format_day("America/Phoenix", CORPUS_BEGIN_MS), "2026-10-19");
        assert_eq!(format_day("Europe/Berlin", late), "2026-10-21");
        assert_eq!(format_day("Europe/Berlin", late + 10 * DAY_MS), "2026-10-30");
    }
}
