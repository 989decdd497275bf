//! The words of the recordings: field names and short texts. Random records made of them get further into a reader
//! than random text does.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{dice::Dice, recording::Recording};

/// The longest text that is a word: names of types, tools, states.
const WORD: usize = 32;

/// Field names and short texts.
#[derive(Clone, Debug, Default)]
pub struct Vocabulary {
    /// The names of fields.
    pub keys: Vec<String>,
    /// Short texts.
    pub words: Vec<String>,
}

impl Vocabulary {
    /// The words of some recordings.
    pub fn of<'a>(recordings: impl IntoIterator<Item = &'a Recording>) -> Self {
        let (mut keys, mut words) = (BTreeSet::new(), BTreeSet::new());
        for recording in recordings {
            for line in recording.bytes.split(|byte| *byte == b'\n') {
                if let Ok(value) = serde_json::from_slice::<Value>(line) {
                    collect(&value, &mut keys, &mut words);
                }
            }
        }
        Self { keys: keys.into_iter().collect(), words: words.into_iter().collect() }
    }

    /// A random record.
    pub fn record(&self, dice: &mut Dice) -> Value {
        self.object(dice, 3)
    }

    fn object(&self, dice: &mut Dice, depth: usize) -> Value {
        let mut fields = Map::new();
        for _ in 0..=dice.below(6) {
            let key = dice.pick(&self.keys).cloned().unwrap_or_default();
            fields.insert(key, self.value(dice, depth));
        }
        // Most readers look at a type first.
        if dice.once_in(2) {
            fields.insert("type".to_owned(), self.word(dice));
        }
        fields.into()
    }

    fn word(&self, dice: &mut Dice) -> Value {
        dice.pick(&self.words).cloned().unwrap_or_default().into()
    }

    /// A random value, at most so many levels deep.
    pub fn value(&self, dice: &mut Dice, depth: usize) -> Value {
        match dice.below(if depth == 0 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => dice.once_in(2).into(),
            2 => (dice.roll() % 1_000).into(),
            3 => odd_number(dice),
            4 => "".into(),
            5 | 6 => self.word(dice),
            7 => (0..dice.below(3)).map(|_| self.value(dice, depth - 1)).collect(),
            _ => self.object(dice, depth - 1),
        }
    }
}

fn odd_number(dice: &mut Dice) -> Value {
    let odd = [
        Value::from(-1),
        Value::from(i64::MIN),
        Value::from(u64::MAX),
        Value::from(0.5),
        Value::from(-1e300),
        Value::from(1e300),
    ];
    dice.pick(&odd).cloned().unwrap_or_default()
}

fn collect(value: &Value, keys: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() <= WORD => {
            words.insert(text.clone());
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, keys, words)),
        Value::Object(fields) => {
            for (key, field) in fields {
                if key.len() <= WORD {
                    keys.insert(key.clone());
                }
                collect(field, keys, words);
            }
        }
        _ => {}
    }
}
