//! The verbs of a script, one a line. Only what a line says; what it does is in `stage.rs`, and whoever drives a
//! script learns here which lines make it wait.

use std::time::Duration;

use super::literal::literal;

/// What one line asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Verb<'a> {
    /// `title WORDS`: what the session is called.
    Title(&'a str),
    /// `text WORDS`: the agent says them.
    Text(&'a str),
    /// `say LITERAL`: the agent says a text that no line could have.
    Say(String),
    /// `think WORDS`: the agent thinks them.
    Think(&'a str),
    /// `run CMD`: a command, without asking.
    Run(Shell<'a>),
    /// `edit PATH`: a change of a file, without asking.
    Edit(Sides<'a>),
    /// `plan A, B`: a plan with these steps.
    Plan(Vec<&'a str>),
    /// `approve CMD`: a command, after asking.
    Approve(Shell<'a>),
    /// `approve-edit PATH`: a change of a file, after asking.
    ApproveEdit(Sides<'a>),
    /// `mcp SERVER TOOL`: a call of a tool of a server.
    Mcp {
        /// The server.
        server: &'a str,
        /// The tool.
        tool: &'a str,
        /// What it gives back.
        output: String,
    },
    /// `search WORDS`: a search of the web.
    Search(&'a str),
    /// `image NAME`: a tool that looks at an image.
    Image(&'a str),
    /// `retry MESSAGE`: the model did not answer, and is asked again.
    Retry(&'a str),
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
    /// `burst N`, `burst N at RATE`: a message of so many pieces. `burst A-B of N`: only some of them, so that whoever
    /// drives a script can have a long message performed in several records.
    Burst {
        /// The first piece, from 1.
        from: u64,
        /// The last piece.
        to: u64,
        /// How many the message has.
        of: u64,
        /// How many a second; as fast as it goes, if that is not said.
        rate: Option<u64>,
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

/// `CMD`, or `CMD => LITERAL [exit N]`: a command, what it prints, and how it ends.
#[derive(Clone, Debug, PartialEq)]
pub struct Shell<'a> {
    /// The command.
    pub command: &'a str,
    /// What it prints, if that is said.
    pub output: Option<String>,
    /// Its exit code.
    pub exit: i32,
}

/// `PATH`, or `PATH => LITERAL => LITERAL`: a file before and after; one that is empty is not there.
#[derive(Clone, Debug, PartialEq)]
pub struct Sides<'a> {
    /// The file.
    pub path: &'a str,
    /// Before and after, if that is said.
    pub sides: Option<(String, String)>,
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
            "title" => Self::Title(rest.trim()),
            "text" => Self::Text(rest),
            "think" => Self::Think(rest),
            "say" => whole(rest).map_or(Self::Unknown(line), Self::Say),
            "run" => Self::Run(Shell::parse(rest.trim())),
            "edit" => Self::Edit(Sides::parse(rest.trim())),
            "plan" => Self::Plan(list(rest, ',')),
            "approve" => Self::Approve(Shell::parse(rest.trim())),
            "approve-edit" => Self::ApproveEdit(Sides::parse(rest.trim())),
            "mcp" => mcp(rest).unwrap_or(Self::Unknown(line)),
            "search" => Self::Search(rest.trim()),
            "image" => Self::Image(rest.trim()),
            "retry" => Self::Retry(rest.trim()),
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

    /// What a person would have asked for in place of this script: its title, if it begins with one.
    #[must_use]
    pub fn asked(script: &'a str) -> &'a str {
        match script.lines().next().map(Self::parse) {
            Some(Self::Title(title)) => title,
            _ => script,
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
            Self::Burst { from, to, rate: Some(rate), .. } => Wait::Time(time((to + 1).saturating_sub(*from), *rate)),
            Self::Approve(_) | Self::ApproveEdit(_) | Self::Ask { .. } => Wait::Answer,
            _ => Wait::Nothing,
        }
    }
}

impl<'a> Shell<'a> {
    fn parse(text: &'a str) -> Self {
        let told = text.match_indices("=>").find_map(|(at, arrow)| {
            let (output, rest) = literal(text.get(at + arrow.len()..)?)?;
            let exit = if rest.is_empty() { 0 } else { rest.strip_prefix("exit")?.trim().parse().ok()? };
            Some(Self { command: text.get(..at)?.trim(), output: Some(output), exit })
        });
        told.unwrap_or(Self { command: text, output: None, exit: 0 })
    }
}

impl<'a> Sides<'a> {
    fn parse(text: &'a str) -> Self {
        let told = text.split_once("=>").and_then(|(path, sides)| {
            let (before, rest) = literal(sides)?;
            Some(Self { path: path.trim(), sides: Some((before, whole(rest.strip_prefix("=>")?)?)) })
        });
        told.unwrap_or(Self { path: text, sides: None })
    }
}

/// A literal and nothing else.
fn whole(text: &str) -> Option<String> {
    literal(text).and_then(|(text, rest)| rest.is_empty().then_some(text))
}

fn mcp(text: &str) -> Option<Verb<'_>> {
    let (names, output) = match text.split_once("=>") {
        Some((names, output)) => (names, whole(output)?),
        None => (text, "done".to_owned()),
    };
    let (server, tool) = names.trim().split_once(' ')?;
    Some(Verb::Mcp { server, tool: tool.trim(), output })
}

fn burst<'a>(text: &str) -> Option<Verb<'a>> {
    let number = |text: &str| text.trim().parse::<u64>().ok().map(|n| n.min(LARGEST_BURST));
    let (text, rate) = match text.split_once(" at ") {
        Some((text, rate)) => (text, Some(number(rate).filter(|rate| *rate > 0)?)),
        None => (text, None),
    };
    let Some((range, of)) = text.split_once(" of ") else {
        let of = number(text)?;
        return Some(Verb::Burst { from: 1, to: of, of, rate });
    };
    let (from, to) = range.split_once('-')?;
    let (from, to, of) = (number(from)?, number(to)?, number(of)?);
    Some(Verb::Burst { from: from.max(1), to: to.min(of), of, rate })
}

/// How long so many pieces take.
fn time(pieces: u64, rate: u64) -> Duration {
    Duration::from_micros(pieces.saturating_mul(1_000_000) / rate.max(1))
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

    use super::{LARGEST_BURST, Shell, Sides, Verb, Wait};

    #[test]
    fn lines_are_read() {
        for (line, expected) in [
            ("text hello  world", Verb::Text("hello  world")),
            ("  run echo hi ", Verb::Run(Shell { command: "echo hi", output: None, exit: 0 })),
            ("plan one, two,", Verb::Plan(vec!["one", "two"])),
            ("ask Why? | A | B", Verb::Ask { question: "Why?", choices: vec!["A", "B"] }),
            ("ask Why?", Verb::Ask { question: "Why?", choices: vec![] }),
            ("sleep 0.5", Verb::Sleep(Duration::from_millis(500))),
            ("sleep -1", Verb::Unknown("sleep -1")),
            ("sleep NaN", Verb::Unknown("sleep NaN")),
            ("burst 99999999999", Verb::Burst { from: 1, to: LARGEST_BURST, of: LARGEST_BURST, rate: None }),
            ("burst 11-20 of 30", Verb::Burst { from: 11, to: 20, of: 30, rate: None }),
            ("burst 5-99 of 30 at 100", Verb::Burst { from: 5, to: 30, of: 30, rate: Some(100) }),
            ("burst 5 at 0", Verb::Unknown("burst 5 at 0")),
            ("say \"a\\nb\" * 2", Verb::Say("a\nba\nb".to_owned())),
            ("say hello", Verb::Unknown("say hello")),
            ("run a => \"b\" exit 3", Verb::Run(Shell { command: "a", output: Some("b".to_owned()), exit: 3 })),
            ("run x => y => \"z\"", Verb::Run(Shell { command: "x => y", output: Some("z".to_owned()), exit: 0 })),
            ("run x => y", Verb::Run(Shell { command: "x => y", output: None, exit: 0 })),
            ("edit a => \"1\" => \"2\"", Verb::Edit(Sides { path: "a", sides: Some(("1".into(), "2".into())) })),
            ("mcp files read => \"x\"", Verb::Mcp { server: "files", tool: "read", output: "x".to_owned() }),
            ("mcp files", Verb::Unknown("mcp files")),
            ("burst many", Verb::Unknown("burst many")),
            ("title A fix", Verb::Title("A fix")),
            ("crash", Verb::Crash),
            ("# a remark", Verb::Remark),
            ("dance wildly", Verb::Unknown("dance wildly")),
        ] {
            assert_eq!(Verb::parse(line), expected, "{line}");
        }
    }

    #[test]
    fn a_title_stands_for_the_script() {
        assert_eq!(Verb::asked("title A fix\ntext done"), "A fix");
        assert_eq!(Verb::asked("text done\ntitle A fix"), "text done\ntitle A fix");
    }

    #[test]
    fn some_lines_wait() {
        assert_eq!(Verb::parse("sleep 2").wait(), Wait::Time(Duration::from_secs(2)));
        assert_eq!(Verb::parse("burst 1-20 of 30 at 1000").wait(), Wait::Time(Duration::from_millis(20)));
        assert_eq!(Verb::parse("approve rm x").wait(), Wait::Answer);
        assert_eq!(Verb::parse("run rm x").wait(), Wait::Nothing);
    }
}
