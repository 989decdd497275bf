//! The directives with which a prompt determines the model's answer, the same for all APIs:
//!
//! | directive | what the model does |
//! | --- | --- |
//! | `[[text WORDS]]` | sends the words, one per chunk |
//! | `[[think WORDS]]` | sends the words as reasoning |
//! | `[[tool NAME JSON]]` | calls a tool; several calls are parallel; a JSON string is the input of a free-form tool |
//! | `[[slow N]]` | sends a text of N chunks |
//! | `[[sleep SECONDS]]` | waits between chunks; without a text, sends a hundred of them |
//! | `[[hold]]` | stops here until the test calls `release` |
//! | `[[cut]]` | breaks the connection in the middle of the answer |
//! | `[[error STATUS TIMES]]` | answers with an HTTP error, always or TIMES times, then with the rest |
//! | `[[empty]]` | sends an empty answer |
//! | `[[refuse]]` | refuses |
//! | `[[length]]` | ends the answer at the token limit |
//! | `[[then]]` | the rest answers the next request of the turn, after the tools have run |
//!
//! After tool results without further directives, the model sends `Done: ` and the shortened results. Without
//! directives it sends a greeting. An invalid directive is reported in the answer, so that the author of a test sees it.

use std::time::Duration;

use serde_json::Value;

#[derive(Clone, Debug, PartialEq)]
pub enum PromptDirective {
    Text(String),
    Think(String),
    Tool {
        name: String,
        input: Value,
    },
    /// A text of N chunks.
    Slow(usize),
    /// Pause between chunks.
    Sleep(Duration),
    /// Waits until the test releases it.
    Hold,
    /// Breaks the connection.
    Cut,
    Error {
        status: u16,
        /// Always if `None`.
        times: Option<usize>,
    },
    Empty,
    Refuse,
    /// Stops at the token limit.
    Length,
    /// The rest answers the next request.
    Then,
    /// Cannot be parsed.
    Bad(String),
}

/// Parses the directives of a prompt in order. The text in between is ignored.
#[must_use]
pub fn parse_directives(prompt: &str) -> Vec<PromptDirective> {
    let (mut found, mut rest) = (Vec::new(), prompt);
    while let Some((_, inner)) = rest.split_once("[[") {
        let (directive, after) = parse_directive(inner);
        found.extend(directive);
        rest = after;
    }
    found
}

/// Parses one directive and returns the remaining text. Unknown names are plain text.
fn parse_directive(inner: &str) -> (Option<PromptDirective>, &str) {
    if let Some(call) = inner.strip_prefix("tool ") {
        return parse_tool(call).map_or_else(|| bad_directive(inner), |(directive, after)| (Some(directive), after));
    }
    let Some((words, after)) = inner.split_once("]]") else { return (None, "") };
    let (name, argument) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    match parse_plain(name, argument) {
        Ok(directive) => (directive, after),
        Err(()) => bad_directive(inner),
    }
}

fn bad_directive(inner: &str) -> (Option<PromptDirective>, &str) {
    let (words, after) = inner.split_once("]]").unwrap_or((inner, ""));
    (Some(PromptDirective::Bad(words.to_owned())), after)
}

/// Parses a tool call. The JSON delimits itself, so its strings may contain anything, including directives.
fn parse_tool(call: &str) -> Option<(PromptDirective, &str)> {
    let (name, rest) = call.trim_start().split_once(char::is_whitespace)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let input = values.next()?.ok()?;
    let after = rest.get(values.byte_offset()..)?.trim_start().strip_prefix("]]")?;
    Some((PromptDirective::Tool { name: name.to_owned(), input }, after))
}

fn parse_plain(name: &str, argument: &str) -> Result<Option<PromptDirective>, ()> {
    let words = argument.to_owned();
    Ok(Some(match name {
        "text" => PromptDirective::Text(words),
        "think" if words.trim().is_empty() => PromptDirective::Think("Let me think about it.".to_owned()),
        "think" => PromptDirective::Think(words),
        "slow" => PromptDirective::Slow(words.trim().parse().map_err(drop)?),
        "sleep" => PromptDirective::Sleep(parse_seconds(argument)?),
        "error" => parse_error(argument)?,
        "hold" => PromptDirective::Hold,
        "cut" => PromptDirective::Cut,
        "empty" => PromptDirective::Empty,
        "refuse" => PromptDirective::Refuse,
        "length" => PromptDirective::Length,
        "then" => PromptDirective::Then,
        _ => return Ok(None),
    }))
}

fn parse_seconds(argument: &str) -> Result<Duration, ()> {
    let seconds: f64 = argument.trim().parse().map_err(drop)?;
    Duration::try_from_secs_f64(seconds).map_err(drop)
}

fn parse_error(argument: &str) -> Result<PromptDirective, ()> {
    let mut numbers = argument.split_whitespace();
    let status = numbers.next().ok_or(())?.parse().map_err(drop)?;
    let times = numbers.next().map(str::parse).transpose().map_err(drop)?;
    if (100..1000).contains(&status) { Ok(PromptDirective::Error { status, times }) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text_directive(words: &str) -> PromptDirective {
        PromptDirective::Text(words.to_owned())
    }

    #[test]
    fn directives_are_read_in_order() {
        let read = parse_directives(
            "please [[think hm]] and [[text héllo wörld 漢字]][[sleep 0.5]] [[error 429 2]] [[then]] [[cut]]",
        );
        let pause = PromptDirective::Sleep(Duration::from_millis(500));
        let error = PromptDirective::Error { status: 429, times: Some(2) };
        let think = PromptDirective::Think("hm".to_owned());
        assert_eq!(
            read,
            [think, text_directive("héllo wörld 漢字"), pause, error, PromptDirective::Then, PromptDirective::Cut]
        );
    }

    #[test]
    fn a_call_may_contain_what_ends_a_directive() {
        let inner = json!({ "prompt": "[[text inner]] [[1]]" });
        let read = parse_directives(&format!("[[tool Agent {inner}]] [[tool patch \"a]] b\" ]] [[text outer]]"));
        let tool = |name: &str, input: Value| PromptDirective::Tool { name: name.to_owned(), input };
        assert_eq!(read, [tool("Agent", inner), tool("patch", json!("a]] b")), text_directive("outer")]);
    }

    #[test]
    fn what_is_no_directive_is_left_alone() {
        assert_eq!(parse_directives("if [[ -f x ]]; then [[unknown word]] a[[0]] and [[text never closed"), []);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for wrong in ["[[tool shell {no json}]]", "[[sleep long]]", "[[error 12]]", "[[slow -1]]", "[[tool x {} ]"] {
            assert!(matches!(parse_directives(wrong).as_slice(), [PromptDirective::Bad(_)]), "{wrong}");
        }
    }
}
