//! Small streams in the shapes that older descriptions of the agents have, and what must come of them. The cases are in
//! `examples.json`:
//!
//! * `project_messages` are the types of the messages. Those in `may_come_unasked` and `optional` are left out where the case
//!   does not name them, and a type that `may_repeat` counts once in a row.
//! * `text` is the joined answer.
//! * `fields` are values in those messages, by the number of the message (negative from the end) and a path.

use serde::Deserialize;
use serde_json::{Map, Value};
use switchboard_dialects::Dialect;
use switchboard_testkit::recording::{project_messages, stream_events};
use switchboard_testkit::wire::TextRule;

use crate::verdict;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleFile {
    to: String,
    #[serde(rename = "type")]
    kind: String,
    may_come_unasked: Vec<String>,
    may_repeat: String,
    text: TextRule,
    cases: Vec<ExampleCase>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ExampleCase {
    name: String,
    from: String,
    native: Vec<Value>,
    messages: Vec<String>,
    text: Option<String>,
    #[serde(default)]
    optional: Vec<String>,
    #[serde(default)]
    fields: Map<String, Value>,
}

#[test]
fn examples_give_what_they_should() {
    let examples: ExampleFile = serde_json::from_str(include_str!("examples.json")).unwrap();
    let dialect = switchboard_dialects::find_dialect(&examples.to).unwrap();
    let failed = examples.cases.iter().filter_map(|case| {
        let why = examples.check(case, dialect).err()?;
        Some(format!("{}: {why}", case.name))
    });
    verdict("examples", failed);
}

impl ExampleFile {
    fn check(&self, case: &ExampleCase, dialect: &Dialect) -> Result<(), String> {
        let source = switchboard_agents::find_source(&case.from).ok_or("no such source")?;
        let lines: String = case.native.iter().map(|record| format!("{record}\n")).collect();
        let all = project_messages(&mut *(dialect.projection)(), &stream_events(source, lines.as_bytes()));
        let all: Vec<Value> = all.iter().map(|message| serde_json::from_slice(message).unwrap()).collect();
        let shown: Vec<&Value> = all.iter().filter(|message| !self.is_left_out(case, message)).collect();
        let mut types: Vec<&str> = shown.iter().map(|message| self.kind(message)).collect();
        types.dedup_by(|a, b| a == b && *a == self.may_repeat);
        if types != case.messages {
            return Err(format!("messages are {types:?}, not {:?}", case.messages));
        }
        match &case.text {
            Some(want) if self.text.join(&all) != *want => {
                return Err(format!("the text is {:?}, not {want:?}", self.text.join(&all)));
            }
            _ => {}
        }
        case.fields.iter().try_for_each(|(path, want)| check_field(&shown, path, want))
    }

    fn kind<'a>(&self, message: &'a Value) -> &'a str {
        message.pointer(&self.kind).and_then(Value::as_str).unwrap_or_default()
    }

    fn is_left_out(&self, case: &ExampleCase, message: &Value) -> bool {
        let kind = self.kind(message).to_owned();
        case.optional.contains(&kind) || self.may_come_unasked.contains(&kind) && !case.messages.contains(&kind)
    }
}

fn check_field(messages: &[&Value], path: &str, want: &Value) -> Result<(), String> {
    let (number, keys) = path.split_once('.').unwrap();
    let number: isize = number.parse().unwrap();
    let at = if number < 0 { messages.len().checked_add_signed(number) } else { usize::try_from(number).ok() };
    let message = at.and_then(|at| messages.get(at)).ok_or(format!("{path}: no such message"))?;
    let got = message.pointer(&format!("/{}", keys.replace('.', "/"))).unwrap_or(&Value::Null);
    if got == want { Ok(()) } else { Err(format!("{path} is {got}, not {want}")) }
}
