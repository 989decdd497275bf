//! Field names and short texts of the recordings. Random records made from them get further into a parser than random
//! text.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use crate::{dice::SeededRng, recording::Recording};

/// Longest text that counts as a word: names of types, tools, states.
const MAX_WORD_BYTES: usize = 32;

#[derive(Clone, Debug, Default)]
pub struct RecordingVocabulary {
    pub keys: Vec<String>,
    pub words: Vec<String>,
}

impl RecordingVocabulary {
    pub fn from_recordings<'a>(recordings: impl IntoIterator<Item = &'a Recording>) -> Self {
        let (mut keys, mut words) = (BTreeSet::new(), BTreeSet::new());
        for recording in recordings {
            for line in recording.bytes.split(|byte| *byte == b'\n') {
                if let Ok(value) = serde_json::from_slice::<Value>(line) {
                    collect_words(&value, &mut keys, &mut words);
                }
            }
        }
        Self { keys: keys.into_iter().collect(), words: words.into_iter().collect() }
    }

    pub fn random_record(&self, dice: &mut SeededRng) -> Value {
        self.random_object(dice, 3)
    }

    fn random_object(&self, dice: &mut SeededRng, depth: usize) -> Value {
        let mut fields = Map::new();
        for _ in 0..=dice.next_below(6) {
            let key = dice.choose(&self.keys).cloned().unwrap_or_default();
            fields.insert(key, self.random_value(dice, depth));
        }
        // Most parsers look at a type first.
        if dice.once_in(2) {
            fields.insert("type".to_owned(), self.random_word(dice));
        }
        fields.into()
    }

    fn random_word(&self, dice: &mut SeededRng) -> Value {
        dice.choose(&self.words).cloned().unwrap_or_default().into()
    }

    /// Returns a random value, at most `depth` levels deep.
    pub fn random_value(&self, dice: &mut SeededRng, depth: usize) -> Value {
        match dice.next_below(if depth == 0 { 7 } else { 10 }) {
            0 => Value::Null,
            1 => dice.once_in(2).into(),
            2 => (dice.next_u64() % 1_000).into(),
            3 => odd_number(dice),
            4 => "".into(),
            5 | 6 => self.random_word(dice),
            7 => (0..dice.next_below(3)).map(|_| self.random_value(dice, depth - 1)).collect(),
            _ => self.random_object(dice, depth - 1),
        }
    }
}

fn odd_number(dice: &mut SeededRng) -> Value {
    let odd = [
        Value::from(-1),
        Value::from(i64::MIN),
        Value::from(u64::MAX),
        Value::from(0.5),
        Value::from(-1e300),
        Value::from(1e300),
    ];
    dice.choose(&odd).cloned().unwrap_or_default()
}

fn collect_words(value: &Value, keys: &mut BTreeSet<String>, words: &mut BTreeSet<String>) {
    match value {
        Value::String(text) if text.len() <= MAX_WORD_BYTES => {
            words.insert(text.clone());
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect_words(element, keys, words)),
        Value::Object(fields) => {
            for (key, field) in fields {
                if key.len() <= MAX_WORD_BYTES {
                    keys.insert(key.clone());
                }
                collect_words(field, keys, words);
            }
        }
        _ => {}
    }
}
