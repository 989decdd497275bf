//! The verbs of a script, one per line: parsing, literals, and which lines make the driver wait.

use std::time::Duration;

use serde_json::Deserializer;

/// Maximum number of pieces of a burst.
const LARGEST_BURST: u64 = 1_000_000;

/// Maximum size of a literal.
const LARGEST: usize = 16 << 20;

/// The instruction of one line.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptVerb<'a> {
    /// `title WORDS`: the title of the session.
    Title(&'a str),
    /// `text WORDS`: a message of the agent.
    Text(&'a str),
    /// `say LITERAL`: a message that a line cannot contain directly.
    Say(String),
    /// `think WORDS`: reasoning of the agent.
    Think(&'a str),
    /// `run CMD`: a command without approval.
    Run(CommandVerb<'a>),
    /// `edit PATH`: a file change without approval.
    Edit(EditVerb<'a>),
    /// `plan A, B`: a plan with these steps.
    Plan(Vec<&'a str>),
    /// `approve CMD`: a command with approval.
    Approve(CommandVerb<'a>),
    /// `approve-edit PATH`: a file change with approval.
    ApproveEdit(EditVerb<'a>),
    /// `mcp SERVER TOOL`: a call of an MCP tool.
    Mcp {
        server: &'a str,
        tool: &'a str,
        /// The result.
        output: String,
    },
    /// `search WORDS`: a web search.
    Search(&'a str),
    /// `image NAME`: a tool call that views an image.
    Image(&'a str),
    /// `retry MESSAGE`: the model did not answer and is called again.
    Retry(&'a str),
    /// `ask QUESTION | A | B`: a question with choices.
    Ask { question: &'a str, choices: Vec<&'a str> },
    /// `subagent LABEL`: a subagent.
    Subagent(&'a str),
    /// `sleep SECONDS`: a pause.
    Sleep(Duration),
    /// `burst N`, `burst N at RATE`: a message of N pieces. `burst A-B of N`: only some of them, so that the driver can
    /// split a long message into several records.
    Burst {
        /// The first piece, from 1.
        from: u64,
        to: u64,
        /// Number of pieces of the message.
        of: u64,
        /// Pieces per second; unlimited if missing.
        rate: Option<u64>,
    },
    /// `fail MESSAGE`: the turn fails.
    Fail(&'a str),
    /// `crash`: the agent terminates.
    Crash,
    /// `raw JSON`: an unknown record.
    Raw(&'a str),
    /// `# …`: a comment without effect.
    Remark,
    /// Not a verb.
    Unknown(&'a str),
}

/// `CMD`, or `CMD => LITERAL [exit N]`: a command, its output and its exit code.
#[derive(Clone, Debug, PartialEq)]
pub struct CommandVerb<'a> {
    pub command: &'a str,
    /// The output, if given.
    pub output: Option<String>,
    pub exit: i32,
}

/// `PATH`, or `PATH => LITERAL => LITERAL`: a file before and after. An empty side means that the file does not exist.
#[derive(Clone, Debug, PartialEq)]
pub struct EditVerb<'a> {
    pub path: &'a str,
    /// The content before and after, if given.
    pub sides: Option<(String, String)>,
}

/// The condition for performing the next line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VerbWait {
    Nothing,
    /// Some time passes.
    Time(Duration),
    /// The request is answered or declined.
    Answer,
}

impl<'a> ScriptVerb<'a> {
    #[must_use]
    pub fn parse(line: &'a str) -> Self {
        let line = line.trim_start();
        let (verb, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        match verb {
            "title" => Self::Title(rest.trim()),
            "text" => Self::Text(rest),
            "think" => Self::Think(rest),
            "say" => whole(rest).map_or(Self::Unknown(line), Self::Say),
            "run" => Self::Run(CommandVerb::parse(rest.trim())),
            "edit" => Self::Edit(EditVerb::parse(rest.trim())),
            "plan" => Self::Plan(list(rest, ',')),
            "approve" => Self::Approve(CommandVerb::parse(rest.trim())),
            "approve-edit" => Self::ApproveEdit(EditVerb::parse(rest.trim())),
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

    /// Returns the prompt that a script represents: its title, if it begins with one.
    #[must_use]
    pub fn represented_prompt(script: &'a str) -> &'a str {
        match script.lines().next().map(Self::parse) {
            Some(Self::Title(title)) => title,
            _ => script,
        }
    }

    fn ask(rest: &'a str) -> Self {
        let (question, choices) = rest.split_once('|').unwrap_or((rest, ""));
        Self::Ask { question: question.trim(), choices: list(choices, '|') }
    }

    #[must_use]
    pub fn wait(&self) -> VerbWait {
        match self {
            Self::Sleep(time) => VerbWait::Time(*time),
            Self::Burst { from, to, rate: Some(rate), .. } => {
                VerbWait::Time(time((to + 1).saturating_sub(*from), *rate))
            }
            Self::Approve(_) | Self::ApproveEdit(_) | Self::Ask { .. } => VerbWait::Answer,
            _ => VerbWait::Nothing,
        }
    }
}

impl<'a> CommandVerb<'a> {
    fn parse(text: &'a str) -> Self {
        let told = text.match_indices("=>").find_map(|(at, arrow)| {
            let (output, rest) = literal(text.get(at + arrow.len()..)?)?;
            let exit = if rest.is_empty() { 0 } else { rest.strip_prefix("exit")?.trim().parse().ok()? };
            Some(Self { command: text.get(..at)?.trim(), output: Some(output), exit })
        });
        told.unwrap_or(Self { command: text, output: None, exit: 0 })
    }
}

impl<'a> EditVerb<'a> {
    fn parse(text: &'a str) -> Self {
        let told = text.split_once("=>").and_then(|(path, sides)| {
            let (before, rest) = literal(sides)?;
            Some(Self { path: path.trim(), sides: Some((before, whole(rest.strip_prefix("=>")?)?)) })
        });
        told.unwrap_or(Self { path: text, sides: None })
    }
}

/// Parses a literal without anything after it.
fn whole(text: &str) -> Option<String> {
    literal(text).and_then(|(text, rest)| rest.is_empty().then_some(text))
}

fn mcp(text: &str) -> Option<ScriptVerb<'_>> {
    let (names, output) = match text.split_once("=>") {
        Some((names, output)) => (names, whole(output)?),
        None => (text, "done".to_owned()),
    };
    let (server, tool) = names.trim().split_once(' ')?;
    Some(ScriptVerb::Mcp { server, tool: tool.trim(), output })
}

fn burst<'a>(text: &str) -> Option<ScriptVerb<'a>> {
    let number = |text: &str| text.trim().parse::<u64>().ok().map(|n| n.min(LARGEST_BURST));
    let (text, rate) = match text.split_once(" at ") {
        Some((text, rate)) => (text, Some(number(rate).filter(|rate| *rate > 0)?)),
        None => (text, None),
    };
    let Some((range, of)) = text.split_once(" of ") else {
        let of = number(text)?;
        return Some(ScriptVerb::Burst { from: 1, to: of, of, rate });
    };
    let (from, to) = range.split_once('-')?;
    let (from, to, of) = (number(from)?, number(to)?, number(of)?);
    Some(ScriptVerb::Burst { from: from.max(1), to: to.min(of), of, rate })
}

/// Returns the duration of a number of pieces.
fn time(pieces: u64, rate: u64) -> Duration {
    Duration::from_micros(pieces.saturating_mul(1_000_000) / rate.max(1))
}

fn list(text: &str, separator: char) -> Vec<&str> {
    text.split(separator).map(str::trim).filter(|entry| !entry.is_empty()).collect()
}

fn seconds(text: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(text.trim().parse().ok()?).ok()
}

/// Parses a literal. Returns its text and the rest of the line.
pub fn literal(text: &str) -> Option<(String, &str)> {
    let (mut whole, mut rest) = piece(text)?;
    while let Some((more, after)) = piece(rest) {
        whole.push_str(&more);
        rest = after;
    }
    (whole.len() <= LARGEST).then_some((whole, rest))
}

/// Parses one string and its repetition count.
fn piece(text: &str) -> Option<(String, &str)> {
    let text = text.trim_start();
    if !text.starts_with('"') {
        return None;
    }
    let mut strings = Deserializer::from_str(text).into_iter::<String>();
    let string = strings.next()?.ok()?;
    let rest = text.get(strings.byte_offset()..)?.trim_start();
    let Some(times) = rest.strip_prefix('*') else { return Some((string, rest)) };
    let times = times.trim_start();
    let end = times.find(|c: char| !c.is_ascii_digit()).unwrap_or(times.len());
    let (digits, rest) = times.split_at_checked(end)?;
    let times: usize = digits.parse().ok()?;
    (string.len().checked_mul(times)? <= LARGEST).then(|| (string.repeat(times), rest.trim_start()))
}

#[cfg(test)]
mod tests {

    use std::time::Duration;

    use super::{CommandVerb, EditVerb, LARGEST_BURST, ScriptVerb, VerbWait, literal};

    #[test]
    fn lines_are_read() {
        for (line, expected) in [
            ("text hello  world", ScriptVerb::Text("hello  world")),
            ("  run echo hi ", ScriptVerb::Run(CommandVerb { command: "echo hi", output: None, exit: 0 })),
            ("plan one, two,", ScriptVerb::Plan(vec!["one", "two"])),
            ("ask Why? | A | B", ScriptVerb::Ask { question: "Why?", choices: vec!["A", "B"] }),
            ("ask Why?", ScriptVerb::Ask { question: "Why?", choices: vec![] }),
            ("sleep 0.5", ScriptVerb::Sleep(Duration::from_millis(500))),
            ("sleep -1", ScriptVerb::Unknown("sleep -1")),
            ("sleep NaN", ScriptVerb::Unknown("sleep NaN")),
            ("burst 99999999999", ScriptVerb::Burst { from: 1, to: LARGEST_BURST, of: LARGEST_BURST, rate: None }),
            ("burst 11-20 of 30", ScriptVerb::Burst { from: 11, to: 20, of: 30, rate: None }),
            ("burst 5-99 of 30 at 100", ScriptVerb::Burst { from: 5, to: 30, of: 30, rate: Some(100) }),
            ("burst 5 at 0", ScriptVerb::Unknown("burst 5 at 0")),
            ("say \"a\\nb\" * 2", ScriptVerb::Say("a\nba\nb".to_owned())),
            ("say hello", ScriptVerb::Unknown("say hello")),
            (
                "run a => \"b\" exit 3",
                ScriptVerb::Run(CommandVerb { command: "a", output: Some("b".to_owned()), exit: 3 }),
            ),
            (
                "run x => y => \"z\"",
                ScriptVerb::Run(CommandVerb { command: "x => y", output: Some("z".to_owned()), exit: 0 }),
            ),
            ("run x => y", ScriptVerb::Run(CommandVerb { command: "x => y", output: None, exit: 0 })),
            (
                "edit a => \"1\" => \"2\"",
                ScriptVerb::Edit(EditVerb { path: "a", sides: Some(("1".into(), "2".into())) }),
            ),
            ("mcp files read => \"x\"", ScriptVerb::Mcp { server: "files", tool: "read", output: "x".to_owned() }),
            ("mcp files", ScriptVerb::Unknown("mcp files")),
            ("burst many", ScriptVerb::Unknown("burst many")),
            ("title A fix", ScriptVerb::Title("A fix")),
            ("crash", ScriptVerb::Crash),
            ("# a remark", ScriptVerb::Remark),
            ("dance wildly", ScriptVerb::Unknown("dance wildly")),
        ] {
            assert_eq!(ScriptVerb::parse(line), expected, "{line}");
        }
    }

    #[test]
    fn a_title_stands_for_the_script() {
        assert_eq!(ScriptVerb::represented_prompt("title A fix\ntext done"), "A fix");
        assert_eq!(ScriptVerb::represented_prompt("text done\ntitle A fix"), "text done\ntitle A fix");
    }

    #[test]
    fn some_lines_wait() {
        assert_eq!(ScriptVerb::parse("sleep 2").wait(), VerbWait::Time(Duration::from_secs(2)));
        assert_eq!(ScriptVerb::parse("burst 1-20 of 30 at 1000").wait(), VerbWait::Time(Duration::from_millis(20)));
        assert_eq!(ScriptVerb::parse("approve rm x").wait(), VerbWait::Answer);
        assert_eq!(ScriptVerb::parse("run rm x").wait(), VerbWait::Nothing);
    }

    #[test]
    fn literals_are_read() {
        let read = |text| literal(text).map(|(text, rest)| (text, rest.to_owned()));
        let is = |text: &str, rest: &str| Some((text.to_owned(), rest.to_owned()));
        assert_eq!(read(r#""a\nb""#), is("a\nb", ""));
        assert_eq!(read(r#" "ab" * 3 "\u001b" exit 1"#), is("ababab\u{1b}", "exit 1"));
        assert_eq!(read(r#""a"*2"b""#), is("aab", ""));
        for wrong in ["", "words", "\"open", "\"a\" * x", "\"a\" * 999999999999", "\"ab\" * 16000000 \"ab\" * 16000000"]
        {
            assert_eq!(read(wrong), None, "{wrong}");
        }
    }
}
