//! The plain stretches of JSON strings: most of every record is one, so sixteen bytes are looked at together.

use wide::u8x16;

/// How many bytes are looked at together.
const WIDTH: usize = 16;

/// Where the next quote, escape or control character is, from a place on; the end if there is none.
pub fn end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(piece) = bytes.get(at..).and_then(|rest| rest.first_chunk()) {
        match marks(*piece) {
            0 => at += WIDTH,
            marks => return at + marks.trailing_zeros() as usize,
        }
    }
    tail_end(bytes, at)
}

/// The same where fewer bytes are left: those before them are looked at again.
fn tail_end(bytes: &[u8], at: usize) -> usize {
    let is_left = at < bytes.len();
    match bytes.last_chunk().filter(|_| is_left) {
        Some(piece) => {
            let begin = bytes.len() - WIDTH;
            let marks = marks(*piece) >> (at - begin);
            if marks == 0 { bytes.len() } else { at + marks.trailing_zeros() as usize }
        }
        None => {
            let rest = bytes.get(at..).unwrap_or_default();
            at + rest.iter().position(|byte| is_mark(*byte)).unwrap_or(rest.len())
        }
    }
}

fn is_mark(byte: u8) -> bool {
    matches!(byte, b'"' | b'\\' | 0..b' ')
}

/// Which of these bytes are marks: a bit each, the first lowest.
fn marks(piece: [u8; WIDTH]) -> u32 {
    let bytes = u8x16::new(piece);
    let control = bytes.min(u8x16::splat(b' ' - 1)).simd_eq(bytes);
    (bytes.simd_eq(u8x16::splat(b'"')) | bytes.simd_eq(u8x16::splat(b'\\')) | control).to_bitmask()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{end, is_mark};

    proptest! {
        #[test]
        fn is_where_the_first_mark_is(bytes: Vec<u8>, plain in "[a-zäß\u{7f} ]{0,80}", from in 0_usize..90) {
            let bytes = [plain.as_bytes(), &bytes].concat();
            let rest = bytes.get(from..).unwrap_or_default();
            let expected = rest.iter().position(|byte| is_mark(*byte)).map_or(bytes.len().max(from), |at| from + at);
            prop_assert_eq!(end(&bytes, from), expected);
        }
    }

    #[test]
    fn every_byte_is_plain_or_not() {
        for byte in 0..=u8::MAX {
            let (mut bytes, is_plain) = ([b'a'; 40], byte >= b' ' && byte != b'"' && byte != b'\\');
            bytes[20] = byte;
            assert_eq!(end(&bytes, 1), if is_plain { 40 } else { 20 }, "{byte}");
        }
    }
}
