//! Records that are nested deeper than any stack is: in every field that an agent is known to write, one at a time.

use std::{collections::HashSet, thread};

use serde_json::Value;
use switchboard_testkit::{ledger::InvariantViolation, parallel, recording::Recording, skimmed};

use super::Suite;
use crate::verdict::verdict;

/// How deep they are. Whatever calls itself once a level needs more than the stack has.
const DEPTH: usize = 3_000;
const STACK: usize = 256 << 10;

/// Where the deep value goes.
const MARK: &str = "here it goes deep";

/// Fields that say what a record is.
const KINDS: &[&str] = &["type", "method", "table", "sessionUpdate"];

#[test]
fn deep_nesting_does_no_harm() {
    let suite = Suite::new();
    let cases = cases(&suite.recordings);
    let found = parallel::map(&cases, |case| on_a_small_stack(|| case.check(&suite)));
    verdict("deep nesting", found.into_iter().flatten());
}

/// A field of a record.
struct Case<'a> {
    recording: &'a Recording,
    /// The record, with the mark as the value of the field.
    record: String,
    field: Field,
}

/// Where a field is.
struct Field {
    pointer: String,
    /// Its name, and what kind of record it is in: the same field is tried once.
    shape: String,
    name: String,
    /// It holds JSON in a text.
    is_text: bool,
}

/// Every field of every source, once.
fn cases(recordings: &[Recording]) -> Vec<Case<'_>> {
    let (mut seen, mut cases) = (HashSet::new(), Vec::new());
    for recording in recordings {
        for line in recording.bytes.split(|byte| *byte == b'\n') {
            let Ok(record) = serde_json::from_slice::<Value>(line) else { continue };
            let mut fields = Vec::new();
            collect(&record, "", recording.source.name, &mut fields);
            for field in fields.into_iter().filter(|field| seen.insert(field.shape.clone())) {
                let mut record = record.clone();
                *record.pointer_mut(&field.pointer).unwrap() = MARK.into();
                cases.push(Case { recording, record: record.to_string(), field });
            }
        }
    }
    cases
}

fn collect(value: &Value, pointer: &str, shape: &str, fields: &mut Vec<Field>) {
    if let Value::Array(elements) = value {
        for (number, element) in elements.iter().enumerate() {
            collect(element, &format!("{pointer}/{number}"), shape, fields);
        }
    }
    let Value::Object(object) = value else { return };
    let kinds = KINDS.iter().filter_map(|kind| object.get(*kind)?.as_str()).collect::<Vec<_>>().join(",");
    for (name, value) in object {
        let pointer = format!("{pointer}/{}", name.replace('~', "~0").replace('/', "~1"));
        let shape = format!("{shape} {kinds}/{name}");
        let is_text = value.as_str().is_some_and(|text| text.starts_with(['{', '[']));
        collect(value, &pointer, &shape, fields);
        fields.push(Field { pointer, shape, name: name.clone(), is_text });
    }
}

impl Case<'_> {
    /// What is wrong with it, in any of the ways to be deep.
    fn check(&self, suite: &Suite) -> Option<String> {
        let name = serde_json::to_string(&self.field.name).unwrap();
        let nested = |open: &str, close: &str| open.repeat(DEPTH) + "\"x\"" + &close.repeat(DEPTH);
        let ways = [nested("[", "]"), nested(&format!("{{{name}:"), "}"), nested(&format!("[{{{name}:"), "}]")];
        let broken = ways.into_iter().find_map(|way| self.check_way(&way, suite).err())?;
        Some(format!("{} {}: {broken}", self.recording, self.field.shape))
    }

    fn check_way(&self, deep: &str, suite: &Suite) -> Result<(), InvariantViolation> {
        let deep = if self.field.is_text { serde_json::to_string(deep).unwrap() } else { deep.to_owned() };
        let bytes = self.record.replace(&format!("\"{MARK}\""), &deep).into_bytes();
        assert!(bytes.len() > DEPTH, "the mark is not in {}", self.record);
        suite.checker.check_survival(self.recording.source, &bytes)?;
        skimmed::check_log_scan(&Recording { bytes, ..self.recording.clone() })
    }
}

/// The work overflows the stack here if it can anywhere.
fn on_a_small_stack<R: Send>(work: impl FnOnce() -> R + Send) -> R {
    thread::scope(|scope| {
        let thread = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work).unwrap();
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}
