//! The plain stretches of JSON strings: most of every record is one, so many bytes are looked at together.

/// Most stretches end within so many words of eight bytes.
const SHORT: usize = 3;

/// Where the next quote, escape or control character is, from a place on; the end if there is none.
pub fn end(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..SHORT {
        match word(bytes, at).map(marks) {
            Some(0) => at += 8,
            Some(marks) => return at + first(marks),
            None => return tail_end(bytes, at),
        }
    }
    long_end(bytes, at)
}

/// The same of a long stretch: large pieces are moved over first.
fn long_end(bytes: &[u8], at: usize) -> usize {
    let mut at = pieces_end(bytes, at);
    while let Some(marks) = word(bytes, at).map(marks) {
        if marks != 0 {
            return at + first(marks);
        }
        at += 8;
    }
    tail_end(bytes, at)
}

/// The same of the last bytes.
fn tail_end(bytes: &[u8], at: usize) -> usize {
    let rest = bytes.get(at..).unwrap_or_default();
    at + rest.iter().position(|byte| is_mark(*byte)).unwrap_or(rest.len())
}

fn word(bytes: &[u8], at: usize) -> Option<u64> {
    bytes.get(at..)?.first_chunk().map(|word| u64::from_le_bytes(*word))
}

/// Which byte the first mark is.
fn first(marks: u64) -> usize {
    marks.trailing_zeros() as usize / 8
}

/// Moves over pieces that are plain. Without branches inside, so that a processor takes a piece in a few steps.
fn pieces_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some(piece) = bytes.get(at..).and_then(|rest| rest.first_chunk::<32>()) {
        if piece.iter().fold(0, |marks, byte| marks | u8::from(is_mark(*byte))) != 0 {
            break;
        }
        at += 32;
    }
    at
}

fn is_mark(byte: u8) -> bool {
    (byte == b'"') | (byte == b'\\') | (byte < b' ')
}

/// The highest bit of the first byte that is a mark is set, and none before it; zero if there is none.
fn marks(word: u64) -> u64 {
    const EACH: u64 = 0x0101_0101_0101_0101;
    let below = |word: u64, limit: u8| word.wrapping_sub(EACH * u64::from(limit)) & !word;
    let same = |byte: u8| below(word ^ (EACH * u64::from(byte)), 1);
    (same(b'"') | same(b'\\') | below(word, b' ')) & (EACH << 7)
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
