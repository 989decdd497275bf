//! The rules that a dialect states about itself beside its schema, in `testdata/rules.json` of its folder:
//!
//! ```json
//! {"begins": PATTERN, "ends": PATTERN, "only_last": [PATTERN], "unique": "/id",
//!  "pairs": [{"open": PATTERN, "close": PATTERN, "by": "/toolId", "may_stay_open": false}],
//!  "answer": {"of": PATTERN, "at": "/content"},
//!  "usage": {"of": PATTERN, "tokens": ["/in", "/cached", "/out"], "output": "/out", "latest_by": "/turn",
//!            "with_tools": false}}
//! ```
//!
//! All are optional, and unknown ones are refused: a rule that is misspelt would hold for ever.
//! `begins` and `ends` fit exactly one message, the first and the last. What `only_last` fits is the last message
//! or none. `unique` is different on every message. In a pair, `close` follows `open` with the same value at
//! `by`, exactly once. The texts of `answer`, joined, are
//! what the agent said. The figures of `usage`, added up, are what was used; with `latest_by`, only the last message of
//! each value there counts.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::PathBuf,
};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use switchboard_event::{Body, Event};

use super::pattern::Pattern;
use crate::{
    ledger::{Broken, must},
    repository,
    text::Answer,
};

/// What a dialect states about itself.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Rules {
    begins: Option<Pattern>,
    ends: Option<Pattern>,
    only_last: Vec<Pattern>,
    unique: Option<String>,
    pairs: Vec<Pair>,
    answer: Option<Text>,
    usage: Option<UsageFigures>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Pair {
    open: Pattern,
    close: Pattern,
    by: String,
    #[serde(default)]
    may_stay_open: bool,
}

/// Tokens in messages: which messages have them, and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageFigures {
    of: Pattern,
    tokens: Vec<String>,
    output: Option<String>,
    latest_by: Option<String>,
    /// They include those of tools, where an agent counts these apart.
    #[serde(default)]
    with_tools: bool,
}

/// Text in messages: which messages have it, and where.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Text {
    of: Pattern,
    at: String,
}

/// Where a dialect's rules are.
fn rules_file(dialect: &str) -> PathBuf {
    repository().join("crates/dialects/src").join(dialect).join("testdata/rules.json")
}

impl Rules {
    /// The rules of a dialect. One without rules is not tested enough.
    pub(super) fn of(dialect: &str) -> anyhow::Result<Self> {
        let file = rules_file(dialect);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is wrong", file.display()))
    }

    /// Checks the messages of one session.
    pub(super) fn check(&self, messages: &[Value], answer: &Answer) -> Result<(), Broken> {
        self.check_ends(messages)?;
        self.check_unique(messages)?;
        self.pairs.iter().try_for_each(|pair| pair.check(messages))?;
        match (&self.answer, answer) {
            (Some(text), Answer::Text(want)) => text.check(messages, want),
            _ => Ok(()),
        }
    }

    /// Checks that the messages of one session tell what its events say was used.
    pub(super) fn check_usage(&self, messages: &[Value], events: &[Event]) -> Result<(), Broken> {
        let Some(figures) = &self.usage else { return Ok(()) };
        let (want, got) = (figures.expected(events, |_| true), figures.add_up(messages));
        // Where figures stand at the end of a turn, those that come after the last one stand nowhere.
        let in_turns = figures.expected(events, |event| event.turn.is_some());
        let agrees = got == want || got == in_turns;
        must!(agrees, "messages tell what was used", "{got:?} tokens in all and out, not {want:?}");
        Ok(())
    }

    fn check_ends(&self, messages: &[Value]) -> Result<(), Broken> {
        let last = messages.len().saturating_sub(1);
        for (pattern, place, at) in [(&self.begins, "first", 0), (&self.ends, "last", last)] {
            let Some(pattern) = pattern else { continue };
            let found = places(messages, pattern);
            must!(
                found == [at],
                "one message begins a session and one ends it",
                "the {place} of {} is at {found:?}",
                messages.len()
            );
        }
        for pattern in &self.only_last {
            let found = places(messages, pattern);
            must!(
                found.iter().all(|at| *at == last),
                "some messages are only the last",
                "{found:?} of {}",
                messages.len()
            );
        }
        Ok(())
    }

    fn check_unique(&self, messages: &[Value]) -> Result<(), Broken> {
        let Some(pointer) = &self.unique else { return Ok(()) };
        let mut seen = HashSet::new();
        for message in messages.iter().filter(|message| !message.is_null()) {
            let id = key(message, pointer);
            must!(id != "null", "every message has an id", "{message}");
            must!(seen.insert(id), "no two messages have the same id", "{message}");
        }
        Ok(())
    }
}

impl Pair {
    fn check(&self, messages: &[Value]) -> Result<(), Broken> {
        let mut open = HashSet::new();
        for message in messages {
            if self.open.fits(message) {
                must!(open.insert(key(message, &self.by)), "what begins ends before it begins again", "{message}");
            }
            if self.close.fits(message) {
                let known = open.remove(&key(message, &self.by));
                must!(known, "what ends has begun, and ends once", "{message}");
            }
        }
        must!(open.is_empty() || self.may_stay_open, "what begins ends", "open: {open:?}");
        Ok(())
    }
}

impl UsageFigures {
    /// What some events say was used.
    fn expected(&self, events: &[Event], wanted: impl Fn(&Event) -> bool) -> (u64, u64) {
        let (mut tokens, mut output) = (0, 0);
        for event in events.iter().filter(|event| wanted(event)) {
            if let Body::Usage(usage) = &event.body
                && !usage.cumulative
            {
                let tools = usage.tool.filter(|_| self.with_tools).unwrap_or(0);
                tokens += usage.all_input() + usage.output + tools;
                output += usage.output;
            }
        }
        (tokens, self.output.as_ref().map_or(0, |_| output))
    }

    fn add_up(&self, messages: &[Value]) -> (u64, u64) {
        let mut latest = BTreeMap::new();
        for (at, message) in messages.iter().enumerate().filter(|(_, message)| self.of.fits(message)) {
            let by = self.latest_by.as_ref().map_or_else(|| at.to_string(), |pointer| key(message, pointer));
            let figure = |pointer: &String| message.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
            latest.insert(by, (self.tokens.iter().map(figure).sum::<u64>(), self.output.as_ref().map_or(0, figure)));
        }
        latest.values().fold((0, 0), |(tokens, output), (all, out)| (tokens + all, output + out))
    }
}

impl Text {
    /// All of it, in its order.
    #[must_use]
    pub fn join(&self, messages: &[Value]) -> String {
        let texts = messages.iter().filter(|message| self.of.fits(message));
        texts.filter_map(|message| message.pointer(&self.at)?.as_str()).collect()
    }

    fn check(&self, messages: &[Value], want: &str) -> Result<(), Broken> {
        let got = self.join(messages);
        must!(got == want, "joined text is what the agent said", "{got:?}, not {want:?}");
        Ok(())
    }
}

fn places(messages: &[Value], pattern: &Pattern) -> Vec<usize> {
    messages.iter().enumerate().filter(|(_, message)| pattern.fits(message)).map(|(at, _)| at).collect()
}

fn key(message: &Value, pointer: &str) -> String {
    message.pointer(pointer).unwrap_or(&Value::Null).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::Rules;
    use crate::text::Answer;

    /// What is broken, if anything.
    fn broken(messages: &[(&str, &str)]) -> Option<&'static str> {
        let rules: Rules = serde_json::from_value(json!({
            "begins": {"/is": "begin"},
            "ends": {"/is": "end"},
            "only_last": [{"/is": "fail"}],
            "unique": "/id",
            "pairs": [{"open": {"/is": "open"}, "close": {"/is": "close"}, "by": "/text"}],
            "answer": {"of": {"/is": "say"}, "at": "/text"},
        }))
        .unwrap();
        let message = |(id, (is, text)): (usize, &(&str, &str))| json!({"id": id, "is": is, "text": text});
        let messages: Vec<Value> = messages.iter().enumerate().map(message).collect();
        rules.check(&messages, &Answer::Text("ab".to_owned())).err().map(|broken| broken.rule)
    }

    #[test]
    fn rules_find_what_they_are_for() {
        let (begin, end, a, b) = (("begin", ""), ("end", ""), ("say", "a"), ("say", "b"));
        let (open, close) = (("open", "x"), ("close", "x"));
        for (messages, want) in [
            (&[begin, a, b, end][..], None),
            (&[begin, a, open, b, close, open, close, end], None),
            (&[a, b, end], Some("one message begins a session and one ends it")),
            (&[begin, a, b], Some("one message begins a session and one ends it")),
            (&[begin, a, b, end, end], Some("one message begins a session and one ends it")),
            (&[begin, a, ("fail", ""), b, end], Some("some messages are only the last")),
            (&[begin, a, b, open, end], Some("what begins ends")),
            (&[begin, a, b, close, end], Some("what ends has begun, and ends once")),
            (&[begin, a, b, open, close, close, end], Some("what ends has begun, and ends once")),
            (&[begin, a, b, open, open, close, end], Some("what begins ends before it begins again")),
            (&[begin, a, end], Some("joined text is what the agent said")),
            (&[begin, b, a, end], Some("joined text is what the agent said")),
            (&[begin, a, b, b, end], Some("joined text is what the agent said")),
        ] {
            assert_eq!(broken(messages), want, "{messages:?}");
        }
    }

    #[test]
    fn ids_are_unique() {
        let rules: Rules = serde_json::from_value(json!({"unique": "/id"})).unwrap();
        let check = |messages: Value| rules.check(messages.as_array().unwrap(), &Answer::Unclear("")).is_ok();
        assert!(check(json!([{"id": 1}, {"id": 2}])));
        assert!(!check(json!([{"id": 1}, {"id": 1}])));
        assert!(!check(json!([{"id": 1}, {}])));
    }
}
