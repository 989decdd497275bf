//! The language in which a prompt says what the model shall answer. The same for all APIs:
//!
//! | directive | what the model does |
//! | --- | --- |
//! | `[[text WORDS]]` | says the words, a word a chunk |
//! | `[[think WORDS]]` | thinks the words before it goes on |
//! | `[[tool NAME JSON]]` | calls a tool; several are called in parallel; a JSON string is the input of a free-form tool |
//! | `[[slow N]]` | says a text of N chunks |
//! | `[[sleep SECONDS]]` | waits that long between chunks; if there is nothing else, says a hundred |
//! | `[[hold]]` | stops here until the test calls `release` |
//! | `[[cut]]` | the connection breaks off in the middle of the answer |
//! | `[[error STATUS TIMES]]` | answers with an HTTP error, always or that many times, and only then with the rest |
//! | `[[empty]]` | answers nothing |
//! | `[[refuse]]` | refuses |
//! | `[[length]]` | the answer is cut short by the limit of tokens |
//! | `[[then]]` | what follows answers the next request of the same turn, that is, after the tools have run |
//!
//! After tool results with nothing left to do, the model says `Done: ` and the results in short. Without directives it
//! says a greeting. A directive that cannot be read is answered with a complaint, so that a test's author sees it.

use std::time::Duration;

use serde_json::Value;

/// One thing that a prompt asks for.
#[derive(Clone, Debug, PartialEq)]
pub enum Directive {
    /// Say this.
    Text(String),
    /// Think this.
    Think(String),
    /// Call a tool.
    Tool {
        /// Its name.
        name: String,
        /// What it is called with.
        input: Value,
    },
    /// Say that many chunks.
    Slow(usize),
    /// Wait between chunks.
    Sleep(Duration),
    /// Wait for the test.
    Hold,
    /// Break the connection off.
    Cut,
    /// Answer with an HTTP error.
    Error {
        /// The status.
        status: u16,
        /// How often; always if it is not said.
        times: Option<usize>,
    },
    /// Answer nothing.
    Empty,
    /// Refuse.
    Refuse,
    /// Stop for want of tokens.
    Length,
    /// The rest is for the next request.
    Then,
    /// Could not be read.
    Bad(String),
}

/// The directives of a prompt, in order. What stands between them is for people.
#[must_use]
pub fn parse(prompt: &str) -> Vec<Directive> {
    let (mut found, mut rest) = (Vec::new(), prompt);
    while let Some((_, inner)) = rest.split_once("[[") {
        let (directive, after) = one(inner);
        found.extend(directive);
        rest = after;
    }
    found
}

/// The directive that begins here, and what is behind it. A word that is no directive is text like any other.
fn one(inner: &str) -> (Option<Directive>, &str) {
    if let Some(call) = inner.strip_prefix("tool ") {
        return tool(call).map_or_else(|| bad(inner), |(directive, after)| (Some(directive), after));
    }
    let Some((words, after)) = inner.split_once("]]") else { return (None, "") };
    let (name, argument) = words.split_once(char::is_whitespace).unwrap_or((words, ""));
    match plain(name, argument) {
        Ok(directive) => (directive, after),
        Err(()) => bad(inner),
    }
}

fn bad(inner: &str) -> (Option<Directive>, &str) {
    let (words, after) = inner.split_once("]]").unwrap_or((inner, ""));
    (Some(Directive::Bad(words.to_owned())), after)
}

/// A call: the JSON says itself where it ends, so its strings may contain anything, other directives too.
fn tool(call: &str) -> Option<(Directive, &str)> {
    let (name, rest) = call.trim_start().split_once(char::is_whitespace)?;
    let mut values = serde_json::Deserializer::from_str(rest).into_iter::<Value>();
    let input = values.next()?.ok()?;
    let after = rest.get(values.byte_offset()..)?.trim_start().strip_prefix("]]")?;
    Some((Directive::Tool { name: name.to_owned(), input }, after))
}

fn plain(name: &str, argument: &str) -> Result<Option<Directive>, ()> {
    let words = argument.to_owned();
    Ok(Some(match name {
        "text" => Directive::Text(words),
        "think" if words.trim().is_empty() => Directive::Think("Let me think about it.".to_owned()),
        "think" => Directive::Think(words),
        "slow" => Directive::Slow(words.trim().parse().map_err(drop)?),
        "sleep" => Directive::Sleep(seconds(argument)?),
        "error" => error(argument)?,
        "hold" => Directive::Hold,
        "cut" => Directive::Cut,
        "empty" => Directive::Empty,
        "refuse" => Directive::Refuse,
        "length" => Directive::Length,
        "then" => Directive::Then,
        _ => return Ok(None),
    }))
}

fn seconds(argument: &str) -> Result<Duration, ()> {
    let seconds: f64 = argument.trim().parse().map_err(drop)?;
    Duration::try_from_secs_f64(seconds).map_err(drop)
}

fn error(argument: &str) -> Result<Directive, ()> {
    let mut numbers = argument.split_whitespace();
    let status = numbers.next().ok_or(())?.parse().map_err(drop)?;
    let times = numbers.next().map(str::parse).transpose().map_err(drop)?;
    if (100..1000).contains(&status) { Ok(Directive::Error { status, times }) } else { Err(()) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn text(words: &str) -> Directive {
        Directive::Text(words.to_owned())
    }

    #[test]
    fn directives_are_read_in_order() {
        let read =
            parse("please [[think hm]] and [[text héllo wörld 漢字]][[sleep 0.5]] [[error 429 2]] [[then]] [[cut]]");
        let pause = Directive::Sleep(Duration::from_millis(500));
        let error = Directive::Error { status: 429, times: Some(2) };
        let think = Directive::Think("hm".to_owned());
        assert_eq!(read, [think, text("héllo wörld 漢字"), pause, error, Directive::Then, Directive::Cut]);
    }

    #[test]
    fn a_call_may_contain_what_ends_a_directive() {
        let inner = json!({ "prompt": "[[text inner]] [[1]]" });
        let read = parse(&format!("[[tool Agent {inner}]] [[tool patch \"a]] b\" ]] [[text outer]]"));
        let tool = |name: &str, input: Value| Directive::Tool { name: name.to_owned(), input };
        assert_eq!(read, [tool("Agent", inner), tool("patch", json!("a]] b")), text("outer")]);
    }

    #[test]
    fn what_is_no_directive_is_left_alone() {
        assert_eq!(parse("if [[ -f x ]]; then [[unknown word]] a[[0]] and [[text never closed"), []);
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for wrong in ["[[tool shell {no json}]]", "[[sleep long]]", "[[error 12]]", "[[slow -1]]", "[[tool x {} ]"] {
            assert!(matches!(parse(wrong).as_slice(), [Directive::Bad(_)]), "{wrong}");
        }
    }
}
