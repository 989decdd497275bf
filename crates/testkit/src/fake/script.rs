//! A fake's script: one step a line.

use std::time::Duration;

use anyhow::{Context as _, bail};

/// One thing that a fake does.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the table in the module's documentation says what they are")]
pub enum Step {
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

/// The steps of a script. Empty lines and those that begin with `#` are for people.
pub fn parse(script: &str) -> anyhow::Result<Vec<Step>> {
    let lines = script.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| step(line).with_context(|| format!("no step of a fake: {line}"))).collect()
}

fn step(line: &str) -> anyhow::Result<Step> {
    let (name, rest) = line.split_once(' ').unwrap_or((line, ""));
    let text = rest.to_owned();
    Ok(match name {
        "version" => Step::Version(text),
        "speak" => Step::Speak(text),
        "open" => Step::Open,
        "say" => Step::Say(text),
        "ask" => Step::Ask(text),
        "prompt" => Step::Prompt,
        "obey" => Step::Obey,
        "done" => Step::Done,
        "follow" => Step::Follow,
        "flood" => flood(rest)?,
        "burst" => Step::Burst(rest.trim().parse()?),
        "line" => Step::Line(rest.trim().parse()?),
        "print" => Step::Print(text),
        "part" => Step::Part(text),
        "garbage" => Step::Garbage(rest.trim().parse()?),
        "complain" => Step::Complain(text),
        "ignore" => Step::Ignore,
        "child" => Step::Child(rest.split_whitespace().map(str::to_owned).collect()),
        "close" if rest == "stdin" => Step::CloseStdin,
        "close" if rest == "stdout" => Step::CloseStdout,
        "sleep" => Step::Sleep(Duration::try_from_secs_f64(rest.trim().parse()?)?),
        "wait" => Step::Wait,
        "hang" => Step::Hang,
        "exit" => Step::Exit(rest.trim().parse()?),
        "crash" => Step::Crash,
        _ => bail!("there is no {name}"),
    })
}

fn flood(rest: &str) -> anyhow::Result<Step> {
    let (count, rate) = rest.split_once(' ').context("flood needs a number and a rate")?;
    Ok(Step::Flood { count: count.parse()?, rate: rate.trim().parse()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_read_line_by_line() {
        let steps =
            parse("# why\nopen\n  say a b \n\nflood 10 1000\nchild setsid orphan\nclose stdout\nexit 3").unwrap();
        let child = Step::Child(vec!["setsid".to_owned(), "orphan".to_owned()]);
        let flood = Step::Flood { count: 10, rate: 1000.0 };
        assert_eq!(steps, [Step::Open, Step::Say("a b ".to_owned()), flood, child, Step::CloseStdout, Step::Exit(3)]);
    }

    #[test]
    fn what_is_no_step_is_said() {
        for wrong in ["opne", "sleep x", "close stderr", "exit 1000"] {
            assert!(format!("{:#}", parse(wrong).unwrap_err()).contains(wrong), "{wrong}");
        }
    }
}
