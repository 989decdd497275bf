//! Lines that are missing, repeated, reordered or foreign.

use super::RecordingVocabulary;
use crate::dice::SeededRng;

/// Removes, repeats, moves or inserts lines, or truncates the stream.
pub fn corrupt_lines(lines: &mut Vec<Vec<u8>>, words: &RecordingVocabulary, dice: &mut SeededRng) {
    let (at, other) = (dice.next_below(lines.len()), dice.next_below(lines.len()));
    match dice.next_below(7) {
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
        4 => shuffle_window(lines, at, dice),
        5 => lines.insert(at, strange_line(words, dice)),
        _ => {
            let from = at.min(other);
            let again: Vec<_> = lines.iter().skip(from).take(1 + dice.next_below(8)).cloned().collect();
            lines.splice(other..other, again);
        }
    }
}

fn shuffle_window(lines: &mut [Vec<u8>], at: usize, dice: &mut SeededRng) {
    let end = lines.len().min(at + 6);
    let Some(window) = lines.get_mut(at..end) else { return };
    for i in 0..window.len() {
        window.swap(i, dice.next_below(window.len()));
    }
}

fn strange_line(words: &RecordingVocabulary, dice: &mut SeededRng) -> Vec<u8> {
    let line = match dice.next_below(6) {
        0 => b"npm WARN something that is no record".to_vec(),
        1 => b"{\"half\":".to_vec(),
        2 => vec![0xff, 0x00, 0xfe],
        3 => br#"{"lone":"\ud800","lone":1}"#.to_vec(),
        4 => format!("{}{}", "[".repeat(300), "]".repeat(300)).into_bytes(),
        _ => words.random_record(dice).to_string().into_bytes(),
    };
    [line, b"\n".to_vec()].concat()
}
