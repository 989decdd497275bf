//! Corrupted bytes.

use crate::dice::SeededRng;

/// Changes, inserts or removes bytes of a line: invalid JSON, invalid UTF-8, NUL, an embedded newline.
pub fn corrupt_bytes(lines: &mut [Vec<u8>], dice: &mut SeededRng) {
    let at = dice.next_below(lines.len());
    let Some(line) = lines.get_mut(at) else { return };
    for _ in 0..=dice.next_below(3) {
        let at = dice.next_below(line.len());
        let byte = [0, b'\n', b'\r', b'"', b'\\', b'{', b'}', 0x80, 0xff][dice.next_below(9)];
        match dice.next_below(3) {
            0 => line.insert(at, byte),
            1 if !line.is_empty() => {
                line.remove(at);
            }
            _ => {
                if let Some(old) = line.get_mut(at) {
                    *old = byte;
                }
            }
        }
    }
}
