//! One session in a list for people: what is known of it, in few words.

use anstyle::Style;
use switchboard_event::Timestamp;
use switchboard_store::{SessionPhase, SessionRecord};

use crate::view::{
    clean, fold,
    style::{BOLD, CYAN, DIM, GREEN, PLAIN, RED, YELLOW},
};

/// A session in few words.
pub struct Row {
    /// The agent.
    pub agent: String,
    /// What it is doing.
    pub state: Doing,
    /// How long ago it began.
    pub age: String,
    /// How many turns it had.
    pub turns: String,
    /// What it belongs to.
    pub project: String,
    /// Where it works.
    pub cwd: String,
    /// Its title or what it was asked.
    task: String,
}

/// What a session is doing.
#[derive(Clone, Copy)]
pub struct Doing(SessionPhase);

impl Row {
    /// What is known of a session.
    pub fn of(session: &SessionRecord, now: Timestamp) -> Self {
        let task = session.title.as_deref().filter(|title| !title.trim().is_empty()).unwrap_or(&session.prompt);
        Self {
            agent: clean::line(&session.agent),
            state: Doing(session.state),
            age: age(now.millis_since(session.created)),
            turns: session.turns.to_string(),
            project: clean::line(session.project.as_deref().unwrap_or_default()),
            cwd: clean::line(&session.cwd),
            task: clean::line(fold::beginning(task.trim(), 4 * fold::LONGEST)),
        }
    }

    /// Returns the title or first prompt, cut to a number of columns.
    pub fn task(&self, columns: usize) -> String {
        clip(&self.task, columns)
    }
}

impl Doing {
    /// The word for it.
    pub fn word(self) -> &'static str {
        match self.0 {
            SessionPhase::Waiting => "needs you",
            other => other.name(),
        }
    }

    /// How it is painted.
    pub fn style(self) -> Style {
        match self.0 {
            SessionPhase::Running => CYAN,
            SessionPhase::Waiting => YELLOW.effects(BOLD.get_effects()),
            SessionPhase::Done => GREEN,
            SessionPhase::Failed => RED,
            SessionPhase::Cancelled => DIM,
            SessionPhase::Idle | SessionPhase::Other => PLAIN,
        }
    }
}

/// Cuts a line to a width, where it ends if that is needed.
pub fn clip(text: &str, columns: usize) -> String {
    let (cells, more) = fold::cells([text], columns);
    fold::cut(cells, more, columns).into_iter().map(|cell| cell.c).collect()
}

/// How long something is ago, in one unit.
pub fn age(millis: u64) -> String {
    let seconds = millis / 1_000;
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{} min", seconds / 60),
        3_600..172_800 => format!("{} h", seconds / 3_600),
        _ => format!("{} d", seconds / 86_400),
    }
}

#[cfg(test)]
mod tests {
    use super::{age, clip};

    #[test]
    fn ages_have_one_unit() {
        let shown = [0, 59_999, 60_000, 3_600_000, 172_799_000, 172_800_000].map(age);
        assert_eq!(shown, ["0 s", "59 s", "1 min", "1 h", "47 h", "2 d"]);
    }

    #[test]
    fn a_cut_is_marked_and_counts_columns() {
        assert_eq!(clip("short", 5), "short");
        assert_eq!(clip("too long", 5), "too …");
        assert_eq!(clip("日本語です", 5), "日本…");
    }
}
