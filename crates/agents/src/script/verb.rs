//! The verbs of a script, one a line. Only what a line says; what it does is in `stage.rs`, and whoever drives a
//! script learns here which lines make it wait.

use std::time::Duration;

/// What one line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb<'a> {
    /// `text WORDS`: the agent says them.
    Text(&'a str),
    /// `think WORDS`: the agent thinks them.
    Think(&'a str),
    /// `run CMD`: a command, without asking.
    Run(&'a str),
    /// `edit PATH`: a change of a file, without asking.
    Edit(&'a str),
    /// `plan A, B`: a plan with these steps.
    Plan(Vec<&'a str>),
    /// `approve CMD`: a command, after asking.
    Approve(&'a str),
    /// `approve-edit PATH`: a change of a file, after asking.
    ApproveEdit(&'a str),
    /// `ask QUESTION | A | B`: a question with answers to choose from.
    Ask {
        /// The question.
        question: &'a str,
        /// The answers.
        choices: Vec<&'a str>,
    },
    /// `subagent LABEL`: another agent works for this one.
    Subagent(&'a str),
    /// `sleep SECONDS`: nothing, for a while.
    Sleep(Duration),
    /// `burst N`: a message of so many pieces. `burst A-B of N`: only some of them, so that whoever drives a script
    /// can have a long message performed in several records.
    Burst {
        /// The first piece, from 1.
        from: u64,
        /// The last piece.
        to: u64,
        /// How many the message has.
        of: u64,
    },
    /// `fail MESSAGE`: the turn fails.
    Fail(&'a str),
    /// `crash`: the agent is gone.
    Crash,
    /// `raw JSON`: something that nobody knows.
    Raw(&'a str),
    /// `# …`: nothing at all.
    Remark,
    /// Not a verb.
    Unknown(&'a str),
}

/// What must happen before the next line is performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wait {
    /// Nothing.
    Nothing,
    /// Time must pass.
    Time(Duration),
    /// Somebody must answer, or be known not to.
    Answer,
}

/// More pieces than this in one burst would only measure memory.
pub const LARGEST_BURST: u64 = 1_000_000;

impl<'a> Verb<'a> {
    /// Reads a line.
    #[must_use]
    pub fn parse(line: &'a str) -> Self {
        let line = line.trim_start();
        let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match verb {
            "text" => Self::Text(rest),
            "think" => Self::Think(rest),
            "run" => Self::Run(rest.trim()),
            "edit" => Self::Edit(rest.trim()),
            "plan" => Self::Plan(list(rest, ',')),
            "approve" => Self::Approve(rest.trim()),
            "approve-edit" => Self::ApproveEdit(rest.trim()),
            "ask" => Self::ask(rest),
            "subagent" => Self::Subagent(rest.trim()),
            "sleep" => seconds(rest).map_or(Self::Unknown(line), Self::Sleep),
            "burst" => burst(rest).unwrap_or(Self::Unknown(line)),
            "fail" => Self::Fail(rest.trim()),
            "crash" => Self::Crash,
            "raw" => Self::Raw(rest.trim()),
            _ if verb.starts_with('#') => Self::Remark,
            _ => Self::Unknown(line),
        }
    }

    fn ask(rest: &'a str) -> Self {
        let (question, choices) = rest.split_once('|').unwrap_or((rest, ""));
        Self::Ask { question: question.trim(), choices: list(choices, '|') }
    }

    /// What must happen before the next line.
    #[must_use]
    pub fn wait(&self) -> Wait {
        match self {
            Self::Sleep(time) => Wait::Time(*time),
            Self::Approve(_) | Self::ApproveEdit(_) | Self::Ask { .. } => Wait::Answer,
            _ => Wait::Nothing,
        }
    }
}

fn burst<'a>(text: &str) -> Option<Verb<'a>> {
    let number = |text: &str| text.trim().parse::<u64>().ok().map(|n| n.min(LARGEST_BURST));
    let Some((range, of)) = text.split_once(" of ") else {
        let of = number(text)?;
        return Some(Verb::Burst { from: 1, to: of, of });
    };
    let (from, to) = range.split_once('-')?;
    let (from, to, of) = (number(from)?, number(to)?, number(of)?);
    Some(Verb::Burst { from: from.max(1), to: to.min(of), of })
}

fn list(text: &str, separator: char) -> Vec<&str> {
    text.split(separator).map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::{LARGEST_BURST, Verb, Wait};

    #[test]
    fn lines_are_read() {
        for (line, expected) in [
            ("text hello  world", Verb::Text("hello  world")),
            ("  run echo hi ", Verb::Run("echo hi")),
            ("plan one, two,", Verb::Plan(vec!["one", "two"])),
            ("ask Why? | A | B", Verb::Ask { question: "Why?", choices: vec!["A", "B"] }),
            ("ask Why?", Verb::Ask { question: "Why?", choices: vec![] }),
            ("sleep 0.5", Verb::Sleep(Duration::from_millis(500))),
            ("sleep -1", Verb::Unknown("sleep -1")),
            ("sleep NaN", Verb::Unknown("sleep NaN")),
            ("burst 99999999999", Verb::Burst { from: 1, to: LARGEST_BURST, of: LARGEST_BURST }),
            ("burst 11-20 of 30", Verb::Burst { from: 11, to: 20, of: 30 }),
            ("burst 5-99 of 30", Verb::Burst { from: 5, to: 30, of: 30 }),
            ("burst many", Verb::Unknown("burst many")),
            ("crash", Verb::Crash),
            ("# a remark", Verb::Remark),
            ("dance wildly", Verb::Unknown("dance wildly")),
        ] {
            assert_eq!(Verb::parse(line), expected, "{line}");
        }
    }

    #[test]
    fn some_lines_wait() {
        assert_eq!(Verb::parse("sleep 2").wait(), Wait::Time(Duration::from_secs(2)));
        assert_eq!(Verb::parse("approve rm x").wait(), Wait::Answer);
        assert_eq!(Verb::parse("run rm x").wait(), Wait::Nothing);
    }
}
