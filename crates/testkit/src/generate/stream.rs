//! A stream of one source, as long as one likes.

use std::io::{self, Write};

use serde_json::Value;
use switchboard_agents::Source;

use super::template::Template;
use crate::recording::Recording;

/// A stream of one source, as long as one likes.
pub struct Stream {
    templates: Vec<Template>,
    longest: Vec<u8>,
    round: u64,
}

impl Stream {
    /// A stream made of a source's recordings, if there are any.
    #[must_use]
    pub fn new(source: &Source, recordings: &[Recording]) -> Option<Self> {
        let mine: Vec<_> = recordings.iter().filter(|recording| recording.source.name == source.name).collect();
        let lines = mine.iter().flat_map(|recording| recording.bytes.split(|byte| *byte == b'\n'));
        let longest = lines.max_by_key(|line| line.len())?.to_vec();
        let templates: Vec<_> = mine.iter().map(|recording| Template::new(recording)).collect();
        Some(Self { templates, longest, round: 0 })
    }

    /// Writes recordings, again and again, until there are at least `size` bytes; says how many. A second call goes
    /// on with ids that were not used yet.
    ///
    /// # Errors
    /// If they cannot be written.
    pub fn write(&mut self, size: u64, out: &mut impl Write) -> io::Result<u64> {
        let (mut written, mut chunk) = (0, Vec::new());
        while written < size {
            for template in &self.templates {
                chunk.clear();
                template.write(self.round, &mut chunk);
                // Recordings that say nothing at all would go on for ever.
                written += u64::try_from(chunk.len().max(1)).unwrap_or(1);
                out.write_all(&chunk)?;
                if written >= size {
                    break;
                }
            }
            self.round += 1;
        }
        Ok(written)
    }

    /// One record of at least `size` bytes: a recorded one whose longest text is longer still.
    #[must_use]
    pub fn long_line(&self, size: usize) -> Vec<u8> {
        let mut record = serde_json::from_slice::<Value>(&self.longest).unwrap_or_default();
        match longest_text(&mut record) {
            Some(text) => *text = "0123456789abcde ".repeat(size / 16 + 1),
            None => record = Value::String("x".repeat(size)),
        }
        format!("{record}\n").into_bytes()
    }
}

fn longest_text(value: &mut Value) -> Option<&mut String> {
    match value {
        Value::String(text) => Some(text),
        Value::Array(elements) => elements.iter_mut().filter_map(longest_text).max_by_key(|text| text.len()),
        Value::Object(fields) => fields.values_mut().filter_map(longest_text).max_by_key(|text| text.len()),
        _ => None,
    }
}
