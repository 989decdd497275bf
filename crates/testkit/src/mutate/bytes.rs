//! Bytes that are not what they were.

use crate::dice::Dice;

/// Changes, adds or takes away some bytes of a line: invalid JSON, invalid UTF-8, NUL, a line end in the middle.
pub fn spoil_line(lines: &mut [Vec<u8>], dice: &mut Dice) {
    let at = dice.below(lines.len());
    let Some(line) = lines.get_mut(at) else { return };
    for _ in 0..=dice.below(3) {
        let at = dice.below(line.len());
        let byte = [0, b'\n', b'\r', b'"', b'\\', b'{', b'}', 0x80, 0xff][dice.below(9)];
        match dice.below(3) {
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
