//! Ways to spoil a stream: what a broken pipe, another version of the agent or a broken agent might send. The
//! same dice always spoil it the same way.

mod bytes;
mod json;
mod lines;
mod vocabulary;

pub use json::with_unknown_fields;
pub use vocabulary::Vocabulary;

use crate::dice::Dice;

/// The name of the fields that [`with_unknown_fields`] adds.
pub const UNKNOWN_FIELD: &str = "zz_unknown";

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
