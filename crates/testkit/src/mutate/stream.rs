//! Mutates a whole stream.

use super::{RecordingVocabulary, bytes, json, lines};
use crate::dice::SeededRng;

/// Mutates a stream in one to four ways.
#[must_use]
pub fn mutate_stream(stream: &[u8], words: &RecordingVocabulary, dice: &mut SeededRng) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = stream.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=dice.next_below(4) {
        match dice.next_below(10) {
            0..6 => json::corrupt_record(&mut lines, words, dice),
            6..9 => lines::corrupt_lines(&mut lines, words, dice),
            _ => bytes::corrupt_bytes(&mut lines, dice),
        }
    }
    let mut stream = lines.concat();
    if dice.once_in(8) {
        stream.truncate(dice.next_below(stream.len() + 1));
    }
    stream
}
