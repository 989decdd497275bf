//! Lines that are missing, repeated, out of order, or not from here.

use super::Vocabulary;
use crate::dice::Dice;

/// Takes lines away, repeats them, moves them, adds strange ones, or stops in the middle.
pub fn spoil(lines: &mut Vec<Vec<u8>>, words: &Vocabulary, dice: &mut Dice) {
    let (at, other) = (dice.below(lines.len()), dice.below(lines.len()));
    match dice.below(7) {
        0 if !lines.is_empty() => {
            lines.remove(at);
        }
        1 => {
            if let Some(line) = lines.get(at).cloned() {
                lines.insert(other, line);
            }
        }
        2 if !lines.is_empty() => lines.swap(at, other),
        3 => lines.truncate(at),
        4 => shuffle(lines, at, dice),
        5 => lines.insert(at, strange(words, dice)),
        _ => {
            let from = at.min(other);
            let again: Vec<_> = lines.iter().skip(from).take(1 + dice.below(8)).cloned().collect();
            lines.splice(other..other, again);
        }
    }
}

/// Mixes some neighbours.
fn shuffle(lines: &mut [Vec<u8>], at: usize, dice: &mut Dice) {
    let end = lines.len().min(at + 6);
    let Some(window) = lines.get_mut(at..end) else { return };
    for i in 0..window.len() {
        window.swap(i, dice.below(window.len()));
    }
}

fn strange(words: &Vocabulary, dice: &mut Dice) -> Vec<u8> {
    let line = match dice.below(6) {
        0 => b"npm WARN something that is no record".to_vec(),
        1 => b"{\"half\":".to_vec(),
        2 => vec![0xff, 0x00, 0xfe],
        3 => br#"{"lone":"\ud800","lone":1}"#.to_vec(),
        4 => format!("{}{}", "[".repeat(300), "]".repeat(300)).into_bytes(),
        _ => words.record(dice).to_string().into_bytes(),
    };
    [line, b"\n".to_vec()].concat()
}
