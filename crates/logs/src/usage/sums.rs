//! Adding up. Money is counted in whole millionths of a millionth of a dollar: the sum is then the same whatever the
//! order, and parts add up to the whole.

use switchboard_event::Timestamp;

/// Millionths of a millionth of a dollar: what a token costs is a whole number of them.
pub type Pico = u128;

/// How many of them are a dollar.
const DOLLAR: f64 = 1e12;

/// Dollars as a number for people and for JSON.
#[expect(clippy::cast_precision_loss, reason = "sixteen digits are enough for money")]
pub fn dollars(pico: Pico) -> f64 {
    pico as f64 / DOLLAR
}

/// The same from what an agent says. What is no amount is nothing.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range was checked")]
pub fn pico(dollars: f64) -> Pico {
    let pico = (dollars * DOLLAR).round();
    if pico.is_finite() && (0.0..1e30).contains(&pico) { pico as Pico } else { 0 }
}

/// What was used by some replies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sums {
    pub input: u64,
    pub output: u64,
    pub cache_read: u64,
    pub cache_write: u64,
    pub cache_write_1h: u64,
    pub reasoning: u64,
    pub replies: u64,
    pub calls: u64,
    pub cost: Pico,
    /// Of replies whose cost is not known.
    pub unpriced: u64,
    pub span: Option<(Timestamp, Timestamp)>,
}

impl Sums {
    /// All tokens; reasoning is in those out.
    pub fn total(&self) -> u64 {
        [self.output, self.cache_read, self.cache_write, self.cache_write_1h].iter().fold(self.input, saturating)
    }

    /// Adds what others used. Absurd figures in a log stay at the largest there is.
    pub fn add(&mut self, other: &Self) {
        let plus = |mine: &mut u64, theirs: u64| *mine = mine.saturating_add(theirs);
        plus(&mut self.input, other.input);
        plus(&mut self.output, other.output);
        plus(&mut self.cache_read, other.cache_read);
        plus(&mut self.cache_write, other.cache_write);
        plus(&mut self.cache_write_1h, other.cache_write_1h);
        plus(&mut self.reasoning, other.reasoning);
        plus(&mut self.replies, other.replies);
        plus(&mut self.calls, other.calls);
        plus(&mut self.unpriced, other.unpriced);
        self.cost = self.cost.saturating_add(other.cost);
        self.span = match (self.span, other.span) {
            (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
            (mine, theirs) => mine.or(theirs),
        };
    }

    /// One of so many equal parts, in whole tokens; the first has what is left over.
    pub fn part(&self, of: u64, count: u64, is_first: bool) -> Self {
        let part = |all: u64| (all / of) * count + if is_first { all % of } else { 0 };
        let (of_cost, count_cost) = (u128::from(of), u128::from(count));
        let cost = (self.cost / of_cost) * count_cost + if is_first { self.cost % of_cost } else { 0 };
        Self {
            input: part(self.input),
            output: part(self.output),
            cache_read: part(self.cache_read),
            cache_write: part(self.cache_write),
            cache_write_1h: part(self.cache_write_1h),
            reasoning: part(self.reasoning),
            unpriced: part(self.unpriced),
            replies: self.replies,
            calls: count,
            cost,
            span: self.span,
        }
    }
}

fn saturating(sum: u64, more: &u64) -> u64 {
    sum.saturating_add(*more)
}
