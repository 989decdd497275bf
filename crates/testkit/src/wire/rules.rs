//! The rules of a dialect in addition to its schema, in `testdata/rules.json` of its directory:
//!
//! ```json
//! {"begins": PATTERN, "ends": PATTERN, "only_last": [PATTERN], "unique": "/id",
//!  "pairs": [{"open": PATTERN, "close": PATTERN, "by": "/toolId", "may_stay_open": false}],
//!  "answer": {"of": PATTERN, "at": "/content", "retracted": {"of": PATTERN, "at": "/text", "by": ["/id", "/id"]}},
//!  "usage": {"of": PATTERN, "tokens": ["/in", "/cached", "/out"], "output": "/out", "latest_by": "/turn",
//!            "with_tools": false}}
//! ```
//!
//! All are optional, and unknown ones are refused, because a misspelled rule would never be checked.
//! `begins` and `ends` match exactly one message, the first and the last. `only_last` matches the last message or none.
//! `unique` differs on every message. In a pair, `close` follows `open` with the same value at `by`, exactly once. The
//! joined texts of `answer` are the agent's text, without what was `retracted`: the text at `at`, which is at their end,
//! or all with the same value at the two pointers of `by`, in a message of `answer` and in the retraction. The figures of `usage` add up to the total usage; with `latest_by`,
//! only the last message of each value counts.

use std::{
    collections::{BTreeMap, HashSet},
    fs,
    path::PathBuf,
};

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use switchboard_event::{Event, EventBody};

use super::MessagePattern;
use crate::ledger::{InvariantViolation, must};
use crate::repository_root;
use crate::stream_checker::AnswerText;

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct DialectRules {
    begins: Option<MessagePattern>,
    ends: Option<MessagePattern>,
    only_last: Vec<MessagePattern>,
    unique: Option<String>,
    pairs: Vec<PairRule>,
    answer: Option<TextRule>,
    usage: Option<UsageRule>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct PairRule {
    open: MessagePattern,
    close: MessagePattern,
    by: String,
    #[serde(default)]
    may_stay_open: bool,
}

/// Location of tokens in messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct UsageRule {
    of: MessagePattern,
    tokens: Vec<String>,
    output: Option<String>,
    latest_by: Option<String>,
    /// Includes tokens of tools, where an agent counts them separately.
    #[serde(default)]
    with_tools: bool,
}

/// Location of text in messages.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TextRule {
    of: MessagePattern,
    at: String,
    retracted: Option<RetractionRule>,
}

/// How text is taken back.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RetractionRule {
    of: MessagePattern,
    at: Option<String>,
    by: Option<(String, String)>,
}

fn rules_path(dialect: &str) -> PathBuf {
    repository_root().join("crates/dialects/src").join(dialect).join("testdata/rules.json")
}

impl DialectRules {
    /// Loads the rules of a dialect. Every dialect must have some.
    pub(super) fn load(dialect: &str) -> anyhow::Result<Self> {
        let file = rules_path(dialect);
        let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        serde_json::from_str(&text).with_context(|| format!("{} is wrong", file.display()))
    }

    pub(super) fn check_messages(&self, messages: &[Value], answer: &AnswerText) -> Result<(), InvariantViolation> {
        self.check_ends(messages)?;
        self.check_unique(messages)?;
        self.pairs.iter().try_for_each(|pair| pair.check_messages(messages))?;
        match (&self.answer, answer) {
            (Some(text), AnswerText::Text(want)) => text.check_text(messages, want),
            _ => Ok(()),
        }
    }

    /// Checks that the messages report the usage of the events.
    pub(super) fn check_usage(&self, messages: &[Value], events: &[Event]) -> Result<(), InvariantViolation> {
        let Some(figures) = &self.usage else { return Ok(()) };
        let (want, got) = (figures.expected_usage(events, |_| true), figures.reported_usage(messages));
        // If figures are reported at the end of a turn, later ones are not reported at all.
        let in_turns = figures.expected_usage(events, |event| event.turn.is_some());
        let agrees = got == want || got == in_turns;
        must!(agrees, "messages tell what was used", "{got:?} tokens in all and out, not {want:?}");
        Ok(())
    }

    fn check_ends(&self, messages: &[Value]) -> Result<(), InvariantViolation> {
        let last = messages.len().saturating_sub(1);
        for (pattern, place, at) in [(&self.begins, "first", 0), (&self.ends, "last", last)] {
            let Some(pattern) = pattern else { continue };
            let found = matching_positions(messages, pattern);
            must!(
                found == [at],
                "one message begins a session and one ends it",
                "the {place} of {} is at {found:?}",
                messages.len()
            );
        }
        for pattern in &self.only_last {
            let found = matching_positions(messages, pattern);
            must!(
                found.iter().all(|at| *at == last),
                "some messages are only the last",
                "{found:?} of {}",
                messages.len()
            );
        }
        Ok(())
    }

    fn check_unique(&self, messages: &[Value]) -> Result<(), InvariantViolation> {
        let Some(pointer) = &self.unique else { return Ok(()) };
        let mut seen = HashSet::new();
        for message in messages.iter().filter(|message| !message.is_null()) {
            let id = value_key(message, pointer);
            must!(id != "null", "every message has an id", "{message}");
            must!(seen.insert(id), "no two messages have the same id", "{message}");
        }
        Ok(())
    }
}

impl PairRule {
    fn check_messages(&self, messages: &[Value]) -> Result<(), InvariantViolation> {
        let mut open = HashSet::new();
        for message in messages {
            if self.open.matches(message) {
                must!(
                    open.insert(value_key(message, &self.by)),
                    "what begins ends before it begins again",
                    "{message}"
                );
            }
            if self.close.matches(message) {
                let known = open.remove(&value_key(message, &self.by));
                must!(known, "what ends has begun, and ends once", "{message}");
            }
        }
        must!(open.is_empty() || self.may_stay_open, "what begins ends", "open: {open:?}");
        Ok(())
    }
}

impl UsageRule {
    /// Returns the usage of matching events.
    fn expected_usage(&self, events: &[Event], wanted: impl Fn(&Event) -> bool) -> (u64, u64) {
        let (mut tokens, mut output) = (0, 0);
        for event in events.iter().filter(|event| wanted(event)) {
            if let EventBody::Usage(usage) = &event.body
                && !usage.cumulative
            {
                let tools = usage.tool.filter(|_| self.with_tools).unwrap_or(0);
                tokens += usage.all_input() + usage.output + tools;
                output += usage.output;
            }
        }
        (tokens, self.output.as_ref().map_or(0, |_| output))
    }

    fn reported_usage(&self, messages: &[Value]) -> (u64, u64) {
        let mut latest = BTreeMap::new();
        for (at, message) in messages.iter().enumerate().filter(|(_, message)| self.of.matches(message)) {
            let by = self.latest_by.as_ref().map_or_else(|| at.to_string(), |pointer| value_key(message, pointer));
            let figure = |pointer: &String| message.pointer(pointer).and_then(Value::as_u64).unwrap_or(0);
            latest.insert(by, (self.tokens.iter().map(figure).sum::<u64>(), self.output.as_ref().map_or(0, figure)));
        }
        latest.values().fold((0, 0), |(tokens, output), (all, out)| (tokens + all, output + out))
    }
}

impl TextRule {
    #[must_use]
    pub fn join(&self, messages: &[Value]) -> String {
        let (mut texts, by) = (Vec::new(), self.retracted.as_ref().and_then(|rule| rule.by.as_ref()));
        for message in messages {
            if let Some(text) = message.pointer(&self.at).and_then(Value::as_str).filter(|_| self.of.matches(message)) {
                texts.push((by.map(|(id, _)| value_key(message, id)), text.to_owned()));
            }
            if let Some(rule) = self.retracted.as_ref().filter(|rule| rule.of.matches(message)) {
                rule.apply(message, &mut texts);
            }
        }
        texts.into_iter().map(|(_, text)| text).collect()
    }

    fn check_text(&self, messages: &[Value], want: &str) -> Result<(), InvariantViolation> {
        let got = self.join(messages);
        must!(got == want, "joined text is what the agent said", "{got:?}, not {want:?}");
        Ok(())
    }
}

impl RetractionRule {
    /// Removes the text that a message takes back. A text that was not sent is left in as a mark that fits no answer.
    fn apply(&self, message: &Value, texts: &mut Vec<(Option<String>, String)>) {
        if let Some((_, id)) = &self.by {
            let id = value_key(message, id);
            texts.retain(|(of, _)| of.as_ref() != Some(&id));
        }
        let Some(void) = self.at.as_ref().and_then(|at| message.pointer(at)?.as_str()) else { return };
        let joined: String = texts.drain(..).map(|(_, text)| text).collect();
        let kept = joined.strip_suffix(void).map_or_else(|| format!("{joined}<not sent: {void}>"), str::to_owned);
        texts.push((None, kept));
    }
}

fn matching_positions(messages: &[Value], pattern: &MessagePattern) -> Vec<usize> {
    messages.iter().enumerate().filter(|(_, message)| pattern.matches(message)).map(|(at, _)| at).collect()
}

fn value_key(message: &Value, pointer: &str) -> String {
    message.pointer(pointer).unwrap_or(&Value::Null).to_string()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::DialectRules;
    use crate::stream_checker::AnswerText;

    /// Returns the violated rule, if any.
    fn broken_rule(messages: &[(&str, &str)]) -> Option<&'static str> {
        let rules: DialectRules = serde_json::from_value(json!({
            "begins": {"/is": "begin"},
            "ends": {"/is": "end"},
            "only_last": [{"/is": "fail"}],
            "unique": "/id",
            "pairs": [{"open": {"/is": "open"}, "close": {"/is": "close"}, "by": "/text"}],
            "answer": {"of": {"/is": "say"}, "at": "/text", "retracted": {"of": {"/is": "retract"}, "at": "/text"}},
        }))
        .unwrap();
        let message = |(id, (is, text)): (usize, &(&str, &str))| json!({"id": id, "is": is, "text": text});
        let messages: Vec<Value> = messages.iter().enumerate().map(message).collect();
        rules.check_messages(&messages, &AnswerText::Text("ab".to_owned())).err().map(|broken| broken.rule)
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
            (&[begin, a, ("say", "c"), ("retract", "c"), b, end], None),
            (&[begin, a, ("retract", "c"), b, end], Some("joined text is what the agent said")),
            (&[begin, a, end], Some("joined text is what the agent said")),
            (&[begin, b, a, end], Some("joined text is what the agent said")),
            (&[begin, a, b, b, end], Some("joined text is what the agent said")),
        ] {
            assert_eq!(broken_rule(messages), want, "{messages:?}");
        }
    }

    #[test]
    fn ids_are_unique() {
        let rules: DialectRules = serde_json::from_value(json!({"unique": "/id"})).unwrap();
        let check =
            |messages: Value| rules.check_messages(messages.as_array().unwrap(), &AnswerText::Unclear("")).is_ok();
        assert!(check(json!([{"id": 1}, {"id": 2}])));
        assert!(!check(json!([{"id": 1}, {"id": 1}])));
        assert!(!check(json!([{"id": 1}, {}])));
    }
}
