use std::time::Duration;

use anyhow::{Context as _, bail};

#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the table in the module's documentation says what they are")]
pub enum FakeStep {
    Version(String),
    Speak(String),
    Open,
    Say(String),
    Ask(String),
    Prompt,
    Obey,
    Done,
    Follow,
    Flood { count: u64, rate: f64 },
    Burst(u64),
    Fetch { count: u32, server: String },
    Line(usize),
    Print(String),
    Part(String),
    Garbage(usize),
    Complain(String),
    Ignore,
    Child(Vec<String>),
    CloseStdin,
    CloseStdout,
    Sleep(Duration),
    Wait,
    Hang,
    Exit(u8),
    Crash,
}

/// Parses a script. Empty lines and lines that begin with `#` are ignored.
pub fn parse_script(script: &str) -> anyhow::Result<Vec<FakeStep>> {
    let lines = script.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| parse_step(line).with_context(|| format!("no step of a fake: {line}"))).collect()
}

fn parse_step(line: &str) -> anyhow::Result<FakeStep> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let text = rest.to_owned();
    Ok(match name {
        "version" => FakeStep::Version(text),
        "speak" => FakeStep::Speak(text),
        "open" => FakeStep::Open,
        "say" => FakeStep::Say(text),
        "ask" => FakeStep::Ask(text),
        "prompt" => FakeStep::Prompt,
        "obey" => FakeStep::Obey,
        "done" => FakeStep::Done,
        "follow" => FakeStep::Follow,
        "flood" => parse_flood(rest)?,
        "burst" => FakeStep::Burst(rest.trim().parse()?),
        "fetch" => parse_fetch(rest)?,
        "line" => FakeStep::Line(rest.trim().parse()?),
        "print" => FakeStep::Print(text),
        "part" => FakeStep::Part(text),
        "garbage" => FakeStep::Garbage(rest.trim().parse()?),
        "complain" => FakeStep::Complain(text),
        "ignore" => FakeStep::Ignore,
        "child" => FakeStep::Child(rest.split_whitespace().map(str::to_owned).collect()),
        "close" if rest == "stdin" => FakeStep::CloseStdin,
        "close" if rest == "stdout" => FakeStep::CloseStdout,
        "sleep" => FakeStep::Sleep(Duration::try_from_secs_f64(rest.trim().parse()?)?),
        "wait" => FakeStep::Wait,
        "hang" => FakeStep::Hang,
        "exit" => FakeStep::Exit(rest.trim().parse()?),
        "crash" => FakeStep::Crash,
        _ => bail!("there is no {name}"),
    })
}

fn parse_fetch(rest: &str) -> anyhow::Result<FakeStep> {
    let (count, server) = rest.split_once(' ').context("fetch needs a number and a server")?;
    Ok(FakeStep::Fetch { count: count.parse()?, server: server.trim().to_owned() })
}

fn parse_flood(rest: &str) -> anyhow::Result<FakeStep> {
    let (count, rate) = rest.split_once(' ').context("flood needs a number and a rate")?;
    Ok(FakeStep::Flood { count: count.parse()?, rate: rate.trim().parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_line_by_line() {
        let steps = parse_script("# why\nopen\n  say a b \n\nflood 10 1000\nchild setsid orphan\nclose stdout\nexit 3")
            .unwrap();
        let child = FakeStep::Child(vec!["setsid".to_owned(), "orphan".to_owned()]);
        let flood = FakeStep::Flood { count: 10, rate: 1000.0 };
        assert_eq!(
            steps,
            [FakeStep::Open, FakeStep::Say("a b ".to_owned()), flood, child, FakeStep::CloseStdout, FakeStep::Exit(3)]
        );
    }

    #[test]
    fn what_is_no_step_is_said() {
        for wrong in ["opne", "sleep x", "close stderr", "exit 1000"] {
            assert!(format!("{:#}", parse_script(wrong).unwrap_err()).contains(wrong), "{wrong}");
        }
    }
}
