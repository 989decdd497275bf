//! An endless stream of one source.

use std::io::{self, Write};

use serde_json::Value;
use switchboard_agents::RecordSource;

use super::template::RecordingTemplate;
use crate::recording::Recording;

pub struct EndlessStream {
    templates: Vec<RecordingTemplate>,
    longest: Vec<u8>,
    round: u64,
}

impl EndlessStream {
    /// Creates a stream from a source's recordings, if there are any.
    #[must_use]
    pub fn new(source: &RecordSource, recordings: &[Recording]) -> Option<Self> {
        let mine: Vec<_> = recordings.iter().filter(|recording| recording.source.name == source.name).collect();
        let lines = mine.iter().flat_map(|recording| recording.bytes.split(|byte| *byte == b'\n'));
        let longest = lines.max_by_key(|line| line.len())?.to_vec();
        let templates: Vec<_> = mine.iter().map(|recording| RecordingTemplate::new(recording)).collect();
        Some(Self { templates, longest, round: 0 })
    }

    /// Writes recordings repeatedly until there are at least `size` bytes, and returns their number. The next call
    /// continues with unused ids.
    pub fn write(&mut self, size: u64, out: &mut impl Write) -> io::Result<u64> {
        let (mut written, mut chunk) = (0, Vec::new());
        while written < size {
            for template in &self.templates {
                chunk.clear();
                template.write(self.round, &mut chunk);
                // Empty recordings must not loop forever.
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

    /// Returns one record of at least `size` bytes: a recorded one with a longer text.
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
