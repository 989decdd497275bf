//! Figures in words: tokens, money, time, and how turns and runs ended.

use switchboard_event::{EndReason, SessionEnded, Stop, TurnCompleted, TurnStatus};

use super::Sums;

/// What a turn used and how it ended.
pub(super) fn turn(turn: Option<&TurnCompleted>, sums: Option<&Sums>, millis: Option<u64>) -> Option<String> {
    let mut words = Vec::new();
    words.extend(turn.and_then(ended).map(str::to_owned));
    if let Some(sums) = sums.filter(|sums| sums.total() > 0) {
        words.push(format!("{} tokens", grouped(sums.total())));
    }
    let cost = turn.and_then(|turn| turn.cost_usd).filter(|cost| *cost > 0.0);
    words.extend(cost.or_else(|| sums?.cost).filter(|cost| *cost > 0.0).map(dollars));
    words.extend(millis.map(took));
    (!words.is_empty()).then(|| words.join(" · "))
}

fn ended(turn: &TurnCompleted) -> Option<&'static str> {
    match (turn.status, turn.stop) {
        (TurnStatus::Failed, Stop::MaxTurns) => Some("turn limit reached"),
        (TurnStatus::Failed, Stop::Budget) => Some("budget used up"),
        (TurnStatus::Failed, _) => Some("failed"),
        (TurnStatus::Interrupted, _) => Some("interrupted"),
        (_, Stop::MaxTokens) => Some("reply cut off at its length limit"),
        (_, Stop::Refusal) => Some("refused"),
        (TurnStatus::Completed, _) => None,
    }
}

/// How a run ended.
pub(super) fn run(ended: &SessionEnded) -> String {
    let mut words = match ended.reason {
        EndReason::Completed => "ended",
        EndReason::Failed => "failed",
        EndReason::Cancelled => "cancelled",
        EndReason::Timeout => "took too long",
    }
    .to_owned();
    if let Some(code) = ended.exit_code.filter(|code| *code != 0) {
        words.push_str(&format!(" · exit {code}"));
    }
    if let Some(signal) = ended.signal {
        words.push_str(&format!(" · signal {signal}"));
    }
    if ended.duration_ms > 0 {
        words.push_str(&format!(" · {}", took(ended.duration_ms)));
    }
    words
}

fn dollars(cost: f64) -> String {
    if cost < 0.01 { format!("${cost:.4}") } else { format!("${cost:.2}") }
}

/// `0.4 s`, `2 m 05 s`, `1 h 02 m`.
fn took(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds}.{} s", millis % 1_000 / 100),
        60..3_600 => format!("{} m {:02} s", seconds / 60, seconds % 60),
        _ => format!("{} h {:02} m", seconds / 3_600, seconds % 3_600 / 60),
    }
}

/// `1,234,567`.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let first = digits.len() % 3;
    let mut out = String::with_capacity(digits.len() * 4 / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && at % 3 == first {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{grouped, took};

    #[test]
    fn figures_are_short() {
        assert_eq!([0, 999, 1_000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
        assert_eq!([400, 125_000, 3_720_000].map(took), ["0.4 s", "2 m 05 s", "1 h 02 m"]);
    }
}
