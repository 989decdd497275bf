//! A whole stream, spoiled.

use super::{Vocabulary, bytes, json, lines};
use crate::dice::Dice;

/// Spoils a stream in one to four ways.
#[must_use]
pub fn mutate(stream: &[u8], words: &Vocabulary, dice: &mut Dice) -> Vec<u8> {
    let mut lines: Vec<Vec<u8>> = stream.split_inclusive(|byte| *byte == b'\n').map(<[u8]>::to_vec).collect();
    for _ in 0..=dice.below(4) {
        match dice.below(10) {
            0..6 => json::spoil_line(&mut lines, words, dice),
            6..9 => lines::spoil(&mut lines, words, dice),
            _ => bytes::spoil_line(&mut lines, dice),
        }
    }
    let mut stream = lines.concat();
    if dice.once_in(8) {
        stream.truncate(dice.below(stream.len() + 1));
    }
    stream
}
